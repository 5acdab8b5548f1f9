"""Hidden tree Markov models: one tree model, its finite mixture and its infinite mixture."""

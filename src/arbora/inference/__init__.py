"""Loops of inference that do not depend on trees: EM, Markov chains, traces, partitions, workers."""

"""Input-output hidden trees: outputs at the nodes of trees, given the labels."""

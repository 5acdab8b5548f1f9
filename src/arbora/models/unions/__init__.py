"""Mixtures of tree-unions, by minimum description length."""

"""Gaussian groups of rows, on one level and on two."""

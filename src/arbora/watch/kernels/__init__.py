"""Loops over the trees of a stream; no classes, no checks."""

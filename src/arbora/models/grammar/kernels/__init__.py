"""Loops over the events of label chains; no classes, no checks."""

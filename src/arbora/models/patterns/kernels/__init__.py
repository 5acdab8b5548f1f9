"""Loops of the pattern models; no classes, no checks."""

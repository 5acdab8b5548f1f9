"""Loops over arrays; no classes, no checks."""

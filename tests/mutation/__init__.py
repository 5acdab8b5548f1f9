"""Mutation runs: planted bugs that the quick tests must find."""

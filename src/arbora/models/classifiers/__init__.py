"""Classifiers of trees: a read-out on codes, and one model per class."""

"""Edit distances between trees, and clustering by them."""

"""Trees from trees of other shapes."""

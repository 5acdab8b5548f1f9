"""Trees of mixtures: BHMC and RBHMC."""

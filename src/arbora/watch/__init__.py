"""Models that follow a stream: groups of new trees, new groups, drift, and what to keep."""

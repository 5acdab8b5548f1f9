"""How good an answer is and what it says: metrics, hierarchies, summaries, projections."""

"""A running scenario: one loop, one cluster, its processes, and what steps do to them."""

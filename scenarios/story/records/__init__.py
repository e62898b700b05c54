"""Records in a story: logs, deliveries, commits, lag."""

"""What became of the records: logs, deliveries, commits, lag."""

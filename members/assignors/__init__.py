"""Partition assignors: Kafka's four, one rack-aware example, and the way to a user's own."""

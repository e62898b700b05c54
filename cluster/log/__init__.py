"""A partition's log on one broker: segments, indexes, retention, compaction, recovery."""

"""Actions and faults of the timeline, as data."""

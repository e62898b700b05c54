"""One broker: its partitions, its metadata, the log of its coordinators, and what administrators ask."""

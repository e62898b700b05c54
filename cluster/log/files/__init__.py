"""A log as files in Kafka's layout: segments, indexes, recovery, and a broker's data directory."""

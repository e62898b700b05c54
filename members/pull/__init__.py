"""Records pulled from the leaders of partitions, as Kafka's Java consumer pulls them."""

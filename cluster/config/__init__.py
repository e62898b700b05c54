"""What a cluster is made of, and its settings under Kafka's names: a module for each of its parts."""

"""The simulated cluster: network, brokers, topics and data, and the log of the coordinators."""

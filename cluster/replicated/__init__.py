"""A cluster with replicated logs: the brokers' parts, the stores of logs, and a feed of records."""

"""The cause of each rebalance, the member that held it open, and the owners of partitions."""

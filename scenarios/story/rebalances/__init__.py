"""What began each rebalance, who held it open, and who owned what."""

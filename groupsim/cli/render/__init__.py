"""The printed output of commands: stories, generations, owners, rebalances, records."""

"""What commands print: stories, generations, owners, rebalances, records as text."""

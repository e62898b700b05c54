"""One rebalance: its lines in order, folded, drawn on a terminal, and as a Mermaid diagram."""

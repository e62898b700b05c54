"""One rebalance: its lines in order, folded, drawn on a terminal, as a Mermaid diagram, and as an animated SVG."""

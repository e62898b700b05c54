"""The report: one HTML file that opens offline, with the answer on top and the lanes of single runs below."""

"""From the tables of a sweep to an answer: statistics per cell, cells paired by seed, the front, a recommendation."""

"""Experiment files: read, checked, and resolved into one canonical JSON document per cell of the grid."""

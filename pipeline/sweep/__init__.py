"""Sweeps: what has to run, where it runs (Spark or a pool), what is finished, and the directory that holds it."""

"""Sweeps on Spark: sessions, what travels to executors, what they do there, and tables as DataFrames."""

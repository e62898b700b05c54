"""Sweeps on Spark: sessions, the zip for executors, their functions, and tables as DataFrames."""

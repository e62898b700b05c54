"""One run as rows: simulate a document with a seed, and turn its trace into the tables of `schemas.py`.

This is what an executor imports: no YAML, no Spark.
"""

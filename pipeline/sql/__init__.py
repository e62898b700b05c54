"""SQL over the tables of a sweep: DuckDB in this process, or Spark. The directory is only read."""

from groupsim.pipeline.sql.asking import ask, chosen_engine

__all__ = ["ask", "chosen_engine"]

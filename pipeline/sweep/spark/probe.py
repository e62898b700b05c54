"""The check before the first run whether the workers can do the work, and short forms of Spark's errors."""

from __future__ import annotations

import re
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from pathlib import Path
from typing import Any

from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.place import Place
from groupsim.pipeline.sweep.spark.remote import INTRODUCTIONS, introducing
from groupsim.pipeline.sweep.spark.session import jvm_log

_OURS = f"{sys.version_info.major}.{sys.version_info.minor}"
# Py4JError itself, not one of its subclasses with Java's error: there was no answer.
_NETWORK = ("Py4JError", "Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError")
_PLACE = re.compile(r"\(TID \d+\) \((\S+) executor (\w+)\)")
_GONE = re.compile(r"SparkContext was shut ?down|stopped SparkContext|StatusCode.UNAVAILABLE")
# A pattern of Spark's message; its meaning; the remedy.
_KNOWN = (
    (
        re.compile(r"Python in worker has different version:? \(?(\d+[., ]+\d+)"),
        "{place} runs Python {what}, this machine {ours}: both must have the same minor version",
        "let PYSPARK_PYTHON name a Python {ours} on the workers, or run groupsim with theirs",
    ),
    (
        re.compile(r"ModuleNotFoundError: No module named '(\w+)'"),
        "{place} has no {what}",
        "the workers need Python {ours} and pyarrow (pip install pyarrow); PYSPARK_PYTHON names their Python",
    ),
    (
        re.compile(r'Cannot run program "([^"]+)"'),
        "{place} has no program {what}",
        "let PYSPARK_PYTHON name a Python {ours} of the workers",
    ),
    (
        re.compile(
            r"failed (\d+) times, most recent failure: .*(?:ExecutorLostFailure|exited unexpectedly|EOFException)"
        ),
        "{place} died, {what} times over the same task",
        "perhaps memory ran out there: give executors more, or use fewer cores; what was finished is kept",
    ),
)

PATIENCE_S = 120.0  # for the first executor of a cluster to come up


def probe(spark: Any, zip_name: str, place: Place) -> tuple[int, bool]:
    """Check a worker in each of the cluster's slots; returns the number of slots, and whether all of them can
    write where the sweep lies.

    Raises SweepError with the first unsuitable host, its state, and the remedy; also when it cannot write to
    a URL.
    """
    job = spark.range(100_000).mapInArrow(introducing(zip_name, place), INTRODUCTIONS)
    executor = ThreadPoolExecutor(1, "groupsim-probe")
    asked: Future[Any] = executor.submit(job.toArrow)
    try:
        rows = asked.result(PATIENCE_S).to_pylist()
    except Late:
        stop_jobs(spark)
        raise SweepError(
            f"no executor has answered within {PATIENCE_S:.0f} s",
            "check that the cluster has workers with free cores and memory",
        ) from None
    except Exception as error:
        raise explained(error, jvm_log(spark)) from error
    finally:
        executor.shutdown(wait=False)
    for row in rows:
        if row["problem"]:
            raise SweepError(
                f"a worker on {row['host']} (Python {row['version']}, {row['python']}) cannot import the simulator: "
                f"{row['problem']}",
                "the workers need what this machine has: the same minor version of Python, and pyarrow",
            )
        if row["storage"] and place.local is None:
            raise SweepError(
                f"a worker on {row['host']} cannot write to {place.url}: {row['storage']}",
                "the workers need the credentials that this machine has: in their environment, or with --conf",
                bad_input=True,
            )
    return len(rows), not any(row["storage"] for row in rows)


def stop_jobs(spark: Any) -> None:
    """Stop everything that this session runs on Spark, classic or Connect; also after the end of Spark."""
    try:
        spark.interruptAll()
    except Exception:
        pass


def explained(error: BaseException, log: Path | None = None) -> SweepError:
    """Return Spark's error as a sentence: the host (often in the JVM's log only), the missing part, the remedy."""
    if isinstance(error, SweepError):
        return error
    text = str(error)
    if type(error).__name__ in _NETWORK or _GONE.search(text):
        return SweepError(
            "Spark has gone: its JVM ended, or the connection to it broke",
            "perhaps memory ran out; what was finished is kept, and the same command goes on from there",
        )
    for pattern, message, remedy in _KNOWN:
        if found := pattern.search(text):
            words = {"place": _place(text, log), "what": found[1], "ours": _OURS}
            return SweepError(message.format(**words), remedy.format(**words))
    first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)
    return SweepError(
        f"Spark failed: {first.strip()[:400]}", "`--traceback` shows all of it; what was finished is kept"
    )


def _place(text: str, log: Path | None) -> str:
    """The worker that Spark speaks of, in its message or last in its log."""
    places = _PLACE.findall(text)
    if not places and log is not None and log.is_file():
        places = _PLACE.findall(log.read_text("utf-8", "replace"))
    if not places:
        return "a worker"
    host, executor = places[-1]
    return f"the worker on {host}" if executor == "driver" else f"the worker on {host} (executor {executor})"

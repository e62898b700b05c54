"""The engine on Spark: the runs of a wave are a DataFrame, each task a partition of it, and executors write the tables.

What comes back is one row of a manifest for each task. Two waves are always in flight, so that when one runs out of
tasks the cores take those of the next. Where executors do not share the sweep's storage (a probe checks that), the
tables come back as bytes instead, and the driver writes them.
"""

from __future__ import annotations

import pickle
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from groupsim.pipeline.sweep.chunks import ROW, Chunk
from groupsim.pipeline.sweep.engines import TICK_S, Done, EngineOptions, Merging, Pack
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.place import Place
from groupsim.pipeline.sweep.plan import Task, Wave
from groupsim.pipeline.sweep.spark.bundle import Bundle
from groupsim.pipeline.sweep.spark.probe import explained, probe, stop_jobs
from groupsim.pipeline.sweep.spark.remote import TABLES, merging, returning, writing
from groupsim.pipeline.sweep.spark.session import describe, jvm_log, session, ui
from groupsim.pipeline.sweep.work import Package, TaskResult

IN_FLIGHT = 2


class Spark:
    """A session with the zip shipped to it, and its workers probed where they are not on this machine."""

    def __init__(self, options: EngineOptions, shipped: Bundle, place: Place, experiment: str) -> None:
        self._options = options
        self.zip_name = shipped.name
        self._experiment = experiment
        self._where = place.url.partition("?")[0]
        self._stack = ExitStack()
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="groupsim-zip-"))
            self.session = stack.enter_context(session(options, lean=True))
            self._log = jvm_log(self.session)
            self.session.addArtifacts(str(shipped.write(Path(folder))), pyfile=True)
            self.page = ui(self.session)
            self._slots, self.shares = (
                (0, True) if _beside_us(self.session) else probe(self.session, self.zip_name, place)
            )
            self._stack = stack.pop_all()

    @property
    def workers(self) -> int:
        """The cluster's cores as Spark counts them now; a Connect server's as the probe found them."""
        if self._options.workers:
            return self._options.workers
        return self._slots if self._options.remote else int(self.session.sparkContext.defaultParallelism)

    def perform(self, waves: Iterable[Wave | Merging], pack: Pack) -> Generator[Done | None]:
        coming = (wave for wave in waves if isinstance(wave, Merging) or wave.tasks)
        threads = ThreadPoolExecutor(IN_FLIGHT, "groupsim-wave")
        flying: set[Future[list[Done]]] = set()
        try:
            while True:
                more = islice(coming, IN_FLIGHT - len(flying))
                flying |= {
                    threads.submit(self._merge, wave)
                    if isinstance(wave, Merging)
                    else threads.submit(self._run, wave, pack(wave.tasks))
                    for wave in more
                }
                if not flying:
                    return
                ended, flying = wait(flying, TICK_S, return_when=FIRST_COMPLETED)
                if not ended:
                    yield None
                for one in ended:
                    yield from one.result()
        except Exception as error:
            raise explained(error, self._log) from error
        finally:
            if flying:
                stop_jobs(self.session)
            threads.shutdown(wait=True, cancel_futures=True)

    def _run(self, wave: Wave, packed: Package) -> list[Done]:
        count = f"{len(wave.runs):,} runs of {self._experiment} in {len(wave.tasks)} tasks"
        describe(self.session, f"simulate {count} into {self._where}")
        planned = runs_of(self.session, wave.tasks)
        tasks = {task.number: task for task in wave.tasks}
        if packed["place"] is not None:
            rows = planned.mapInArrow(writing(packed, self.zip_name), f"task bigint, {ROW}, {PROBLEM}").toArrow()
            return [Done(tasks[row["task"]], TaskResult(_chunk(row))) for row in rows.to_pylist()]
        rows = planned.mapInArrow(returning(packed, self.zip_name), f"task bigint, {ROW}, {TABLES}").toArrow()
        return list(_put_together(rows.to_pylist(), tasks))

    def _merge(self, wave: Merging) -> list[Done]:
        count = sum(len(job.chunks) for job in wave.jobs)
        describe(self.session, f"merge the files of {count:,} chunks of {self._experiment} in {self._where}")
        packed = [pickle.dumps(job) for job in wave.jobs]
        numbers = self.session.range(0, len(packed), 1, len(packed))
        done = numbers.mapInArrow(
            merging(packed, wave.place, self.zip_name, wave.optional), f"task bigint, {ROW}, {PROBLEM}"
        )
        for row in done.toArrow().to_pylist():
            _chunk(row)  # raises its error
        return []

    def close(self) -> None:
        """Stop the session."""
        self._stack.close()


def _beside_us(spark: Any) -> bool:
    """Whether the workers run here with our own Python: then no probe is needed."""
    context = getattr(spark, "_sc", None)
    if context is None or not re.fullmatch(r"local(\[.*\])?", context.master):
        return False
    return bool(context.getConf().get("spark.pyspark.python", sys.executable) == sys.executable)


PROBLEM = "problem string, remedy string, bad_input boolean"


# One statement: Spark's driver analyses each step of a DataFrame again, which would be most of its work in a sweep.
RUNS_OF = """
select cast(part[0] as bigint) as task, cast(cell as int) as cell, seed
from (
    select split(element_at(split('{places}', ';'), cast(id as int) + 1), ':') as part
    from range(0, {count}, 1, {count})
)
lateral view explode(split(part[1], ',')) spans as text
lateral view explode(array(cast(split(text, ' ') as array<bigint>))) numbers as span
lateral view explode(sequence(span[2], span[3])) seeds as seed
lateral view explode(sequence(span[0], span[1])) cells as cell
"""


def runs_of(spark: Any, tasks: Iterable[Task]) -> Any:
    """The runs of tasks as a DataFrame (task, cell, seed), in order, with one partition for each task.

    The driver names spans of cells and seeds; executors make the rows of them.
    """
    named = [
        f"{task.number}:" + ",".join(f"{s.first_cell} {s.last_cell} {s.first_seed} {s.last_seed}" for s in task.spans)
        for task in tasks
    ]
    return spark.sql(RUNS_OF.format(places=";".join(named), count=len(named)))


def _chunk(row: dict[str, Any]) -> Chunk:
    if row["problem"]:
        raise SweepError(row["problem"], row["remedy"], bad_input=row["bad_input"])
    return Chunk.of(row)


def _put_together(rows: list[dict[str, Any]], tasks: dict[int, Task]) -> Iterator[Done]:
    """The tables of each task from their pieces."""
    found: dict[int, dict[str, list[tuple[int, bytes]]]] = defaultdict(lambda: defaultdict(list))
    answered: dict[int, Chunk] = {}
    for row in rows:
        if row["name"]:
            found[row["task"]][row["name"]].append((row["piece"], row["data"]))
        else:
            answered[row["task"]] = Chunk.of(row)
    for number, chunk in answered.items():
        tables = [(name, b"".join(data for _, data in sorted(parts))) for name, parts in found[number].items()]
        yield Done(tasks[number], TaskResult(chunk, tables))

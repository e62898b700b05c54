"""The engine on Spark: a wave is a job, a task a partition; the driver gets each task's tables back as bytes.

The executors share no file system with the driver and need none: the driver is the only one that writes. Two jobs are
always in flight, so that when one runs out of tasks the cores take those of the next.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

from groupsim.pipeline.sweep.bundle import Bundle
from groupsim.pipeline.sweep.engines import Done, EngineOptions, Pack
from groupsim.pipeline.sweep.plan import Wave
from groupsim.pipeline.sweep.probe import explained, probe, stop_jobs
from groupsim.pipeline.sweep.remote import ANSWERS, performing
from groupsim.pipeline.sweep.spark_session import jvm_log, session

IN_FLIGHT = 2


class Spark:
    """A session with the zip shipped to it and its workers probed."""

    def __init__(self, options: EngineOptions, shipped: Bundle) -> None:
        self._options = options
        self._zip = shipped.name
        self._stack = ExitStack()
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="groupsim-zip-"))
            self.session = stack.enter_context(session(options, lean=True))
            self._log = jvm_log(self.session)
            self.session.addArtifacts(str(shipped.write(Path(folder))), pyfile=True)
            self._slots = probe(self.session, shipped.name)
            self._stack = stack.pop_all()

    @property
    def workers(self) -> int:
        """The cluster's cores as Spark counts them now; a Connect server's as the probe found them."""
        if self._options.workers:
            return self._options.workers
        return self._slots if self._options.remote else int(self.session.sparkContext.defaultParallelism)

    def perform(self, waves: Iterable[Wave], pack: Pack) -> Generator[Done]:
        """See `Engine`."""
        coming = iter(waves)
        threads = ThreadPoolExecutor(IN_FLIGHT, "groupsim-wave")
        flying: set[Future[list[Done]]] = set()
        try:
            while True:
                more = islice(coming, IN_FLIGHT - len(flying))
                flying |= {threads.submit(self._run, wave, pack(wave.tasks)) for wave in more}
                if not flying:
                    return
                ended, flying = wait(flying, return_when=FIRST_COMPLETED)
                for one in ended:
                    yield from one.result()
        except Exception as error:
            raise explained(error, self._log) from error
        finally:
            if flying:
                stop_jobs(self.session)
            threads.shutdown(wait=True, cancel_futures=True)

    def _run(self, wave: Wave, packed: Any) -> list[Done]:
        count = len(wave.tasks)
        tasks = self.session.range(0, count, 1, count)
        answers = tasks.mapInArrow(performing(packed, wave.number, self._zip), ANSWERS).toArrow()
        return _done(answers.to_pylist())

    def close(self) -> None:
        """Stop the session."""
        self._stack.close()


def _done(rows: list[dict[str, Any]]) -> list[Done]:
    """The tables of each task, put together from their pieces."""
    tasks: dict[tuple[int, int], dict[str, list[tuple[int, bytes]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        tasks[row["wave"], row["task"]][row["name"]].append((row["piece"], row["data"]))
    return [
        Done(wave, task, [(name, b"".join(data for _, data in sorted(pieces))) for name, pieces in tables.items()])
        for (wave, task), tables in sorted(tasks.items())
    ]

"""The plain engine: some processes on this machine, each performing one task at a time.

A worker that dies (killed, out of memory) is noticed at once; a new one takes its place and its task. A task whose
workers die again and again ends the sweep with a message that names its runs.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from groupsim.pipeline.sweep import work
from groupsim.pipeline.sweep.chunks import Span
from groupsim.pipeline.sweep.engines import TICK_S, Done, Merging, Pack
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.merging import Job, merge, merge_or_leave
from groupsim.pipeline.sweep.plan import Task, Wave
from groupsim.protocol.values import define

DEATHS = 3  # of workers over one task before it is given up


@define(eq=False)
class _Job:
    """A request to a worker: a function with its arguments, made when it is sent. Merges have no `task`."""

    asked: Callable[[], tuple[Any, ...]]
    what: str
    task: Task | None = None
    deaths: int = 0


@define(eq=False)
class _Worker:
    """A process, its pipe, and its present job."""

    process: Any
    line: Connection[Any, Any]
    job: _Job | None = None


class Pool:
    """So many processes. They are started when they are first needed."""

    shares = True

    def __init__(self, workers: int, folder: Path | None = None) -> None:
        """`folder` is where a scenario's `module:Class` are looked for."""
        self.workers = workers
        self._folder = str(folder or Path.cwd())
        self._context = multiprocessing.get_context("spawn")  # nothing of this process leaks into a run
        self._all: list[_Worker] = []

    def perform(self, waves: Iterable[Wave | Merging], pack: Pack) -> Generator[Done | None]:
        coming = (job for wave in waves for job in _jobs(wave, pack))
        again: deque[_Job] = deque()
        while True:
            self._hand_out(coming, again)
            busy = {worker.line: worker for worker in self._all if worker.job is not None}
            if not busy:
                return
            ready = wait(list(busy), TICK_S)
            if not ready:
                yield None
            for line in ready:
                yield self._receive(busy[line], again)  # type: ignore[index]

    def close(self) -> None:
        """End all workers, busy ones too."""
        for worker in self._all:
            worker.process.terminate()
        for worker in self._all:
            worker.process.join()
            worker.line.close()
        self._all.clear()

    def _hand_out(self, coming: Iterator[_Job], again: deque[_Job]) -> None:
        """Give every idle worker a job, as long as there are any."""
        idle = [worker for worker in self._all if worker.job is None]
        while idle or len(self._all) < self.workers:
            job = again.popleft() if again else next(coming, None)
            if job is None:
                return
            worker = idle.pop() if idle else self._start()
            worker.job = job
            with contextlib.suppress(BrokenPipeError):  # it died while idle: noticed as one that died at work
                worker.line.send(job.asked())

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs, self._folder), daemon=True, name="groupsim-worker")
        with _deaf_to_ctrl_c():
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._all.append(worker)
        return worker

    def _receive(self, worker: _Worker, again: deque[_Job]) -> Done | None:
        job, worker.job = worker.job, None
        assert job is not None
        try:
            answer = worker.line.recv()
        except (EOFError, ConnectionResetError):
            self._bury(worker, job)
            again.append(job)
            return None
        if isinstance(answer, dict):
            raise SweepError(**answer)
        if isinstance(answer, str):
            raise SweepError(f"a worker failed: {answer}", "this is a defect of groupsim; the message names the place")
        return None if job.task is None else Done(job.task, answer)

    def _bury(self, worker: _Worker, job: _Job) -> None:
        """A worker has died at work; raises SweepError when its job seems to kill workers."""
        worker.process.join()
        worker.line.close()
        self._all.remove(worker)
        job.deaths += 1
        if job.deaths >= DEATHS:
            code = worker.process.exitcode
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            raise SweepError(
                f"{DEATHS} worker processes died ({how}) over the same {job.what}",
                "perhaps memory ran out: try fewer workers (--workers 1); what was finished is kept",
            )


def _jobs(wave: Wave | Merging, pack: Pack) -> Iterator[_Job]:
    if isinstance(wave, Merging):
        for one in wave.jobs:
            yield _Job(partial(_to_merge, wave, one), f"{len(one.chunks)} chunks, to merge them")
        return
    for task in wave.tasks:
        first = task.spans[0]
        what = f"{task.count} runs, from cell {first.first_cell} with seed {first.first_seed} on"
        yield _Job(partial(_to_perform, pack, task), what, task)


def _to_merge(wave: Merging, job: Job) -> tuple[Any, ...]:
    return merge_or_leave if wave.optional else merge, wave.place, job


def _to_perform(pack: Pack, task: Task) -> tuple[Any, ...]:
    return _performed, pack([task]), task.number, task.spans


def _performed(packed: work.Package, number: int, spans: Iterable[Span]) -> work.TaskResult:
    """In a worker: a task, whose runs travel as spans."""
    return work.perform(packed, number, [run for span in spans for run in span.runs()])


@contextlib.contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """What is started here has ctrl-C blocked from its first instant on, and shows no traceback out of its imports.

    It is blocked and not ignored, so that one that comes just now still reaches this process, a moment later. So does
    one that another thread takes, or a SIGTERM: neither may come between a worker's start and its first job.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # would be started within the block otherwise, and lift it
    with _put_off():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _put_off() -> Iterator[None]:
    """Python's handlers of signals that end a command are called after the block, if a signal came."""
    came: list[int] = []
    handlers = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    put_off = {}
    try:
        with contextlib.suppress(ValueError):  # in another thread than the main one, where no handler is ever called
            for one, handler in handlers.items():
                if callable(handler):
                    signal.signal(one, lambda number, _: came.append(number))
                    put_off[one] = handler
        yield
    finally:
        for one, handler in put_off.items():
            signal.signal(one, handler)
        for number in dict.fromkeys(came):
            signal.raise_signal(number)


def _serve(line: Connection[Any, Any], folder: str) -> None:
    """A worker's life: a task, its tables, the next task. Ctrl-C is the driver's affair."""
    sys.path.insert(0, folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()  # imported modules stay; the collector need not visit them
    while True:
        try:
            function, *arguments = line.recv()
        except (EOFError, OSError):
            return
        try:
            answer: Any = function(*arguments)
        except SweepError as error:
            answer = work.problem(error)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            answer = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
        try:
            line.send(answer)
        except OSError:  # the driver was killed: no process waits for the answer
            return

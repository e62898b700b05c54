"""The functions that Spark runs in its Python workers, made so that they depend on nothing but the shipped zip.

A function inside another travels by value: the worker needs none of our modules to receive it. Its first act is to put
the zip in front of everything else of the worker, which may have another version of us or of trio. It
imports what it needs by itself, and refers to nothing of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Batches = Iterator[Any]
TABLES = "name string, piece int, data binary"
WORK = "groupsim.pipeline.sweep.work"


def unpacking(zip_name: str, *modules: str) -> Callable[[], None]:
    """Return a function that makes a worker import from the zip, and drop its imports from elsewhere.

    The zip is unpacked beside itself, once for all workers that share it: modules load sooner from files, which Python
    keeps compiled. Where that folder cannot be written, the zip itself is imported from. `modules` are loaded at once.
    """

    def unpack() -> None:
        import gc
        import importlib
        import os
        import sys
        import zipfile

        packed = next((entry for entry in sys.path if os.path.basename(entry) == zip_name), None)
        if packed is None:
            raise ImportError(f"{zip_name} has not reached this worker")
        homes = (f"{packed}.files", packed)
        if origin("groupsim").startswith(tuple(home + os.sep for home in homes)):
            return  # a worker performs many tasks
        with zipfile.ZipFile(packed) as archive:
            tops = {name.split("/")[0].removesuffix(".py") for name in archive.namelist()}
            home = homes[0] if extracted(archive, homes[0]) else packed
        sys.path[:] = [home, *(entry for entry in sys.path if entry != home)]
        for name in list(sys.modules):
            if name.split(".")[0] in tops and not origin(name).startswith(home + os.sep):
                del sys.modules[name]
        for name in modules:
            importlib.import_module(name)
        # Spark's worker looks for garbage after every task: it need not walk through all modules each time.
        gc.collect()
        gc.freeze()

    def extracted(archive: Any, folder: str) -> bool:
        """All of it or nothing; another worker may be faster."""
        import os
        import shutil
        import tempfile

        if not os.path.isdir(folder):
            try:
                made = tempfile.mkdtemp(dir=os.path.dirname(folder))
                try:
                    archive.extractall(made)
                    os.rename(made, folder)
                finally:
                    shutil.rmtree(made, ignore_errors=True)
            except OSError:
                pass
        return os.path.isdir(folder)

    def origin(name: str) -> str:
        """Where a module was loaded from."""
        import sys

        return getattr(sys.modules.get(name), "__file__", None) or ""

    return unpack


def writing(packed: Any, zip_name: str) -> Callable[[Batches], Batches]:
    """The function for `mapInArrow`: a partition of runs (task, cell, seed) is simulated and written where the sweep
    lies, and becomes one row of a manifest; or one with its error.
    """
    unpack = unpacking(zip_name, WORK)

    def write(batches: Batches) -> Batches:
        unpack()
        from groupsim.pipeline.sweep import work
        from groupsim.pipeline.sweep.errors import SweepError
        from groupsim.pipeline.sweep.spark import manifest_rows

        task, runs = manifest_rows.runs_of(batches)
        if not runs:
            return
        try:
            yield manifest_rows.written(task, work.perform(packed, task, runs).chunk)
        except SweepError as error:
            yield manifest_rows.refused(task, error)

    return write


def returning(packed: Any, zip_name: str) -> Callable[[Batches], Batches]:
    """The same where nothing can be written: the rows of the manifest come back, and the tables as bytes in pieces."""
    unpack = unpacking(zip_name, WORK)

    def give_back(batches: Batches) -> Batches:
        unpack()
        from groupsim.pipeline.sweep import work
        from groupsim.pipeline.sweep.spark import manifest_rows

        task, runs = manifest_rows.runs_of(batches)
        if runs:
            yield from manifest_rows.returned(task, work.perform(packed, task, runs))

    return give_back


def merging(jobs: Any, place: Any, zip_name: str, optional: bool) -> Callable[[Batches], Batches]:
    """Return the function that merges chunks: each row is the number of a job, and becomes a row with its error, if
    there is one and the job is not `optional`. `jobs` are pickled, because the worker knows no class of ours before it
    has unpacked the zip.
    """
    unpack = unpacking(zip_name, WORK)

    def merge(batches: Batches) -> Batches:
        unpack()
        import pickle

        from groupsim.pipeline.sweep import merging
        from groupsim.pipeline.sweep.errors import SweepError
        from groupsim.pipeline.sweep.spark import manifest_rows

        perform = merging.merge_or_leave if optional else merging.merge
        for batch in batches:
            for number in batch.column(0).to_pylist():
                try:
                    perform(place, pickle.loads(jobs[number]))
                except SweepError as error:
                    yield manifest_rows.refused(number, error)

    return merge


def reading(place: Any, name: str, columns: Any, zip_name: str | None) -> Callable[[Batches], Batches]:
    """The function that reads files of a table: each row is a file of the place, whose columns come as they are."""
    unpack = unpacking(zip_name) if zip_name else None

    def read(batches: Batches) -> Batches:
        if unpack is not None:
            unpack()
        import pyarrow as pa

        from groupsim.pipeline.sweep.parts import read_part
        from groupsim.pipeline.tables.schemas import TABLES, arrow_schema

        full = arrow_schema(TABLES[name])
        schema = pa.schema([full.field(column) for column in columns])
        for batch in batches:
            for file in batch.column(0).to_pylist():
                yield from read_part(place, file, schema).to_batches()

    return read


def introducing(zip_name: str, place: Any) -> Callable[[Batches], Batches]:
    """The function of the probe: one row per partition, with the worker's identity, and whether it can write where
    the sweep lies.
    """
    unpack = unpacking(zip_name, WORK)

    def introduce(batches: Batches) -> Batches:
        import platform
        import socket
        import sys

        import pyarrow as pa

        for _ in batches:
            pass
        problem = storage = ""
        try:
            unpack()
            from groupsim.pipeline.sweep import work

            storage = work.storage_problem(place)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        row = [socket.gethostname(), sys.executable, platform.python_version(), pa.__version__, problem, storage]
        names = ["host", "python", "version", "pyarrow", "problem", "storage"]
        yield pa.RecordBatch.from_arrays([pa.array([value], pa.string()) for value in row], names)

    return introduce


INTRODUCTIONS = "host string, python string, version string, pyarrow string, problem string, storage string"

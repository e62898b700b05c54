"""The functions that Spark runs in its Python workers, made so that they depend on nothing but the shipped zip.

A function inside another travels by value: the worker needs none of our modules to receive it. Its first act is to put
the zip in front of whatever else the worker has, for a worker may well have another version of us or of trio. It
imports what it needs by itself, and refers to nothing of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Batches = Iterator[Any]
ANSWERS = "wave int, task int, name string, piece int, data binary"
PIECE = 4 << 20  # bytes of one row: Arrow's batches and gRPC's messages have limits


def unpacking(zip_name: str) -> Callable[[], None]:
    """A function that makes a worker import from the zip, and forget what it has imported from elsewhere."""

    def unpack() -> None:
        import os
        import sys
        import zipimport

        entries = [entry for entry in sys.path if os.path.basename(entry) == zip_name]
        if not entries:
            raise ImportError(f"{zip_name} has not reached this worker")
        entry = entries[0]
        sys.path[:] = [entry, *(other for other in sys.path if other != entry)]
        tops = {path.split(os.sep)[0].removesuffix(".py") for path in zipimport.zipimporter(entry)._files}  # type: ignore[attr-defined]
        for name in list(sys.modules):
            if name.split(".")[0] in tops:
                origin = getattr(sys.modules[name], "__file__", None) or ""
                if not origin.startswith(entry + os.sep):
                    del sys.modules[name]

    return unpack


def performing(packed: Any, wave: int, zip_name: str) -> Callable[[Batches], Batches]:
    """The function for `mapInArrow`: each row is the number of a task, each task becomes rows of `ANSWERS`."""
    unpack, size = unpacking(zip_name), PIECE

    def perform(batches: Batches) -> Batches:
        unpack()
        import pyarrow as pa

        from groupsim.pipeline.sweep import work

        for batch in batches:
            for task in batch.column(0).to_pylist():
                for name, data in work.perform(packed, task):
                    for piece, begin in enumerate(range(0, len(data), size)):
                        row = [[wave], [task], [name], [piece], [data[begin : begin + size]]]
                        types = [pa.int32(), pa.int32(), pa.string(), pa.int32(), pa.binary()]
                        columns = [pa.array(cell, kind) for cell, kind in zip(row, types)]
                        yield pa.RecordBatch.from_arrays(columns, ["wave", "task", "name", "piece", "data"])

    return perform


def introducing(zip_name: str) -> Callable[[Batches], Batches]:
    """The function of the probe: one row per partition, that says what the worker is."""
    unpack = unpacking(zip_name)

    def introduce(batches: Batches) -> Batches:
        import platform
        import socket
        import sys

        import pyarrow as pa

        for _ in batches:
            pass
        try:
            unpack()
            from groupsim.pipeline.sweep import work  # noqa: F401

            problem = ""
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        row = [socket.gethostname(), sys.executable, platform.python_version(), pa.__version__, problem]
        names = ["host", "python", "version", "pyarrow", "problem"]
        yield pa.RecordBatch.from_arrays([pa.array([value], pa.string()) for value in row], names)

    return introduce


INTRODUCTIONS = "host string, python string, version string, pyarrow string, problem string"

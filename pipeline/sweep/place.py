"""The place of a sweep's directory: a folder of this machine, or a URL that Spark and Arrow both write.

Everything of a directory is read and written through here, by the driver and by executors alike. A file is there whole
or not at all: a local one gets its name once it is on the disk, HDFS renames likewise, and object stores show an object
once all of it has arrived. A `Place` is plain data, so it travels to executors, which open its file system themselves.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field

from groupsim.pipeline.sweep import files
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.protocol.values import frozen

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import fs

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//)?")
# A scheme → the one Arrow calls it by, and the one Spark does.
SCHEMES = {
    "s3": ("s3", "s3a"),
    "s3a": ("s3", "s3a"),
    "s3n": ("s3", "s3a"),
    "gs": ("gs", "gs"),
    "hdfs": ("hdfs", "hdfs"),
    "abfs": ("abfs", "abfs"),
    "abfss": ("abfss", "abfss"),
}
KNOWN = "a local path, or file, s3a, gs, hdfs or abfs and ://"
# Spark's settings for S3 → the arguments of Arrow's file system.
S3A = {
    "fs.s3a.access.key": "access_key",
    "fs.s3a.secret.key": "secret_key",
    "fs.s3a.session.token": "session_token",
    "fs.s3a.endpoint.region": "region",
    "fs.s3a.endpoint": "endpoint_override",
}
_OF_FILE_SYSTEMS = ("fs.", "dfs.")
_FULL = (errno.ENOSPC, errno.EDQUOT)
KEPT = "what was finished is kept, and the same command goes on from there"


@frozen
class Place:
    """A directory by its absolute path or its URL; `settings` are Hadoop's (`fs.s3a.endpoint`), for object stores."""

    url: str
    settings: Mapping[str, str] = field(factory=dict, repr=False)

    @classmethod
    def at(cls, where: Path | str, conf: Mapping[str, str] | None = None) -> Place:
        """The place that a path or URL names; `conf` are Spark's settings, of which those of file systems count.

        Raises SweepError for a scheme that nothing here writes.
        """
        text = os.fspath(where)
        found = _SCHEME.match(text)
        if found is None:
            return cls(str(Path(text).absolute()))
        if found[1].lower() == "file":
            return cls(str(Path(re.sub(r"^file:(//[^/]*)?", "", text, flags=re.IGNORECASE)).absolute()))
        if found[2] is None:  # a file whose name has a colon
            return cls(str(Path(text).absolute()))
        if found[1].lower() not in SCHEMES:
            raise SweepError(f"{text}: no file system is called {found[1]!r}", f"name {KNOWN}", bad_input=True)
        prefix = "spark.hadoop."
        settings = {key.removeprefix(prefix): value for key, value in (conf or {}).items() if key.startswith(prefix)}
        return cls(
            text.rstrip("/"), {key: value for key, value in settings.items() if key.startswith(_OF_FILE_SYSTEMS)}
        )

    @property
    def local(self) -> Path | None:
        """The folder, of a place on this machine."""
        return None if _SCHEME.match(self.url) else Path(self.url)

    def __truediv__(self, name: str) -> str:
        """A file of the place as people name it."""
        base, _, query = self.url.partition("?")
        return f"{base}/{name}" + (f"?{query}" if query else "")

    def spark(self, name: str) -> str:
        """A file of the place as Spark names it."""
        if self.local is not None:
            return (self.local / name).as_uri()
        scheme, _, rest = self.url.partition("://")
        return f"{SCHEMES[scheme.lower()][1]}://{rest.partition('?')[0]}/{name}"

    # --- reading ------------------------------------------------------------------------------------------------------

    def read(self, name: str) -> bytes:
        """A file. Raises FileNotFoundError when it is not there, SweepError when the place cannot be read."""
        if self.local is not None:
            return (self.local / name).read_bytes()
        with self._asked(name), self._fs().open_input_stream(self._path(name), compression=None) as stream:
            data: bytes = stream.read()
        return data

    def open(self, name: str) -> Any:
        """A file for Arrow's readers. Raises as `read` does."""
        with self._asked(name):
            return self._fs().open_input_file(self._path(name))

    def names(self, folder: str = "") -> list[str]:
        """What is in a folder, sorted; nothing in one that is not there. Hidden names are left out."""
        if self.local is not None:
            home = self.local / folder
            found = [entry.name for entry in os.scandir(home)] if home.is_dir() else []
        else:
            found = [info.base_name for info in self._listed(folder)]
        return sorted(name for name in found if not name.startswith("."))

    def modified_ns(self, name: str) -> int | None:
        """When a file was last written; nothing when it is not there."""
        with self._asked(name):
            info = self._fs().get_file_info(self._path(name))
        written: int | None = info.mtime_ns
        return written if info.is_file else None

    def is_file(self, name: str) -> bool:
        """Whether there is such a file."""
        return self.modified_ns(name) is not None

    def _listed(self, folder: str) -> list[Any]:
        from pyarrow import fs

        with self._asked(folder):
            return list(self._fs().get_file_info(fs.FileSelector(self._path(folder), allow_not_found=True)))

    # --- writing ------------------------------------------------------------------------------------------------------

    def write(self, name: str, data: bytes | Any) -> None:
        """Write a file whole or not at all; `data` is bytes or an Arrow buffer. Raises SweepError."""
        if self.local is not None:
            path = self.local / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise files.not_written(path, error) from error
            files.write_atomically(path, lambda file: file.write(data))
            return
        with self._asked(name, writing=True):
            path_there, moves = self._path(name), self.url.lower().startswith("hdfs:")
            target = f"{path_there}.{os.getpid()}{files.TEMPORARY}" if moves else path_there
            if moves:
                self._fs().create_dir(path_there.rpartition("/")[0], recursive=True)
            with self._fs().open_output_stream(target, compression=None) as stream:
                stream.write(data)
            if moves:
                self._fs().move(target, path_there)

    def try_writing(self, whose: str) -> None:
        """Write a file, called by `whose` it is, and remove it. Raises SweepError where that is refused."""
        name = f".probe-{whose}"
        self.write(name, b"")
        self.remove([name])

    def write_table(self, name: str, table: pa.Table) -> int:
        """Write a table as Parquet, whole or not at all; returns its bytes. Raises SweepError."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        content = sink.getvalue()
        self.write(name, content)
        size: int = content.size
        return size

    def remove(self, names: Iterable[str]) -> None:
        """Remove files; those that are not there are passed over."""
        for name in names:
            if self.local is not None:
                (self.local / name).unlink(missing_ok=True)
            else:
                try:
                    with self._asked(name, writing=True):
                        self._fs().delete_file(self._path(name))
                except FileNotFoundError:
                    pass

    # --- the file system ----------------------------------------------------------------------------------------------

    def _fs(self) -> fs.FileSystem:
        return _opened(self.url, tuple(sorted(self.settings.items())))[0]

    def _path(self, name: str) -> str:
        base = _opened(self.url, tuple(sorted(self.settings.items())))[1]
        return f"{base}/{name}" if name else base

    def _asked(self, name: str, writing: bool = False) -> _FileErrors:
        return _FileErrors(self / name if name else self.url, writing)


class _FileErrors:
    """Convert an error of a file system into a sentence with the place; FileNotFoundError passes."""

    def __init__(self, what: str, writing: bool) -> None:
        self._what, self._writing = what, writing

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, FileNotFoundError) and not self._writing:
            return
        # hdfs-native raises RuntimeError for refusals of the name node.
        theirs = (OSError, RuntimeError) if self._what.lower().startswith("hdfs:") else OSError
        if error is not None and (isinstance(error, theirs) or type(error).__name__.startswith("Arrow")):
            raise refused(self._what, error, self._writing) from error


def refused(what: str, error: BaseException, writing: bool) -> SweepError:
    """A place that does not let us read or write, in a sentence. It never advises to remove anything."""
    first = re.sub(r" *\(Request ID.*|\\n\\tat .*", "", (str(error).splitlines() or [type(error).__name__])[0])[:300]
    verb = "written" if writing else "read"
    if isinstance(error, OSError) and error.errno in _FULL:
        return SweepError(f"{what}: the disk is full", f"make room; {KEPT}")
    if re.search(r"ACCESS_DENIED|AccessDenied|Permission denied|Forbidden|403", first):
        return SweepError(f"{what}: no right to have it {verb}: {first}", "check the credentials", bad_input=True)
    if re.search(
        r"SIGNATURE_DOES_NOT_MATCH|INVALID_ACCESS_KEY_ID|INVALID_CLIENT_TOKEN_ID|EXPIRED_TOKEN|Unauthenticated", first
    ):
        remedy = "check the key and the secret: in the environment, or with --conf"
        return SweepError(f"{what}: the credentials are refused: {first}", remedy, bad_input=True)
    if re.search(r"NO_SUCH_BUCKET|NoSuchBucket", first):
        return SweepError(f"{what}: there is no such bucket", "name one that is there", bad_input=True)
    if re.search(r"libhdfs|libjvm|CLASSPATH", first):
        remedy = (
            "pip install hdfs-native, here and on the workers (or set Hadoop's HADOOP_HOME and CLASSPATH for Arrow)"
        )
        return SweepError(f"{what}: HDFS cannot be reached from Python: {first}", remedy, bad_input=True)
    return SweepError(f"{what}: cannot be {verb}: {first}", f"check the address and the credentials; {KEPT}")


@lru_cache(maxsize=16)
def _opened(url: str, settings: tuple[tuple[str, str], ...]) -> tuple[fs.FileSystem, str]:
    """Arrow's file system of a place, and the path of the place in it. Raises SweepError."""
    from pyarrow import fs

    found = _SCHEME.match(url)
    if found is None:
        return fs.LocalFileSystem(), url
    scheme, rest = SCHEMES[found[1].lower()][0], url[found.end() :]
    with _FileErrors(url, writing=False):
        known = {S3A[key]: value for key, value in settings if key in S3A}
        if scheme == "s3" and "?" not in rest:
            named = (os.environ.get(name) for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
            endpoint = known.get("endpoint_override") or next(filter(None, named), "")
            insecure = endpoint.startswith("http://") or dict(settings).get("fs.s3a.connection.ssl.enabled") == "false"
            known |= {"scheme": "http"} if insecure else {}
            if endpoint:
                known["endpoint_override"] = re.sub(r"^https?://", "", endpoint)
            return fs.S3FileSystem(**known, connect_timeout=10, request_timeout=60), rest
        if scheme == "hdfs":
            from groupsim.pipeline.sweep import hdfs

            system, path = hdfs.opened(f"hdfs://{rest}", dict(settings))
        else:
            system, path = fs.FileSystem.from_uri(f"{scheme}://{rest}")
        return system, path.rstrip("/")

"""HDFS for Arrow: through Hadoop's libhdfs where that can be loaded, else through the package hdfs-native.

hdfs-native speaks to the name node and the data nodes itself; it needs no Java and no class path. It finds name
services in `core-site.xml` and `hdfs-site.xml` of `$HADOOP_CONF_DIR`, and the user in `$HADOOP_USER_NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pyarrow import fs

# Hadoop's own 15 attempts take minutes until an address at which no name node listens is refused.
_ATTEMPTS = {"dfs.client.failover.max.attempts": "4"}


class _Handler(fs.FSSpecHandler):  # type: ignore[misc]
    """Arrow's calls for hdfs-native: when a file was last written, and a rename that replaces."""

    @staticmethod
    def _create_file_info(path: str, info: Mapping[str, Any]) -> fs.FileInfo:
        is_file = info["type"] == "file"
        kind = fs.FileType.File if is_file else fs.FileType.Directory
        written = info["modification_time"] / 1000
        return fs.FileInfo(path, kind, size=info["size"] if is_file else None, mtime=written)

    def move(self, src: str, dest: str) -> None:
        self.fs.mv(src, dest, overwrite=True)


def opened(url: str, settings: Mapping[str, str]) -> tuple[fs.FileSystem, str]:
    """The file system of an `hdfs://` URL, and the path in it. Raises OSError when neither way is installed."""
    try:
        system, path = fs.FileSystem.from_uri(url)
        return system, path
    except OSError as error:
        if not re.search(r"libhdfs|libjvm|CLASSPATH", str(error)):
            raise
        try:
            from hdfs_native.fsspec import HdfsFileSystem
        except ModuleNotFoundError:
            raise error from None
    parts = urlsplit(url)
    return fs.PyFileSystem(
        _Handler(HdfsFileSystem(parts.hostname, parts.port, **_ATTEMPTS | dict(settings)))
    ), parts.path

"""Key-value data in a folder with atomic changes: an image, and the changes after it.

    cluster-metadata            the image: all entries after change N, with a checksum
    cluster-metadata.changes    one line for each change after N: checksum, number, entries

An entry is a JSON value under a *section* and a key; a change sets some keys and removes others (null), all at once.
Each kind of data has a section of its own; this module does not know their meaning.

**One change** is one line at the end of the changes, written and flushed before `append` returns. When the write fails,
the partial line is cut off, `append` raises, and nothing is changed. A line is as long as the change, not as the image.

**A new image** is written when the changes have twice its size: beside the old one, flushed, and renamed to it; then a
new file of changes begins. After the death of a process between the two, the file has changes that the image contains:
they have old numbers and are skipped.

**Opening.** A last line without its end was being written when the process died, so it was never acknowledged, and the
next change overwrites it. Any other wrong checksum, or a missing number, is an error with a remedy.

Kafka's metadata log and its snapshots (KIP-630) work alike.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from groupsim.cluster.log.files.data_dir import DataDirRefused
from groupsim.cluster.log.files.disk import sync_folder, write_at, write_atomically

MAGIC: Final = "groupsim-cluster"
FORMAT: Final = 2
REMEDY: Final = "restore the folder from a copy, or empty the folder to begin a new cluster"
Sections = Mapping[str, Mapping[str, Any]]
_Texts = dict[str, dict[str, str]]

flush_data: Final[Callable[[int], None]] = getattr(os, "fdatasync", os.fsync)
"""Flushes a descriptor to the disk; macOS has no fdatasync."""


class Journal:
    """The entries of a folder, written by this process alone until `close`; `new` when the folder has none."""

    MIN_COMPACTED_BYTES: ClassVar[int] = 1 << 18
    """Bytes of changes below which no new image is written."""

    def __init__(self, image: Path, older: Callable[[dict[str, Any]], Sections]) -> None:
        """Read the files; `older` converts an image of format 1 to sections.

        Raises DataDirRefused, naming file and remedy; OSError.
        """
        self._image = image
        self._older = older
        self._changes = changes_of(image)
        self._texts: _Texts = {}
        self._number = self._image_bytes = 0
        self._descriptor = -1
        self._end = 0
        self._unclean = self._unsettled = False
        self.new = not image.exists()
        if not self.new:
            self._read()

    # --- facts -----------------------------------------------------------------------------------------------

    def section(self, name: str) -> dict[str, Any]:
        """Return the entries of a section by key, in the order of their first change."""
        return {key: json.loads(text) for key, text in self._texts.get(name, {}).items()}

    def begin(self, sections: Sections) -> None:
        """Replace the sections with these names, before the first `append`.

        Raises OSError; the files are then unchanged.
        """
        self._texts.update(_texts_of(sections))
        self._number += 1
        if self.new or not self._changes.exists():  # an image of this format without its changes is damage
            self._begin_changes(self._number)
            self.new = False
        self._write_image()
        self._begin_changes(self._number)

    def append(self, change: Sections) -> None:
        """Store a change; None removes a key. Raises OSError; neither memory nor files are then changed."""
        body = json.dumps([self._number + 1, change], separators=(",", ":"), ensure_ascii=False)
        self._write(_line(body.encode()))
        self._number += 1
        self._apply(_texts_of(change))
        if self._end > max(self.MIN_COMPACTED_BYTES, 2 * self._image_bytes):
            self._compact()

    def close(self) -> None:
        """Close the files; without effect the second time."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _apply(self, texts: Mapping[str, Mapping[str, str]]) -> None:
        for name, facts in texts.items():
            section = self._texts.setdefault(name, {})
            for key, text in facts.items():
                if text == _NULL:
                    section.pop(key, None)
                else:
                    section[key] = text

    # --- writing ---------------------------------------------------------------------------------------------

    def _write(self, data: bytes) -> None:
        if self._unsettled:
            self._settle()
        if self._unclean:
            os.ftruncate(self._descriptor, self._end)
        self._unclean = True
        write_at(self._descriptor, data, self._end)
        try:
            flush_data(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, self._end)
            raise
        self._unclean = False
        self._end += len(data)

    def _compact(self) -> None:
        """Write a new image. On a full disk the changes continue to grow instead, and stay stored."""
        try:
            self._write_image()
            self._begin_changes(self._number)
        except OSError:
            self._image_bytes = max(self._image_bytes, self._end)  # try again at twice the size

    def _write_image(self) -> None:
        sections = ",".join(f"{_text(name)}:{_object(facts)}" for name, facts in self._texts.items())
        body = f'{{"number":{self._number},"sections":{{{sections}}}}}'.encode()
        write_atomically(self._image, f"{MAGIC} {FORMAT} {hashlib.sha256(body).hexdigest()}\n".encode() + body)
        self._image_bytes = len(body)

    def _begin_changes(self, after: int) -> None:
        """Begin a new file of changes, opened before the rename, so that later writes go to the renamed file."""
        head = f"{MAGIC}-changes {FORMAT} {after}\n".encode()
        beside = self._changes.with_name(f"{self._changes.name}.tmp")
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            write_at(descriptor, head, 0)
            os.fsync(descriptor)
            beside.replace(self._changes)
        except OSError:
            os.close(descriptor)
            beside.unlink(missing_ok=True)
            raise
        self._use(descriptor, len(head))
        self._unsettled = True
        self._settle()

    def _settle(self) -> None:
        """Flush the folder, so that the new file's name survives a crash of the machine; no change is stored before."""
        sync_folder(self._changes.parent)
        self._unsettled = False

    def _use(self, descriptor: int, end: int) -> None:
        self.close()
        self._descriptor = descriptor
        self._end, self._unclean = end, False

    # --- reading ---------------------------------------------------------------------------------------------

    def _read(self) -> None:
        found, version = read_image(self._image)
        if version < FORMAT:  # format 1 has no file of changes
            self._apply(_texts_of(self._older(found)))
            return
        self._number = found["number"]
        self._apply(_texts_of(found["sections"]))
        if not self._changes.exists():
            raise DataDirRefused(f"{self._changes} is missing, and {self._image} is there; {REMEDY}")
        data = self._changes.read_bytes()
        whole = data.rfind(b"\n") + 1
        after = read_head(self._changes, data[:whole])
        if after > self._number:
            raise DataDirRefused(f"{self._changes}: change {self._number + 1} is missing; {REMEDY}")
        for number, change in read_changes(self._changes, data[:whole], after):
            if number > self._number:
                self._apply(_texts_of(change))
                self._number = number
        self._use(os.open(self._changes, os.O_RDWR), whole)
        self._unclean = whole < len(data)


_NULL: Final = "null"


def changes_of(image: Path) -> Path:
    """Return the path of the changes after an image."""
    return image.with_name(f"{image.name}.changes")


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _texts_of(sections: Sections) -> _Texts:
    return {name: {key: _text(value) for key, value in facts.items()} for name, facts in sections.items()}


def _object(facts: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{_text(key)}:{text}" for key, text in facts.items()) + "}"


def _line(body: bytes) -> bytes:
    return b"%08x %b\n" % (zlib.crc32(body), body)


def read_image(path: Path) -> tuple[dict[str, Any], int]:
    """Return the content of an image and its format. Raises DataDirRefused naming file and remedy; OSError."""
    head, _, body = path.read_bytes().partition(b"\n")
    words = head.decode("ascii", "replace").split(" ")
    if len(words) != 3 or words[0] != MAGIC or not words[1].isdigit():
        raise DataDirRefused(f"{path} line 1: expected '{MAGIC} {FORMAT} <checksum>'; {REMEDY}")
    version = int(words[1])
    if version > FORMAT:
        raise DataDirRefused(
            f"{path} line 1: format {version}, and this release reads up to {FORMAT}; "
            "use the release that wrote it, or another folder"
        )
    if hashlib.sha256(body).hexdigest() != words[2]:
        raise DataDirRefused(f"{path}: the checksum of its first line is not that of the rest; {REMEDY}")
    found: dict[str, Any] = json.loads(body)
    return found, version


def read_head(path: Path, data: bytes) -> int:
    """Return the number of the change before the file's first. Raises DataDirRefused."""
    words = data.partition(b"\n")[0].decode("ascii", "replace").split(" ")
    if len(words) != 3 or words[:2] != [f"{MAGIC}-changes", str(FORMAT)] or not words[2].isdigit():
        raise DataDirRefused(f"{path} line 1: expected '{MAGIC}-changes {FORMAT} <number>'; {REMEDY}")
    return int(words[2])


def read_changes(path: Path, data: bytes, after: int) -> Iterator[tuple[int, dict[str, dict[str, Any]]]]:
    """Yield the complete changes of a file with consecutive numbers. Raises DataDirRefused naming the line."""
    expected = after
    for at, line in enumerate(data.split(b"\n")[1:-1], 2):
        body = line[9:]
        if line[:9] != b"%08x " % zlib.crc32(body):
            raise DataDirRefused(f"{path} line {at}: its checksum is not that of the line; {REMEDY}")
        number, change = json.loads(body)
        expected += 1
        if number != expected:
            raise DataDirRefused(f"{path} line {at}: change {number}, and {expected} is expected; {REMEDY}")
        yield number, change

"""A file as plain data, with the position of every key and value.

The data is plain `dict`, `list`, `str`, `int`, `float`, `bool` and `None`; beside it stands a map from the path of a
value (`("groups", "orders", "members", 0)`) to its line and column. A number keeps the text it was written in
(`Decimalish.text`), so that a version `3.10` does not become 3.1.

YAML is read by `yaml_reader.py`, which is imported when a file is read and not before: where scenarios come as JSON
(`scenarios/loading/canonical.py`), on the machines of a cluster, ruamel.yaml need not be installed.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

from attrs import field, frozen

from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import Place, nearest, one_problem

MAX_BYTES = 8_000_000
#: What `-` on a command line means; relative paths in it start from the current folder.
STANDARD_INPUT = Path("<stdin>")


@frozen
class Document:
    """The data of a file, and where each part of it stands; `moved`: what was put there from elsewhere."""

    file: str
    data: Any
    keys: dict[Path_, tuple[int, int]] = field(repr=False)
    values: dict[Path_, tuple[int, int]] = field(repr=False)
    moved: Mapping[Path_, Place] = field(factory=dict, repr=False)

    def holds(self, path: Path_) -> bool:
        """Whether a value stands at `path`."""
        here = self.data
        for part in path:
            if not (part in here if isinstance(here, dict) else isinstance(here, list) and part in range(len(here))):
                return False
            here = here[part]
        return True

    def _from_elsewhere(self, path: Path_) -> Place | None:
        """Where the value at `path`, or the nearest one around it, was written when that was not in this file."""
        if not self.moved:
            return None
        tops = (path[:length] for length in range(len(path), 0, -1))
        return next((self.moved[top] for top in tops if top in self.moved), None)

    def at_value(self, path: Path_) -> Place:
        """Where the value at `path` begins; the nearest enclosing one when it has no place of its own."""
        elsewhere = self._from_elsewhere(path)
        if elsewhere is not None:
            return elsewhere
        while path and path not in self.values:
            path = path[:-1]
        line, column = self.values.get(path, (0, 0))
        return Place(self.file, line, column)

    def at_key(self, path: Path_) -> Place:
        """Where the key of `path` stands; list items stand where their value does."""
        if path in self.keys and self._from_elsewhere(path) is None:
            line, column = self.keys[path]
            return Place(self.file, line, column)
        return self.at_value(path)


def read_document(path: str | Path) -> Document:
    """Read a YAML file.

    Raises ScenarioError when it cannot be read, is empty, is no text, is too large or is no YAML.
    """
    return parse_document(_text_of(Path(path)), str(path))


def parse_document(text: str, file: str = "<text>") -> Document:
    """The same for text at hand."""
    from groupsim.scenarios.language.yaml_reader import parse_yaml

    data, keys, values = parse_yaml(text, file)
    return Document(file, data, keys, values)


def parse_documents(text: str, file: str) -> list[Document]:
    """Every document of a text in which several may stand, one behind the other (`---`)."""
    from groupsim.scenarios.language.yaml_reader import parse_several

    return [Document(file, data, keys, values) for data, keys, values in parse_several(text, file)]


def _text_of(path: Path) -> str:
    try:
        content = standard_input() if path == STANDARD_INPUT else path.read_bytes()
    except OSError as error:
        words = error.strerror or type(error).__name__
        raise one_problem(path, f"cannot be read: {words.lower()}", missing(path)) from None
    if len(content) > MAX_BYTES:
        raise one_problem(path, f"is {len(content):,} bytes long, which no scenario is", f"the limit is {MAX_BYTES:,}")
    return utf8(content, path)


def standard_input() -> bytes:
    """What standard input holds; a command that asks twice, such as one that compares, is given the same.

    Raises ScenarioError when it is closed.
    """
    if sys.stdin is None:
        raise one_problem(STANDARD_INPUT, "standard input is closed", "name a file, or write `< FILE`")
    return _typed_in(sys.stdin)


@lru_cache(maxsize=1)
def _typed_in(stream: TextIO) -> bytes:
    return stream.buffer.read()


def name_of(path: str | Path) -> str:
    """The name of what a file holds: the file's own, without `.yaml` or `.groupsim.yaml`."""
    return Path(path).stem.removesuffix(".groupsim")


def missing(path: Path) -> str:
    """What to do about a file that cannot be read: often it is there under nearly this name."""
    if path.is_dir():
        return f"`{path}` is a directory; name a file in it"
    try:
        beside = {one.stem: one for one in sorted(path.parent.iterdir()) if path.suffix and one.suffix == path.suffix}
    except OSError:
        beside = {}
    near = None if path.exists() else nearest(path.stem, beside)  # an ending in common is no likeness
    return f"did you mean `{beside[near]}`?" if near else "check the path and its permissions"


_TRACES = (b'{"seq":1,"t_us":', b"PAR1")


def utf8(content: bytes, path: Path | str) -> str:
    """Text as it is in a file. Raises ScenarioError for what is no UTF-8, and says what it looks like; for traces, too,
    which lie beside the scenarios they were made of.
    """
    if content.startswith(_TRACES):
        raise one_problem(
            path, "is a trace: what happened in a run", "name the run's scenario; docs/traces.md reads it"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        remedy = "it looks like UTF-16, which PowerShell writes: save it as UTF-8" if wide else "save it as UTF-8"
        raise one_problem(path, f"is not text (byte {error.start} is not UTF-8)", remedy) from None

"""Hold a file as plain data, with the position of every key and value.

The data is plain `dict`, `list`, `str`, `int`, `float`, `bool` and `None`; a map beside it leads from the path of a
value (`("groups", "orders", "members", 0)`) to its line and column. A number keeps the text it was written in
(`Decimalish.text`), so that a version `3.10` does not become 3.1.

`yaml_reader.py` reads YAML. It is imported at the first file: where scenarios come as JSON
(`scenarios/loading/canonical.py`), on the executors of a sweep, ruamel.yaml need not be installed.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

from attrs import field

from groupsim.protocol.values import frozen
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import Place, nearest, one_problem

MAX_BYTES = 8_000_000
#: The path that `-` on a command line means; relative paths in it start from the current folder.
STANDARD_INPUT = Path("<stdin>")


@frozen
class Document:
    """The data of a file, and the position of each part; `moved`: the origin of values inserted from another place."""

    file: str
    data: Any
    keys: dict[Path_, tuple[int, int]] = field(repr=False)
    values: dict[Path_, tuple[int, int]] = field(repr=False)
    moved: Mapping[Path_, Place] = field(factory=dict, repr=False)

    def holds(self, path: Path_) -> bool:
        """Return whether a value stands at `path`."""
        here = self.data
        for part in path:
            if not (part in here if isinstance(here, dict) else isinstance(here, list) and part in range(len(here))):
                return False
            here = here[part]
        return True

    def _from_elsewhere(self, path: Path_) -> Place | None:
        """Return the origin of the value at `path`, or of the nearest one around it, if it was inserted."""
        if not self.moved:
            return None
        tops = (path[:length] for length in range(len(path), 0, -1))
        return next((self.moved[top] for top in tops if top in self.moved), None)

    def at_value(self, path: Path_) -> Place:
        """Return where the value at `path` begins; the nearest enclosing one if it has no place of its own."""
        elsewhere = self._from_elsewhere(path)
        if elsewhere is not None:
            return elsewhere
        while path and path not in self.values:
            path = path[:-1]
        line, column = self.values.get(path, (0, 0))
        return Place(self.file, line, column)

    def at_key(self, path: Path_) -> Place:
        """Return where the key of `path` stands. A list item has no key: its value's place."""
        if path in self.keys and self._from_elsewhere(path) is None:
            line, column = self.keys[path]
            return Place(self.file, line, column)
        return self.at_value(path)


def read_document(path: str | Path) -> Document:
    """Read a YAML file.

    Raises ScenarioError if it cannot be read, or is empty, binary, too large or not YAML.
    """
    return parse_document(_text_of(Path(path)), str(path))


def parse_document(text: str, file: str = "<text>") -> Document:
    """Parse the text of a YAML file; errors name it `file`."""
    from groupsim.scenarios.language.yaml_reader import parse_yaml

    data, keys, values = parse_yaml(text, file)
    return Document(file, data, keys, values)


def parse_documents(text: str, file: str) -> list[Document]:
    """Parse every document of a text that may hold several, separated by `---`."""
    from groupsim.scenarios.language.yaml_reader import parse_several

    return [Document(file, data, keys, values) for data, keys, values in parse_several(text, file)]


def _text_of(path: Path) -> str:
    try:
        content = standard_input() if path == STANDARD_INPUT else path.read_bytes()
    except OSError as error:
        words = error.strerror or type(error).__name__
        raise one_problem(path, f"cannot be read: {words.lower()}", unreadable_remedy(path)) from None
    if len(content) > MAX_BYTES:
        raise one_problem(path, f"is {len(content):,} bytes long", f"the limit is {MAX_BYTES:,}")
    return utf8(content, path)


def standard_input() -> bytes:
    """Return the content of standard input. It is read once: a command that reads it twice gets the same bytes.

    Raises ScenarioError if it is closed.
    """
    if sys.stdin is None:
        raise one_problem(STANDARD_INPUT, "standard input is closed", "name a file, or write `< FILE`")
    return _content(sys.stdin)


@lru_cache(maxsize=1)
def _content(stream: TextIO) -> bytes:
    return stream.buffer.read()


def name_of(path: str | Path) -> str:
    """Return the name of a file's scenario: the file name without `.yaml` or `.groupsim.yaml`."""
    return Path(path).stem.removesuffix(".groupsim")


def unreadable_remedy(path: Path) -> str:
    """Return the remedy for a file that cannot be read; a file with a similar name is proposed."""
    if path.is_dir():
        return f"`{path}` is a directory; name a file in it"
    try:
        beside = {one.stem: one for one in sorted(path.parent.iterdir()) if path.suffix and one.suffix == path.suffix}
    except OSError:
        beside = {}
    near = None if path.exists() else nearest(path.stem, beside)  # stems alone: a common ending makes no name similar
    return f"did you mean `{beside[near]}`?" if near else "check the path and its permissions"


_TRACES = (b'{"seq":1,"t_us":', b"PAR1")


def utf8(content: bytes, path: Path | str) -> str:
    """Decode the content of a file. Raises ScenarioError for a trace file, and for bytes that are not UTF-8."""
    if content.startswith(_TRACES):
        raise one_problem(path, "is the trace of a run", "name the run's scenario; docs/traces.md explains traces")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        remedy = "it looks like UTF-16, which PowerShell writes: save it as UTF-8" if wide else "save it as UTF-8"
        raise one_problem(path, f"is not text (byte {error.start} is not UTF-8)", remedy) from None

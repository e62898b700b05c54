"""Read YAML text as plain data with positions.

ruamel.yaml's node graph becomes plain data, and a map of the positions of every key and value. Duplicate
keys, keys that are not text, aliases that contain themselves and documents of more than MAX_NODES values are problems
here, before their meaning is read. YAML 1.2 rules hold: `on`, `off`, `yes`, `no` are text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from attrs import field
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from groupsim.protocol.values import define
from groupsim.scenarios.language.plain_data import Decimalish, Path_
from groupsim.scenarios.language.problems import Place, Problem, ScenarioError, one_problem

Spots: TypeAlias = dict[Path_, tuple[int, int]]

MAX_NODES = 200_000


def parse_yaml(text: str, file: str) -> tuple[Any, Spots, Spots]:
    """Parse one YAML document; return its data, and line and column of its keys and of its values.

    Raises ScenarioError for text that is not YAML, is empty, or holds more than one document.
    """
    nodes = _compose(text, file)
    if len(nodes) > 1:
        line = nodes[1].start_mark.line + 1
        problem = Problem(
            Place(file, line, 1),
            "a second document begins here (`---`)",
            "keep one scenario in a file; `groupsim lint` reads every document of an application's profiles",
        )
        raise ScenarioError([problem])
    return _read(nodes[0] if nodes else None, file)


def parse_several(text: str, file: str) -> list[tuple[Any, Spots, Spots]]:
    """Parse each document of a file that may hold several; empty ones are left out.

    Raises ScenarioError for text that is not YAML, or is empty.
    """
    nodes = [node for node in _compose(text, file) if not _is_null(node)]
    return [_read(node, file) for node in nodes] or [_read(None, file)]


def _read(node: Node | None, file: str) -> tuple[Any, Spots, Spots]:
    if node is None or _is_null(node):
        raise one_problem(file, "the file is empty", "a scenario needs at least `topics`, `groups` and `run-for`")
    reader = _NodeReader(file)
    data = reader.plain(node, ())
    if reader.problems:
        raise ScenarioError(reader.problems)
    return data, reader.keys, reader.values


def _compose(text: str, file: str) -> list[Node]:
    try:
        return list(YAML(typ="rt", pure=True).compose_all(text))
    except MarkedYAMLError as error:
        raise ScenarioError([_no_yaml(error, file)]) from None
    except (YAMLError, ValueError, RecursionError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise one_problem(file, f"this is not YAML: {first}", "write YAML text in UTF-8") from None


_TAB, _NO_COLON = "'\\t'", "could not find expected ':'"


def _no_yaml(error: MarkedYAMLError, file: str) -> Problem:
    """Return the problem at the place where the text stops being YAML."""
    problem = error.problem or ""
    mark = error.problem_mark or error.context_mark
    if problem == _NO_COLON and error.context_mark is not None:
        mark = error.context_mark  # ruamel.yaml notices the missing colon only in the next line
        words, remedy = f"a line without a colon: {problem}", "write `key: value`"
    else:
        words = " ".join(part for part in (error.context, problem) if part)
        remedy = "indent with spaces: a tab does not count" if _TAB in problem else "check indentation and quotes"
    place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
    return Problem(place, f"this is not YAML: {words}", remedy)


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and str(node.tag).endswith(":null")


@define
class _NodeReader:
    """Converts the node graph; collects problems instead of stopping at the first."""

    file: str
    keys: dict[Path_, tuple[int, int]] = field(factory=dict)
    values: dict[Path_, tuple[int, int]] = field(factory=dict)
    problems: list[Problem] = field(factory=list)
    _open: list[int] = field(factory=list)
    _count: int = 0

    def plain(self, node: Node, path: Path_) -> Any:
        self._count += 1
        if self._count > MAX_NODES:
            raise one_problem(self.file, f"unfolds to more than {MAX_NODES:,} values", "use fewer aliases (`*name`)")
        self.values[path] = _spot(node)
        if str(node.tag) not in _TAGS:
            self._problem(node, f"the tag `{_short(node)}` is not supported", "write the value without a tag")
            return None
        if id(node) in self._open:
            self._problem(node, "an alias (`*name`) contains itself", "write the value instead of the alias")
            return None
        self._open.append(id(node))
        try:
            return self._inside(node, path)
        finally:
            self._open.pop()

    def _inside(self, node: Node, path: Path_) -> Any:
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.plain(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _mapping(self, node: MappingNode, path: Path_) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in self._pairs(node):
            key = self._key(key_node)
            if key is None:
                continue
            if key in result:
                line = self.keys[(*path, key)][0]
                self._problem(key_node, f"the key `{key}` appears twice", f"the first is in line {line}; remove one")
                continue
            self.keys[(*path, key)] = _spot(key_node)
            result[key] = self.plain(value_node, (*path, key))
            if _is_null(value_node) and not value_node.value:
                self.values[(*path, key)] = _spot(key_node)  # ruamel.yaml places a missing value in the next line
        for key, value_node in self._merged(node):
            if key not in result:
                result[key] = self.plain(value_node, (*path, key))
        return result

    def _pairs(self, node: MappingNode) -> Iterator[tuple[Node, Node]]:
        return ((k, v) for k, v in node.value if not _is_merge(k))

    def _merged(self, node: MappingNode) -> Iterator[tuple[str, Node]]:
        """Yield the keys of `<<: *name`. The mapping's own keys win, then the first of several sources."""
        for key_node, value_node in node.value:
            if not _is_merge(key_node):
                continue
            sources = value_node.value if isinstance(value_node, SequenceNode) else [value_node]
            for source in sources:
                if not isinstance(source, MappingNode) or id(source) in self._open:
                    self._problem(source, "`<<` can merge only a mapping", "name the anchor of a mapping")
                    continue
                yield from ((str(k.value), v) for k, v in source.value if isinstance(k, ScalarNode))

    def _key(self, node: Node) -> str | None:
        if isinstance(node, ScalarNode):
            return str(node.value)
        self._problem(node, "a key must be text", "quote it if it contains `{`, `[` or `?`")
        return None

    def _scalar(self, node: Node) -> Any:
        kind = str(node.tag).rpartition(":")[2]
        text = str(node.value).replace("\a", "")  # ruamel.yaml marks the folds of `>` text with it
        try:
            return _SCALARS.get(kind, str)(text)
        except ValueError:
            self._problem(node, f"`{text}` is not a valid {kind}", "quote it if it is text")
            return text

    def _problem(self, node: Node, message: str, remedy: str) -> None:
        line, column = _spot(node)
        self.problems.append(Problem(Place(self.file, line, column), message, remedy))


def _spot(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _short(node: Node) -> str:
    return str(node.tag).replace("tag:yaml.org,2002:", "!!")


def _is_merge(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value == "<<" and not node.style


def _whole(text: str) -> int:
    digits = text.replace("_", "")
    return int(digits, 0) if digits.lstrip("+-").lower().startswith(("0x", "0o")) else int(digits)


_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null", "merge", "timestamp")
)
_SCALARS: dict[str, Any] = {
    "null": lambda _text: None,
    "bool": lambda text: text.lower() == "true",
    "int": _whole,
    "float": Decimalish,
}

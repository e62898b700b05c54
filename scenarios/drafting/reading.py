"""Read the text of files as facts: choose the reader of each document.

Kubernetes manifests    by `kind`; documents of other kinds are listed and left out
ConfigMaps              variables of containers, and files of an application in them
application.yml, .properties, consumer.properties    settings
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import field

from groupsim.protocol.values import define, frozen
from groupsim.scenarios.drafting import autoscalers, clusters, workloads
from groupsim.scenarios.drafting.applications import mentions_kafka
from groupsim.scenarios.drafting.facts import Fact, Found, Node, Settings
from groupsim.scenarios.language.document import Document, parse_documents
from groupsim.scenarios.language.problems import Place, Problem, ScenarioError, one_problem
from groupsim.scenarios.lint.documents import parts_of
from groupsim.scenarios.lint.in_properties import lines_of
from groupsim.scenarios.lint.spellings import Line, flat

READS = (
    "Kubernetes manifests (Deployment, StatefulSet, HorizontalPodAutoscaler, ScaledObject, KafkaTopic, Kafka), "
    "Spring Boot's application.yml and .properties, consumer.properties"
)

_TEMPLATE = "{{"
#: The first line of YAML: a document marker, an item, a flow mapping, or a key with a blank or no text after it.
_FIRST_LINE = re.compile(r"---|- |[{]|[\w./\"'-]+:(?:\s|$)")


@frozen
class File:
    """A file: its name, its text, and its format."""

    name: str
    text: str
    is_yaml: bool


def looks_like_yaml(text: str) -> bool:
    """Return whether text without a file name is YAML, by its first line that is neither empty nor a comment.

    `key: value` is also a line of a .properties file; as YAML it is the same setting, and an error has its column.
    """
    lines = (line for line in text.removeprefix("\ufeff").splitlines() if line.strip() and line.lstrip()[0] not in "#!")
    first = next(lines, "").strip()
    return _FIRST_LINE.match(first) is not None


def read(files: Sequence[File]) -> Found:
    """Read the facts of files. Raises ScenarioError, with file, document and line, for text that cannot be read."""
    manifests, settings = _Manifests(), []
    for file in files:
        if not file.text.strip():
            raise one_problem(file.name, "the file is empty", f"`groupsim init` reads {READS}")
        if not file.is_yaml:
            lines = lines_of(file.text, file.name)
            settings.append(Settings(file.name, _documents(parts_of(lines, file.text))))
            continue
        documents = _parsed(file)
        if any(_is_manifest(document) for document in documents):
            manifests.add(documents)
        else:
            settings.append(Settings(file.name, _documents(list(flat(document)) for document in documents)))
    return manifests.found(settings)


def _documents(documents: Iterator[list[Line]] | Sequence[Sequence[Line]]) -> tuple[tuple[Line, ...], ...]:
    return tuple(tuple(lines) for lines in documents)


def _parsed(file: File) -> list[Document]:
    try:
        return parse_documents(file.text, file.name)
    except ScenarioError as error:
        lines = file.text.splitlines()
        first = next((number for number, line in enumerate(lines, 1) if _TEMPLATE in line), None)
        if first is None:
            raise
        remedy = "render it first: `helm template CHART > rendered.yaml`, or `kustomize build`"
        raise ScenarioError([Problem(Place(file.name, first, 1), "is a template, not a manifest", remedy)]) from error


def _is_manifest(document: Document) -> bool:
    return isinstance(document.data, dict) and "kind" in document.data and "apiVersion" in document.data


@define
class _Manifests:
    """Collects the manifests of all files, because a workload may use a ConfigMap of another file."""

    nodes: list[Node] = field(factory=list)

    def add(self, documents: Sequence[Document]) -> None:
        for number, document in enumerate(documents, 1):
            if _is_manifest(document):
                self.nodes += _flattened(Node(document, (), number))
            else:
                text = f"document {number}: not a manifest: `apiVersion` and `kind` are missing"
                remedy = "move settings of an application to a file of their own"
                raise ScenarioError([Problem(document.at_value(()), text, remedy)])

    def found(self, settings: list[Settings]) -> Found:
        """Return the facts of all manifests, with the contents of their ConfigMaps."""
        maps = {_name(node): node for node in self.nodes if node.data["kind"] == "ConfigMap"}
        variables = {name: clusters.config_at(node, "data") for name, node in maps.items()}
        of_kind: dict[str, list[Node]] = {}
        for node in self.nodes:
            of_kind.setdefault(str(node.data["kind"]), []).append(node)
        known = {*workloads.KINDS, *autoscalers.KINDS, *clusters.KINDS, "ConfigMap"}
        left_out = [node for kind, nodes in of_kind.items() if kind not in known for node in nodes]
        every = _of(workloads.KINDS, of_kind)
        inside = [one for name, node in maps.items() for one in _files_of(name, node)]
        pools = (clusters.read_pool(node) for node in of_kind.get("KafkaNodePool", ()))
        return Found(
            workloads=tuple(workloads.read_workload(node, variables) for node in every),
            autoscalers=tuple(
                one for node in _of(autoscalers.KINDS, of_kind) for one in autoscalers.read_autoscalers(node)
            ),
            topics=tuple(clusters.read_topic(node) for node in of_kind.get("KafkaTopic", ())),
            brokers=tuple(clusters.read_brokers(node) for node in of_kind.get("Kafka", ())),
            pools=tuple(pool for pool in pools if pool is not None),
            settings=(*settings, *inside),
            left_out=tuple(f"{node.data['kind']} {_name(node)}" for node in left_out),
        )


def _of(kinds: Sequence[str], of_kind: dict[str, list[Node]]) -> list[Node]:
    return [node for kind in kinds for node in of_kind.get(kind, ())]


def _flattened(node: Node) -> Iterator[Node]:
    """Yield a manifest, or those of a List."""
    if node.data["kind"] == "List":
        for item in node.items("items"):
            if isinstance(item.data, dict) and "kind" in item.data:
                yield from _flattened(item)
    else:
        yield node


def _name(node: Node) -> str:
    name = node.text("metadata", "name")
    return name.value if name is not None else ""


_READERS: dict[str, Callable[[str, str], list[list[Line]]]] = {
    ".properties": lambda text, file: parts_of(lines_of(text, file), text),
    ".yaml": lambda text, file: [list(flat(document)) for document in parse_documents(text, file)],
    ".yml": lambda text, file: [list(flat(document)) for document in parse_documents(text, file)],
}


def _files_of(name: str, node: Node) -> Iterator[Settings]:
    """Yield the files of an application that a ConfigMap contains, if they concern Kafka."""
    data = node.at("data")
    for key in data.data if data is not None and isinstance(data.data, dict) else ():
        reader = _READERS.get(Path(key).suffix)
        value = data.at(key) if data is not None and reader is not None else None
        if reader is None or value is None or not isinstance(value.data, str) or not value.data.strip():
            continue
        begin = value.document.at_value(value.path).line  # the line of `|`; the text begins in the next one
        try:
            documents = reader(value.data, node.document.file)
        except ScenarioError:
            continue  # a script or a template, not settings
        shifted = tuple(tuple((line + begin, key, text) for line, key, text in lines) for lines in documents)
        if mentions_kafka(Fact(text, node.place, spelt) for lines in shifted for _, spelt, text in lines):
            yield Settings(node.document.file, shifted, name)

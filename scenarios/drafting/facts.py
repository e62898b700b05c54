"""Facts of an application, its topics and its brokers: values, each with the place where it is written.

The readers (`workloads.py`, `autoscalers.py`, `clusters.py`, `applications.py`) return them; `plan.py` matches them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from attrs import field

from groupsim.protocol.values import frozen
from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import Place, Problem, ScenarioError
from groupsim.scenarios.lint.spellings import Line

T = TypeVar("T")
POD_NAME = "{name}"
"""The placeholder for the name of the pod in a scenario's patterns."""


@frozen
class Fact(Generic[T]):
    """A value, the place where it is written, and its key."""

    value: T
    place: Place
    name: str

    @property
    def source(self) -> str:
        """The place for a comment: `deployment.yaml:12 spec.replicas`."""
        file = Path(self.place.file).name
        return f"{file}:{self.place.line} {self.name}" if self.place.line else f"{file} {self.name}"


@frozen
class Workload:
    """A Deployment or StatefulSet: its number of pods, its rollout, and its environment."""

    kind: str
    name: str
    place: Place
    replicas: Fact[int] | None = None
    #: Keys of the step `rolling-restart`, with values as in a scenario.
    rollout: Mapping[str, Fact[str]] = field(factory=dict)
    #: From the start of the pod to the first readiness probe (s), and between two probes; None without a probe.
    first_probe_s: Fact[int] | None = None
    probe_period_s: int = 10
    minimum_ready_s: Fact[int] | None = None
    env: Mapping[str, Fact[str]] = field(factory=dict)
    #: Variables whose values no file contains (a Secret, a ConfigMap that is missing).
    unknown: tuple[Fact[str], ...] = ()
    #: ConfigMaps mounted as volumes.
    mounts: frozenset[str] = frozenset()


@frozen
class AutoscalerFacts:
    """An HPA or a ScaledObject: its target, its bounds, and its metrics."""

    kind: str
    place: Place
    target: str
    minimum: Fact[int] | None = None
    maximum: Fact[int] | None = None
    lag: Fact[int] | None = None
    cpu: Fact[int] | None = None
    stabilization_s: Fact[int] | None = None
    group: Fact[str] | None = None
    topic: Fact[str] | None = None
    reset: Fact[str] | None = None
    #: Metrics beside lag and CPU, which have no counterpart in a scenario.
    other: tuple[Fact[str], ...] = ()


@frozen
class Topic:
    """A topic, as a KafkaTopic declares it."""

    name: str
    place: Place
    partitions: Fact[int] | None = None
    replicas: Fact[int] | None = None
    config: Mapping[str, Fact[Any]] = field(factory=dict)


@frozen
class BrokerFacts:
    """The brokers, as declared by a Kafka resource, its node pools or a StatefulSet of brokers."""

    name: str
    place: Place
    count: Fact[int] | None = None
    version: Fact[str] | None = None
    config: Mapping[str, Fact[Any]] = field(factory=dict)
    racks: Fact[str] | None = None


@frozen
class Settings:
    """A file of an application: its documents, each a list of settings as written."""

    file: str
    documents: tuple[tuple[Line, ...], ...]
    #: The ConfigMap that contains it, if any.
    config_map: str = ""


@frozen
class Found:
    """All facts of a set of files."""

    workloads: tuple[Workload, ...] = ()
    autoscalers: tuple[AutoscalerFacts, ...] = ()
    topics: tuple[Topic, ...] = ()
    brokers: tuple[BrokerFacts, ...] = ()
    pools: tuple[BrokerFacts, ...] = ()
    settings: tuple[Settings, ...] = ()
    #: Documents without a fact on consumers, topics and brokers: `Service orders (deployment.yaml:40)`.
    left_out: tuple[str, ...] = ()


@frozen
class Node:
    """A mapping or value inside a YAML document, with the place of each key."""

    document: Document
    path: Path_
    number: int

    @property
    def data(self) -> Any:
        """The plain data."""
        here = self.document.data
        for part in self.path:
            here = here[part]
        return here

    def at(self, *names: str | int) -> Node | None:
        """Return the node below these keys; None if it is missing or empty."""
        path = (*self.path, *names)
        if not self.document.holds(path):
            return None
        node = Node(self.document, path, self.number)
        return None if node.data is None else node

    def items(self, *names: str) -> Iterator[Node]:
        """Yield the items of the list below these keys; none without a list."""
        node = self.at(*names)
        if node is not None and isinstance(node.data, list):
            yield from (Node(self.document, (*node.path, index), self.number) for index in range(len(node.data)))

    def text(self, *names: str | int) -> Fact[str] | None:
        """Return the value below these keys as text. Raises ScenarioError for a mapping or a list."""
        node = self.at(*names)
        if node is None:
            return None
        if isinstance(node.data, dict | list):
            raise node.problem("is not a single value", "write one value")
        data = node.data
        text = str(data).lower() if isinstance(data, bool) else str(getattr(data, "text", data))
        return Fact(text, node.place, node.name)

    def number_at(self, *names: str | int, least: int = 0) -> Fact[int] | None:
        """Return the whole number below these keys. Raises ScenarioError for other values and those below `least`."""
        fact = self.text(*names)
        node = self.at(*names)
        if fact is None or node is None:
            return None
        text = fact.value.strip()
        if not text.lstrip("-").isdecimal():
            remedy = "render the chart first: `helm template`, `kustomize build`" if "{" in text else "write a number"
            raise node.problem(f"is `{text}`, not a whole number", remedy)
        if int(text) < least:
            raise node.problem(f"is {text}", f"write {least} or more")
        return Fact(int(text), fact.place, fact.name)

    @property
    def name(self) -> str:
        """The path as written, without the numbers of list items."""
        return ".".join(str(part) for part in self.path if isinstance(part, str) and part not in ("items",))

    @property
    def place(self) -> Place:
        """The place of the key."""
        return self.document.at_key(self.path)

    def problem(self, message: str, remedy: str) -> ScenarioError:
        """Return an error with file, line and document."""
        name = f"`{self.name}`" if self.name else f"the {self.data.get('kind', 'document')}"
        text = f"document {self.number}: {name} {message}"
        return ScenarioError([Problem(self.place, text, remedy)])

"""What files say of an application, its topics and its brokers: values with the place where each is written.

The readers (`workloads.py`, `autoscalers.py`, `clusters.py`, `applications.py`) make these, `plan.py` matches them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from attrs import field, frozen

from groupsim.scenarios.language.document import Document
from groupsim.scenarios.language.plain_data import Path_
from groupsim.scenarios.language.problems import Place, Problem, ScenarioError
from groupsim.scenarios.lint.spellings import Line

T = TypeVar("T")
POD_NAME = "{name}"
"""What stands for the name of the pod, in a scenario's patterns."""


@frozen
class Fact(Generic[T]):
    """A value, where it is written, and the key under which it stands there."""

    value: T
    place: Place
    name: str

    @property
    def source(self) -> str:
        """The place in a few words, for a comment: `deployment.yaml:12 spec.replicas`."""
        file = Path(self.place.file).name
        return f"{file}:{self.place.line} {self.name}" if self.place.line else f"{file} {self.name}"


@frozen
class Workload:
    """A Deployment or StatefulSet: how many pods, how they are replaced, what their containers are given."""

    kind: str
    name: str
    place: Place
    replicas: Fact[int] | None = None
    #: Keys of the step `rolling-restart`, with values as a scenario writes them.
    rollout: Mapping[str, Fact[str]] = field(factory=dict)
    #: From the start of the pod to the first readiness probe, and between two probes (s); None without a probe.
    first_probe_s: Fact[int] | None = None
    probe_period_s: int = 10
    minimum_ready_s: Fact[int] | None = None
    env: Mapping[str, Fact[str]] = field(factory=dict)
    #: Variables whose values lie in what no file shows (a Secret, a ConfigMap that is missing).
    unknown: tuple[Fact[str], ...] = ()
    #: ConfigMaps that its volumes mount.
    mounts: frozenset[str] = frozenset()


@frozen
class AutoscalerFacts:
    """An HPA or a ScaledObject: its target, its bounds, and what it follows."""

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
    #: What it follows beside lag and CPU, or what has no counterpart in a scenario.
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
    """The brokers, as a Kafka resource, its node pools or a StatefulSet of brokers declare them."""

    name: str
    place: Place
    count: Fact[int] | None = None
    version: Fact[str] | None = None
    config: Mapping[str, Fact[Any]] = field(factory=dict)
    racks: Fact[str] | None = None


@frozen
class Settings:
    """A file of an application: its documents, each a list of settings as they are spelt there."""

    file: str
    documents: tuple[tuple[Line, ...], ...]
    #: The ConfigMap that it lies in, if it does.
    config_map: str = ""


@frozen
class Found:
    """Everything that a set of files says."""

    workloads: tuple[Workload, ...] = ()
    autoscalers: tuple[AutoscalerFacts, ...] = ()
    topics: tuple[Topic, ...] = ()
    brokers: tuple[BrokerFacts, ...] = ()
    pools: tuple[BrokerFacts, ...] = ()
    settings: tuple[Settings, ...] = ()
    #: Documents that say nothing of consumers, topics and brokers, as `Service orders (deployment.yaml:40)`.
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
        """What stands below these keys; None where it does not, or is empty."""
        path = (*self.path, *names)
        if not self.document.holds(path):
            return None
        node = Node(self.document, path, self.number)
        return None if node.data is None else node

    def items(self, *names: str) -> Iterator[Node]:
        """The items of the list below these keys; none where there is no list."""
        node = self.at(*names)
        if node is not None and isinstance(node.data, list):
            yield from (Node(self.document, (*node.path, index), self.number) for index in range(len(node.data)))

    def text(self, *names: str | int) -> Fact[str] | None:
        """The value below these keys as text. Raises ScenarioError for a mapping or a list."""
        node = self.at(*names)
        if node is None:
            return None
        if isinstance(node.data, dict | list):
            raise node.problem("holds more than one value", "write one value")
        data = node.data
        text = str(data).lower() if isinstance(data, bool) else str(getattr(data, "text", data))
        return Fact(text, node.place, node.name)

    def number_at(self, *names: str | int, least: int = 0) -> Fact[int] | None:
        """The whole number below these keys. Raises ScenarioError for anything else, and for one below `least`."""
        fact = self.text(*names)
        node = self.at(*names)
        if fact is None or node is None:
            return None
        text = fact.value.strip()
        if not text.lstrip("-").isdecimal():
            remedy = "render the chart first: `helm template`, `kustomize build`" if "{" in text else "write a number"
            raise node.problem(f"is `{text}`, and not a whole number", remedy)
        if int(text) < least:
            raise node.problem(f"is {text}", f"write {least} or more")
        return Fact(int(text), fact.place, fact.name)

    @property
    def name(self) -> str:
        """The path as a person writes it, without the numbers of list items."""
        return ".".join(str(part) for part in self.path if isinstance(part, str) and part not in ("items",))

    @property
    def place(self) -> Place:
        """Where the key stands."""
        return self.document.at_key(self.path)

    def problem(self, message: str, remedy: str) -> ScenarioError:
        """An error that names file, line and document."""
        name = f"`{self.name}`" if self.name else f"the {self.data.get('kind', 'document')}"
        text = f"document {self.number}: {name} {message}"
        return ScenarioError([Problem(self.place, text, remedy)])

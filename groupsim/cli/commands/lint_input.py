"""The input of `groupsim lint`: scenarios, experiments and client configurations, and how a file's kind is found."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve, field

from groupsim.cli.exits import Trouble
from groupsim.protocol.values import frozen
from groupsim.scenarios.language.document import (
    STANDARD_INPUT,
    Document,
    parse_document,
    parse_documents,
    standard_input,
    unreadable_remedy,
    utf8,
)
from groupsim.scenarios.language.keys import fields_of
from groupsim.scenarios.language.model import Scenario
from groupsim.scenarios.language.problems import Place, one_problem, suggest
from groupsim.scenarios.lint import (
    Client,
    LintFinding,
    broker_of,
    client_of,
    flat,
    is_producers,
    lines_of,
    lint_broker,
    lint_producer,
    lint_scenario,
    lint_settings,
    not_judged,
)
from groupsim.scenarios.lint.brokers import BrokerView
from groupsim.scenarios.lint.documents import ON_PROFILE, parts_of, variants
from groupsim.scenarios.lint.engine import ordered
from groupsim.scenarios.lint.places import ELSEWHERE, OF_BROKERS_TOO
from groupsim.scenarios.lint.rules.migration import TARGET
from groupsim.scenarios.lint.spellings import Line, is_filled_in
from groupsim.scenarios.loading import catalogue
from groupsim.scenarios.loading.canonical import parse

DEFAULT_CLIENT = "java-3.9"
STDIN = "-"
_YAML = (".yaml", ".yml", ".json")
MAX_BYTES = 8_000_000


@frozen
class Report:
    """The findings of one file, and its kind."""

    findings: tuple[LintFinding, ...] = ()
    kind: str = ""
    judged_as: str = ""
    #: Settings that no rule knows: those of another program, or with placeholders.
    not_judged: tuple[str, ...] = ()
    #: Profiles of an application that were checked, besides the configuration without a profile.
    profiles: tuple[str, ...] = ()
    #: Whether the file has no settings.
    empty: bool = False


@frozen
class Options:
    """The options for the client and the broker of a configuration."""

    client: Client
    broker: BrokerView
    broker_properties: Path | None = None
    settings: tuple[str, ...] = ()
    chosen: tuple[str, ...] = field(default=())
    #: Whether to report what changes with `migration.TARGET`.
    for_target: bool = False

    @classmethod
    def of(
        cls, client: str | None, broker: str | None, properties: Path | None, settings: list[str], target: str | None
    ) -> Options:
        """Build the options. Raises Trouble for an unknown client, version, setting or target, OSError for a file."""
        if target not in (None, TARGET):
            raise Trouble(f"--target {target}: no such target", f"write --target {TARGET}")
        try:
            named = client_of(client or DEFAULT_CLIENT)
            text = properties.read_text("utf-8-sig", errors="replace") if properties is not None else ""
            view = broker_of(broker, text, str(properties or "broker"), _pairs(settings))
        except ValueError as error:
            message, _, remedy = str(error).partition("; ")
            raise Trouble(message, remedy) from None
        options = {"--client": client, "--broker": broker, "--broker-properties": properties, "--set": settings}
        chosen = tuple(name for name, value in options.items() if value)
        return cls(named, view, properties, tuple(settings), chosen, target is not None)

    @property
    def broker_name(self) -> str:
        """The name of the broker's settings in a report."""
        return str(self.broker_properties or "--set")

    def broker_report(self) -> Report:
        """Check the broker's settings alone."""
        return Report(lint_broker(self.broker), "broker", f"broker {self.broker.version_text}")


def _pairs(settings: list[str]) -> dict[str, str]:
    """Parse `--set KEY=VALUE` options. Raises Trouble for an unknown broker setting."""
    found = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        known = [*(name for name, kind in ELSEWHERE.items() if kind == "broker"), *OF_BROKERS_TOO]
        if not equals:
            raise Trouble(f"--set {setting}: no value", "write --set group.max.session.timeout.ms=60000")
        if key not in known:
            raise Trouble(f"--set {key}: not a broker setting", suggest(key, known, "known"))
        found[key] = value
    return found


def report_of(file: str, options: Options) -> Report:
    """Check one file. Raises ScenarioError if it is unreadable."""
    path, text = text_of(file)
    shown = str(STANDARD_INPUT if file == STDIN else path)
    if not is_yaml(path, text):
        if options.client.library == "java" and is_producers(text):
            return Report(lint_producer(text, shown, options.client, options.broker), "producer", _as_what(options))
        return _of_documents(parts_of(lines_of(text, shown), text), shown, options)
    documents = parse_documents(text, shown)
    if all(map(_is_configuration, documents)):
        return _of_documents([list(flat(document)) for document in documents], shown, options)
    document = parse_document(text, shown)
    if options.chosen:
        remedy = "change the file, or leave the option out"
        raise one_problem(shown, f"{options.chosen[0]} has no effect: a scenario names its clients and brokers", remedy)
    if isinstance(document.data, dict) and "scenario" in document.data:
        return _of_experiment(file, shown, options.for_target)
    return Report(lint_scenario(document, for_target=options.for_target), "scenario")


def _of_documents(documents: list[list[Line]], shown: str, options: Options) -> Report:
    """Check configurations. Each finding is reported once, with the profiles it requires.

    Raises ScenarioError if the file has no client setting.
    """
    silent = _silent([line for lines in documents for line in lines], shown, options)
    several = variants(documents)
    found: dict[tuple[int, str, str], LintFinding] = {}
    whose: dict[tuple[int, str, str], list[str]] = {}
    for one in several:
        for finding in lint_settings(one.lines, shown, options.client, options.broker, for_target=options.for_target):
            key = (finding.place.line, finding.rule, finding.message)
            found.setdefault(key, finding)
            whose.setdefault(key, []).append(one.profile)
    findings = tuple(_under(finding, whose[key]) for key, finding in found.items())
    profiles = tuple(one.profile for one in several if one.profile)
    return Report(ordered(findings), "properties", _as_what(options), silent, profiles, empty=not several)


def _under(finding: LintFinding, profiles: list[str]) -> LintFinding:
    if "" in profiles:
        return finding
    return evolve(finding, message=f"{finding.message} (profile {', '.join(profiles)})")


def _silent(lines: list[Line], shown: str, options: Options) -> tuple[str, ...]:
    """Return the settings that no rule knows. Raises ScenarioError if there is no client setting."""
    silent = not_judged(lines, options.client, options.broker)
    if lines and len(silent) == len(lines) and not any(is_filled_in(value) for _, _, value in lines):
        names = ", ".join(f"`{name}`" for name in silent[:3]) + (" …" if len(silent) > 3 else "")
        remedy = f"is it for another client? name it with --client (it was {_as_what(options)}); `groupsim lint` reads "
        remedy += "scenarios, .properties, Spring Boot's YAML and environment variables"
        raise one_problem(shown, f"no setting of a consumer, only {names}", remedy)
    return tuple(dict.fromkeys(name for name in silent if name not in ON_PROFILE))


def _is_configuration(document: Document) -> bool:
    """Whether a YAML file is neither a scenario nor an experiment: it has none of their top-level keys."""
    data = document.data
    return isinstance(data, dict) and bool(data) and not any(str(name) in _TOP_LEVEL for name in data)


def _as_what(options: Options) -> str:
    return options.client.profile.name if options.client.low == (0,) else options.client.name


def text_of(file: str) -> tuple[Path, str]:
    """Return the path and the text of a file, or of a scenario of the library; `-` is standard input.

    Raises ScenarioError if it is unreadable.
    """
    path = Path("stdin") if file == STDIN else _find(file)
    try:
        content = standard_input() if file == STDIN else path.read_bytes()
    except OSError as error:
        raise one_problem(path, f"cannot be read: {(error.strerror or '').lower()}", unreadable_remedy(path)) from None
    if len(content) > MAX_BYTES:
        raise one_problem(path, f"has {len(content):,} bytes", f"the limit is {MAX_BYTES:,} bytes")
    return path, utf8(content, path)


def _find(file: str) -> Path:
    """Find a file, or a scenario or experiment of the library."""
    if Path(file).exists() or file in catalogue.names() or file in catalogue.ALIASES:
        return catalogue.find(file)
    try:
        from groupsim.pipeline.experiment import catalogue as experiments
    except ImportError:
        return catalogue.find(file)
    return experiments.find(file) if file in experiments.names() else catalogue.find(file)


def is_yaml(path: Path, text: str) -> bool:
    """Whether a file is YAML, by its suffix; without a suffix, by the first line with a setting."""
    if path.suffix in _YAML:
        return True
    if path.suffix:
        return False
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and line[0] not in "#!"), "")
    return first.startswith("---") or ("=" not in first and first.partition(":")[0] in (*_TOP_LEVEL, *_FRAMEWORKS))


_TOP_LEVEL = (*fields_of(Scenario), "scenario")
#: First keys of the YAML files of applications and deployments.
_FRAMEWORKS = ("spring", "kafka", "mp", "quarkus", "micronaut", "apiVersion", "services", "version")


# --- experiments -------------------------------------------------------------------------------------------------


def _of_experiment(file: str, shown: str, for_target: bool) -> Report:
    """Check the cells of an experiment. Each finding is reported once, with its cells."""
    from groupsim.pipeline.experiment import load_experiment

    experiment = load_experiment(file)
    found: dict[tuple[str, str], LintFinding] = {}
    where: dict[tuple[str, str], list[str]] = {}
    for cell in {cell.digest: cell for cell in experiment.cells}.values():
        for finding in lint_scenario(Document(shown, parse(cell.document), {}, {}), for_target=for_target):
            key = (finding.rule, finding.message)
            found.setdefault(key, evolve(finding, place=Place(shown)))
            where.setdefault(key, []).append(cell.title)
    findings = (_with_cells(one, where[key], len(experiment.cells)) for key, one in found.items())
    return Report(tuple(findings), "experiment")


def _with_cells(finding: LintFinding, titles: list[str], cells: int) -> LintFinding:
    """Add the number of cells to a finding's message, unless it holds in all."""
    if len(titles) == cells:
        return finding
    which = f"in {len(titles)} of {cells} cells, the first {titles[0]}"
    return evolve(finding, message=f"{finding.message} ({which})")

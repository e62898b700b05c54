"""The project's own lint rules, which no standard linter has, checked on the syntax tree and on the words of texts.

    python tools/house_rules.py        prints `file:line: fact: remedy`; exit code 1 if there is an offence

A run has to be equal on every machine. So only `eventloop/` may use clocks, randomness, trio's primitives and threads.
`hash()` of a string and the order of a set differ between processes; both are banned everywhere. Public names have
docstrings, every test has a sentence on its behaviour, and code, pages and tools avoid the words of `IDIOM`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

ROOT = Path(__file__).resolve().parent.parent

# Module → why it is not for rooms.
BANNED_MODULES = {
    "random": "take a stream from the event loop's randomness",
    "secrets": "take a stream from the event loop's randomness",
    "uuid": "draw the id from a stream of the event loop's randomness",
    "time": "ask the event loop for now_us",
    "threading": "start a task with the event loop's start_soon",
    "_thread": "start a task with the event loop's start_soon",
    "concurrent": "start a task with the event loop's start_soon",
    "multiprocessing": "start a task with the event loop's start_soon",
    "asyncio": "use the event loop's interface",
}
BANNED_CALLS = {
    "datetime.now": "ask the event loop for now_us",
    "datetime.utcnow": "ask the event loop for now_us",
    "datetime.today": "ask the event loop for now_us",
    "date.today": "ask the event loop for now_us",
    "os.urandom": "take a stream from the event loop's randomness",
}
TRIO_ALLOWED = {"CancelScope", "Cancelled", "Nursery", "open_nursery"}
TRIO_REMEDY = "use the event loop's sleep, Event, Queue and timeout"
# The front door and the sweep run around simulations, not in them: they may measure how long a run took, and a sweep
# hands runs to processes.
CLOCK_ALLOWED = {"groupsim"}
AROUND_A_RUN = {"groupsim/": {"time"}, "pipeline/sweep/": {"time", "multiprocessing", "concurrent"}}
# Readers of an iterable that do not care for its order.
ORDERLESS = {"all", "any", "sum", "min", "max", "sorted", "set", "frozenset", "len"}

# Words of an idiom that names, docstrings, comments and messages do not use → plain words in their place.
IDIOM = {
    "told": "reported, answered, emitted, or the thing itself",
    "said": "given, requested, or the thing itself",
    "whoever": "the client, the caller, the reader",
    "nobody": "no member, no client, or a passive sentence",
    "somebody": "a member, a client, a process",
    "anew": "again",
    "by hand": "explicitly",
}
# A word stands alone or is a part of a name: `_told`, `told_by`, `FailureTold`.
_IDIOM = re.compile(
    r"(?<![a-z])(?:" + "|".join(word.replace(" ", r"[\s_-]+") for word in IDIOM) + r")(?![a-z])", re.IGNORECASE
)
_IN_A_NAME = re.compile(r"(?<=[a-z])(?:Told|Said|Whoever|Nobody|Somebody|Anew|ByHand)(?![a-z])")
PLAIN_ROOMS = (
    "assignors",
    "cluster",
    "coordinator",
    "eventloop",
    "groupsim",
    "members",
    "pipeline",
    "protocol",
    "scenarios",
    "serving",
)
# Pages whose words are checked too.
PAGES = ("docs/*.md", "docs/guides/*.md", "README.md", "CONTRIBUTING.md")
# Lines where one of the words is right, by path → text of the line. At most 20.
IDIOM_ALLOWED: dict[str, tuple[str, ...]] = {
    # Names of stories, of a play and of scenes.
    "docs/twins.md": ("is told of a rebalance", "sync-is-told-of-a-rebalance.txt"),
    "docs/defects.md": ("a-name-said-twice", "a-group-that-nobody-sees-is-deleted"),
    # A public field, and a value of a key.
    "docs/api.md": ("told: int",),
    "docs/writing-a-scenario.md": ("The process, or `nobody`",),
    # A host of the trace.
    "docs/textbook.md": ("-by-hand",),
    "tools/export_rebalance.py": ("-by-hand",),
    # A key of `experiment.json`, which directories of earlier sweeps have.
    "pipeline/experiment/stored.py": ('"told": experiment.command_line', 'data.get("told", {})'),
    # A payload key, a public field, a host in recorded traces, and a value of a scenario's key.
    "scenarios/invariants/client/processing.py": ('.get("by_hand")',),
    "scenarios/runtime/admin.py": ('"by_hand": True',),
    "scenarios/runtime/runner.py": ("told: int",),
    "scenarios/steps/actions.py": ('RAW_REQUEST_HOST = "by-hand"',),
    "scenarios/expectations/expectations.py": ('NO_PROCESS = "nobody"',),
}


Node = TypeVar("Node", bound=ast.AST)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Offence(NamedTuple):
    """One place where a rule is broken."""

    path: str
    line: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}: {self.remedy}"


class Source(NamedTuple):
    """One file to check; `path` is relative to the checkout, `room` its first folder."""

    path: str
    text: str

    @property
    def room(self) -> str:
        """The folder at the root."""
        return self.path.split("/")[0]

    def tree(self) -> ast.Module:
        """The syntax tree."""
        return _parse(self.path, self.text)

    def nodes(self, *kinds: type[Node]) -> Iterator[Node]:
        """Every node of these kinds in the tree, kind by kind."""
        found = _by_kind(self.path, self.text)
        for kind in kinds:
            yield from cast("list[Node]", found.get(kind, []))

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function, methods and inner ones too."""
        yield from self.nodes(ast.FunctionDef)
        yield from self.nodes(ast.AsyncFunctionDef)


# Every rule asks for these, file by file: the walk through a tree is what costs.
@lru_cache(maxsize=4)
def _parse(path: str, text: str) -> ast.Module:
    return ast.parse(text, path)


@lru_cache(maxsize=4)
def _by_kind(path: str, text: str) -> dict[type[ast.AST], list[ast.AST]]:
    found: dict[type[ast.AST], list[ast.AST]] = {}
    for node in ast.walk(_parse(path, text)):
        found.setdefault(type(node), []).append(node)
    return found


# --- Determinism (rooms other than eventloop) ------------------------------------------------------------------


def no_banned_imports(source: Source) -> Iterator[Offence]:
    """No clock, no randomness, no threads but the event loop's."""
    allowed = {top for place, tops in AROUND_A_RUN.items() if source.path.startswith(place) for top in tops}
    for line, module, name in _imports(source):
        top = (module or name).split()[0].split(".")[0]
        if top in BANNED_MODULES and top not in allowed:
            yield Offence(source.path, line, f"imports {module or name}", BANNED_MODULES[top])


def no_wall_clock(source: Source) -> Iterator[Offence]:
    """No `datetime.now()` and the like, however it was imported."""
    for node in source.nodes(ast.Call):
        called = ".".join(_dotted(node.func)[-2:])
        if called in BANNED_CALLS and source.room not in CLOCK_ALLOWED:
            yield Offence(source.path, node.lineno, f"calls {called}()", BANNED_CALLS[called])


def no_trio_primitives(source: Source) -> Iterator[Offence]:
    """Of trio, nurseries and cancel scopes only, and under trio's own name."""
    used = [(line, name) for line, module, name in _imports(source) if module.split(".")[0] == "trio"]
    used += [
        (line, name) for line, module, name in _imports(source) if not module and name.startswith(("trio.", "trio as "))
    ]
    for node in source.nodes(ast.Attribute):
        if isinstance(node.value, ast.Name) and node.value.id == "trio":
            used.append((node.lineno, node.attr))
    for line, name in used:
        if name not in TRIO_ALLOWED:
            yield Offence(source.path, line, f"uses trio's {name}", TRIO_REMEDY)


def _imports(source: Source) -> Iterator[tuple[int, str, str]]:
    """Line, module and name of each absolute import; for `import x as y` no module and the name "x as y"."""
    for plain in source.nodes(ast.Import):
        for alias in plain.names:
            yield plain.lineno, "", f"{alias.name} as {alias.asname}" if alias.asname else alias.name
    for node in source.nodes(ast.ImportFrom):
        if node.module and not node.level:
            for alias in node.names:
                yield node.lineno, node.module, alias.name


def no_hash(source: Source) -> Iterator[Offence]:
    """No builtin `hash`: of a string it differs from process to process."""
    for node in source.nodes(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "hash":
            yield Offence(source.path, node.lineno, "calls hash()", "use protocol.javahash or hashlib")


def no_set_order(source: Source) -> Iterator[Offence]:
    """No loop over a set where the order could show."""
    orderless = {
        id(argument)
        for call in source.nodes(ast.Call)
        if isinstance(call.func, ast.Name) and call.func.id in ORDERLESS
        for argument in call.args
    }
    for node in source.nodes(ast.For, ast.AsyncFor, ast.ListComp, ast.DictComp, ast.GeneratorExp, ast.Call):
        loops: list[ast.expr] = []
        if isinstance(node, ast.For | ast.AsyncFor):
            loops = [node.iter]
        elif isinstance(node, ast.ListComp | ast.DictComp | ast.GeneratorExp) and id(node) not in orderless:
            loops = [generator.iter for generator in node.generators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"list", "tuple"}:
            loops = node.args[:1]
        for loop in loops:
            if _is_set(loop):
                yield Offence(source.path, loop.lineno, "iterates over a set", "sort it first, or use dict.fromkeys")


def _is_set(node: ast.expr) -> bool:
    """Whether an expression is a set for certain."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor):
        return _is_set(node.left) or _is_set(node.right)
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"set", "frozenset"}
    return named or isinstance(node, ast.Set | ast.SetComp)


def _dotted(node: ast.expr) -> list[str]:
    """`a.b.c` as its names; a call or a subscript in between ends it."""
    if isinstance(node, ast.Attribute):
        return [*_dotted(node.value), node.attr]
    return [node.id] if isinstance(node, ast.Name) else []


# --- Words (everywhere) ----------------------------------------------------------------------------------------


def public_docstrings(source: Source) -> Iterator[Offence]:
    """What is public says what it is: the module, its classes and its functions. Methods may speak for themselves."""
    tree = source.tree()
    if not ast.get_docstring(tree):
        yield Offence(source.path, 1, "the module has no docstring", "say in a sentence what it is for")
    for node in tree.body:
        if isinstance(node, Definition) and not node.name.startswith("_") and not _overload(node):
            yield from _described(source, node, "say what, units and errors")


def _described(source: Source, node: Definition, remedy: str) -> Iterator[Offence]:
    """An offence when a definition has no docstring."""
    if not ast.get_docstring(node):
        yield Offence(source.path, node.lineno, f"{node.name} has no docstring", remedy)


def _overload(node: Definition) -> bool:
    """Whether a definition is a typing overload, which the implementation documents."""
    return any(_dotted(decorator)[-1:] == ["overload"] for decorator in node.decorator_list)


def described_tests(source: Source) -> Iterator[Offence]:
    """Every test says in a sentence which behaviour it holds."""
    for node in source.functions():
        if node.name.startswith("test_"):
            yield from _described(source, node, "state the behaviour")


def plain_words(source: Source) -> Iterator[Offence]:
    """Names, docstrings, comments and messages of plain rooms, pages and tools have none of the words of `IDIOM`."""
    if source.path == "tools/house_rules.py":  # this module lists the words
        return
    if source.room not in (*PLAIN_ROOMS, "tools") and not source.path.endswith(".md"):
        return
    lines = source.text.splitlines()
    allowed = IDIOM_ALLOWED.get(source.path, ())
    for pattern in (_IDIOM, _IN_A_NAME):
        for found in pattern.finditer(source.text):
            line = source.text.count("\n", 0, found.start()) + 1
            if any(text in lines[line - 1] for text in allowed):
                continue
            word = re.sub(r"[\s_-]+", " ", found[0]).lower()
            yield Offence(
                source.path, line, f"the word {word!r}", f"write plainly: {IDIOM.get(word, 'by its subject')}"
            )


Rule = Callable[[Source], Iterator[Offence]]
DETERMINISM: tuple[Rule, ...] = (no_banned_imports, no_wall_clock, no_trio_primitives)
ORDER: tuple[Rule, ...] = (no_hash, no_set_order)


def rules_for(path: str) -> tuple[Rule, ...]:
    """The rules that hold in one file."""
    room = path.split("/")[0]
    if room == "tests":
        return (described_tests,)
    if room == "tools" or path.endswith(".md"):
        return (plain_words,)
    if room == "benchmarks":
        return ()
    return (*(() if room == "eventloop" else DETERMINISM), *ORDER, public_docstrings, plain_words)


def check(source: Source) -> list[Offence]:
    """Everything that is wrong with one file, in order of lines."""
    found = [offence for rule in rules_for(source.path) for offence in rule(source)]
    return sorted(found, key=lambda offence: (offence.line, offence.what))


def sources(root: Path = ROOT) -> list[Source]:
    """Read the project's Python files, and the pages of `PAGES`."""
    folders = sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    files = [
        file for folder in folders if folder.name not in {"build", "dist"} for file in sorted(folder.rglob("*.py"))
    ]
    files += sorted(file for pattern in PAGES for file in root.glob(pattern))
    return [Source(file.relative_to(root).as_posix(), file.read_text("utf-8")) for file in files]


def main() -> int:
    """Check the checkout; print what is wrong."""
    found = [offence for source in sources() for offence in check(source)]
    for offence in found:
        print(offence)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Count the structure of the product's code: lines, modules, imports between packages, circles, names used twice.

python tools/structure.py                 the tables, for this checkout
python tools/structure.py --root ../other   for another checkout
python tools/structure.py --json          the same as one JSON object, with every circle and every name

A room is a folder at the root that is a package, but for benchmarks, tests and tools. A box is a room (its own modules)
or a package directly inside one, with everything below it. An edge goes from a box to another that it imports from.

Imports are read from the syntax tree, those inside functions too: they run, even if later. An import under
`if TYPE_CHECKING:` is one by types alone. A circle is a largest set of boxes, or of modules, each of which reaches
every other one. That a package's `__init__` runs before its modules makes no edge.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
NOT_ROOMS = frozenset({"benchmarks", "build", "dist", "docs", "tests", "tools"})
PRODUCT = "groupsim"  # the package whose sub-packages the other rooms are
SCHEMA = 1

Graph = dict[str, set[str]]


class Module(NamedTuple):
    """One file: its folder path as `members/producer/sender`, its room, its text's syntax tree and its lines."""

    path: str
    room: str
    tree: ast.Module
    lines: int

    @property
    def folder(self) -> str:
        """The folder it lies in."""
        return self.path.rpartition("/")[0]

    @property
    def box(self) -> str:
        """The room, or the package directly inside a room, that it belongs to."""
        return "/".join(self.folder.split("/")[:2])


class Import(NamedTuple):
    """One module imports from another; `types_only` under `if TYPE_CHECKING:`."""

    importer: str
    imported: str
    types_only: bool


def rooms(root: Path) -> list[str]:
    """The folders of product code, sorted."""
    return sorted(
        entry.name for entry in root.iterdir() if entry.name not in NOT_ROOMS and (entry / "__init__.py").exists()
    )


def modules(root: Path) -> dict[str, Module]:
    """Every module of the product, by its path without `.py`; a package's `__init__` has that in its path."""
    found = {}
    for room in rooms(root):
        for file in sorted((root / room).rglob("*.py")):
            path = file.relative_to(root).with_suffix("").as_posix()
            text = file.read_text("utf-8")
            found[path] = Module(path, room, ast.parse(text, path), text.count("\n"))
    return found


def imports(known: Mapping[str, Module]) -> set[Import]:
    """Every import of one module of the product by another."""
    room_names = {module.room for module in known.values()}
    found = set()
    for module in known.values():
        for statement, types_only in _statements(module.tree):
            for name in _named(statement, module.path):
                path = _path_of(name, known, room_names)
                if path is not None and path != module.path:
                    found.add(Import(module.path, path, types_only))
    running = {(one.importer, one.imported) for one in found if not one.types_only}
    return {one for one in found if not one.types_only or (one.importer, one.imported) not in running}


def _statements(node: ast.AST, types_only: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Every import statement, and whether it stands under `if TYPE_CHECKING:`."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node, types_only
    elif isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
        for statement in node.body:
            yield from _statements(statement, True)
        for statement in node.orelse:
            yield from _statements(statement, types_only)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _statements(child, types_only)


def _named(statement: ast.Import | ast.ImportFrom, importer: str) -> Iterator[str]:
    """The dotted names that a statement imports, absolute."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
        return
    base = statement.module or ""
    if statement.level:  # 1: the package itself
        package = importer.split("/")[:-1]
        if package[0] != PRODUCT:
            package.insert(0, PRODUCT)
        base = ".".join((*package[: len(package) - statement.level + 1], *filter(None, [base])))
    yield from (f"{base}.{alias.name}" for alias in statement.names)


def _path_of(name: str, known: Mapping[str, Module], room_names: set[str]) -> str | None:
    """The module that a dotted name stands in: the longest beginning of it that is a module; None outside."""
    parts = name.split(".")
    if parts[0] != PRODUCT:
        return None
    if len(parts) > 1 and parts[1] in room_names:
        parts = parts[1:]
    while parts:
        path = "/".join(parts)
        for candidate in (path, f"{path}/__init__"):
            if candidate in known:
                return candidate
        parts.pop()
    return None


def graph(edges: set[tuple[str, str]]) -> Graph:
    """A graph from its edges."""
    made: Graph = {}
    for start, end in edges:
        made.setdefault(start, set()).add(end)
        made.setdefault(end, set())
    return made


def circles(made: Graph) -> list[list[str]]:
    """The strongly connected components of more than one node, largest first (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    open_: set[str] = set()
    found = []
    for start in sorted(made):
        if start in index:
            continue
        work = [(start, iter(sorted(made[start])))]
        while work:
            node, successors = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
                open_.add(node)
            for successor in successors:
                if successor not in index:
                    work.append((successor, iter(sorted(made[successor]))))
                    break
                if successor in open_:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == index[node]:
                    component: list[str] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        open_.discard(component[-1])
                    if len(component) > 1:
                        found.append(sorted(component))
    return sorted(found, key=lambda component: (-len(component), component))


def twice_named(known: Mapping[str, Module]) -> dict[str, dict[str, list[str]]]:
    """By room, each class name that more than one module of it defines, with those modules."""
    places: dict[str, dict[str, list[str]]] = {}
    for module in known.values():
        names = sorted({node.name for node in module.tree.body if isinstance(node, ast.ClassDef)})
        for name in names:
            places.setdefault(module.room, {}).setdefault(name, []).append(module.path)
    more = {
        room: {name: paths for name, paths in sorted(named.items()) if len(paths) > 1}
        for room, named in sorted(places.items())
    }
    return {room: named for room, named in more.items() if named}


def measure(root: Path) -> dict[str, Any]:
    """Everything that is counted, as JSON has it."""
    known = modules(root)
    found = imports(known)
    folders = Counter(module.folder for module in known.values() if not module.path.endswith("/__init__"))
    lines: Counter[str] = Counter()
    for module in known.values():
        lines[module.room] += module.lines
    boxed = {(known[one.importer].box, known[one.imported].box): False for one in found}
    boxed |= {(known[one.importer].box, known[one.imported].box): True for one in found if not one.types_only}
    between = {edge: runs for edge, runs in boxed.items() if edge[0] != edge[1]}
    return {
        "schema": SCHEMA,
        "lines": {"all": sum(lines.values()), "by_room": dict(sorted(lines.items()))},
        "modules": {"all": len(known), "by_folder": dict(sorted(folders.items()))},
        "boxes": sorted({module.box for module in known.values()}),
        "edges": {
            "run_time": sorted(map(list, (edge for edge, runs in between.items() if runs))),
            "types_only": sorted(map(list, (edge for edge, runs in between.items() if not runs))),
        },
        "circles_of_boxes": {
            "run_time": circles(graph({edge for edge, runs in between.items() if runs})),
            "with_types": circles(graph(set(between))),
        },
        "circles_of_modules": {
            "run_time": circles(graph({(one.importer, one.imported) for one in found if not one.types_only})),
            "with_types": circles(graph({(one.importer, one.imported) for one in found})),
        },
        "class_names_used_twice": twice_named(known),
    }


def tables(measured: Mapping[str, Any], most: int = 20) -> str:
    """The tables for a terminal; folders of more than `most` modules are marked."""
    edges = measured["edges"]
    twice: dict[str, dict[str, list[str]]] = measured["class_names_used_twice"]
    out = [
        f"boxes (rooms and packages directly in them)   {len(measured['boxes'])}",
        f"edges at run time / by types alone            {len(edges['run_time'])} / {len(edges['types_only'])}",
    ]
    for nodes in ("boxes", "modules"):
        for key, when in (("run_time", "at run time"), ("with_types", "types included")):
            found: list[list[str]] = measured[f"circles_of_{nodes}"][key]
            label = f"circles of {nodes}, {when}"
            sizes = f"  ({', '.join(str(len(one)) for one in found)})" if found else ""
            out.append(f"{label:<45} {len(found)}{sizes}")
    total = sum(map(len, twice.values()))
    by_room = ", ".join(f"{room} {len(names)}" for room, names in twice.items())
    out.append(f"class names used twice within a room          {total}{f'  ({by_room})' if by_room else ''}")
    out += ["", f"{'room':<28}{'lines':>8}"]
    out += [f"{room:<28}{count:>8,}" for room, count in measured["lines"]["by_room"].items()]
    out += [f"{'all':<28}{measured['lines']['all']:>8,}", "", f"{'folder':<28}{'modules':>8}"]
    for folder, count in measured["modules"]["by_folder"].items():
        out.append(f"{folder:<28}{count:>8}{f'  above {most}' if count > most else ''}")
    return "\n".join(out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout; this one without it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if not options.root.is_dir() or not rooms(options.root):
        parser.error(f"{options.root} has no folder that is a package: give the root of a checkout")
    measured = measure(options.root)
    print(json.dumps(measured, indent=1) if options.json else tables(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The distributions that an installed one needs to run, and the files of theirs that Python has to find."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from groupsim.pipeline.sweep.errors import SweepError

_TESTS = re.compile(r"(^|/)_?tests?/")
_COMPILED = (".so", ".pyd", ".dylib")


def closure(root: str, without: Iterable[str] = ()) -> dict[str, Distribution]:
    """The distribution and all it needs on this Python, by name; extras that a requirement names included.

    Raises SweepError when one is not installed.
    """
    left_out = {canonicalize_name(name) for name in without}
    found: dict[str, Distribution] = {}
    open_: list[tuple[str, frozenset[str]]] = [(root, frozenset())]
    seen: set[tuple[str, frozenset[str]]] = set()
    while open_:
        name, extras = open_.pop()
        name = canonicalize_name(name)
        if name in left_out or (name, extras) in seen:
            continue
        seen.add((name, extras))
        found[name] = _installed(name)
        open_ += _needs(found[name], extras)
    return dict(sorted(found.items()))


def _installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError:
        raise SweepError(f"the package {name} is not installed", f"pip install {name}") from None


def _needs(needer: Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Return the requirements of a distribution here, with the requested extras."""
    for text in needer.requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *sorted(extras))):
            yield requirement.name, frozenset(requirement.extras)


def files_of(source: Distribution, sources: bool = True) -> dict[str, bytes]:
    """The Python files of a distribution, without its tests, and its metadata; by path in the zip.

    Raises SweepError for a distribution with compiled code, which would run on machines like this one only.
    """
    found = _metadata(source)
    for entry in (source.files or ()) if sources else ():
        path = PurePosixPath(entry.as_posix())
        if path.suffix in _COMPILED:
            raise SweepError(
                f"{source.name} holds compiled code ({path.name}) and cannot travel to the workers",
                "name an assignor that needs pure Python only",
                bad_input=True,
            )
        if _is_source(path):
            found[path.as_posix()] = Path(str(entry.locate())).read_bytes()
    return found


def _metadata(source: Distribution) -> dict[str, bytes]:
    """Name, version and entry points, in a form of their own: how a distribution was installed here does not matter."""
    folder = f"{re.sub(r'[-_.]+', '_', source.name)}-{source.version}.dist-info"
    found = {f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {source.name}\nVersion: {source.version}\n".encode()}
    if text := source.read_text("entry_points.txt"):
        found[f"{folder}/entry_points.txt"] = text.encode()
    return found


def _is_source(path: PurePosixPath) -> bool:
    return path.suffix == ".py" and ".." not in path.parts and not _TESTS.search(path.as_posix())

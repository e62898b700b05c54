"""The zip for executors: our rooms, their imports, and the user's own assignors.

An executor needs Python and pyarrow; all else it finds in the zip, in the versions the driver has. The zip is made of
sources alone, stored uncompressed with fixed dates in a fixed order: the same sources give the same bytes anywhere.
The hash of what a run depends on is the column `code`: the rooms of the simulator, the making of rows, the packages
below them and the assignors; not the page or the analysis, which may change without making finished runs stale.
"""

from __future__ import annotations

import functools
import hashlib
import io
import zipfile
from collections.abc import Iterable, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import attrs

from groupsim.pipeline.sweep.spark.closure import closure, files_of

# The root's other modules, and the libraries that only they need, stay at home. The root names its parts by `lazy`.
FRONT_DOOR = ("__init__.py", "py.typed", "testing/__init__.py", "testing/lazy.py")
ROOMS = ("protocol", "eventloop", "assignors", "members", "coordinator", "cluster", "scenarios", "pipeline")
DRIVERS_OWN = ("rich", "typer", "ruamel.yaml")
# Below these a change cannot change a row.
WITHOUT_EFFECT = tuple(
    f"groupsim/{folder}/"
    for folder in (
        "scenarios/library",
        "scenarios/lint",
        "pipeline/analysis",
        "pipeline/experiment",
        "pipeline/library",
        "pipeline/page",
        "pipeline/sweep",
    )
)
MARK = "shipped.txt"  # in the zip, beside our metadata: the hash of the code
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest a zip knows


@attrs.frozen
class Bundle:
    """The zip as bytes, its name (with a hash of all of it), and the hash of everything that runs depend on."""

    data: bytes = attrs.field(repr=False)
    name: str
    code: str

    def write(self, folder: Path) -> Path:
        """The zip as a file in a folder."""
        path = folder / self.name
        path.write_bytes(self.data)
        return path


def bundle(own: Mapping[str, bytes] | None = None, distributions: Iterable[str] = ()) -> Bundle:
    """Make the zip. `own`: the user's modules, by path; `distributions`: installed ones that register an assignor."""
    named = tuple(distributions)
    files = {**_ours(), **_others(()), **_more(named)}
    about = next(path for path in files if path.startswith("groupsim-") and path.endswith("/METADATA"))
    files[about.replace("METADATA", MARK)] = _base().encode()
    clash = sorted(files.keys() & (own or {}).keys())
    if clash:
        raise ValueError(f"{clash[0]} is a module that groupsim needs itself; rename the assignor's module")
    files.update(own or {})
    data = _zipped(files)
    name = f"groupsim-{hashlib.sha256(data).hexdigest()[:16]}.zip"
    return Bundle(data, name, code(own, named))


def code(own: Mapping[str, bytes] | None = None, distributions: Iterable[str] = ()) -> str:
    """Return the hash of everything that runs depend on, in hex: as `bundle` has it, without the zip."""
    base = _base()
    beside = _with_effect({**_more(tuple(distributions)), **(own or {})})
    return _code({**beside, MARK: base.encode()}) if beside else base


def _more(distributions: tuple[str, ...]) -> Mapping[str, bytes]:
    """What distributions bring that we do not need ourselves."""
    if not distributions:
        return {}
    needed = _others(())
    return {path: data for path, data in _others(distributions).items() if path not in needed}


def _base() -> str:
    """Return the hash of everything that every run depends on.

    A shipped copy contains it: its packages do not list their files any more. A worker of
    Spark on this machine may find the checkout first and the packages in the copy behind it, so all copies are
    searched.
    """
    copies = (copy.read_text(MARK) for copy in metadata.distributions(name="groupsim"))
    shipped = next((text for text in copies if text), None)
    return shipped or _code(_with_effect({**_ours(), **_others(())}))


def _code(files: Mapping[str, bytes]) -> str:
    """The hash of files, in hex."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path}\0{len(files[path])}\0".encode())
        digest.update(files[path])
    return digest.hexdigest()


def _with_effect(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Of files those that can change a row."""
    return {path: files[path] for path in files if path.endswith(".py") and not path.startswith(WITHOUT_EFFECT)}


@functools.cache
def _ours() -> Mapping[str, bytes]:
    """Our rooms, laid out as Python expects them, wherever they lie here."""
    found = {f"groupsim/{name}": (_folder("groupsim") / name).read_bytes() for name in FRONT_DOOR}
    for room in ROOMS:
        folder = _folder(f"groupsim.{room}")
        for path in sorted(folder.rglob("*.py")):
            found[f"groupsim/{room}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    return found


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise LookupError(f"the package {package} is not installed")
    return Path(spec.submodule_search_locations[0])


@functools.cache
def _others(distributions: tuple[str, ...]) -> Mapping[str, bytes]:
    """Return the imports of our rooms, and the sources of their versions; also of distributions with assignors."""
    needed = closure("groupsim", without=DRIVERS_OWN)
    for name in distributions:
        needed.update(closure(name, without=DRIVERS_OWN))
    found: dict[str, bytes] = {}
    for name, distribution in needed.items():
        found.update(files_of(distribution, sources=name != "groupsim"))
    return found


def _zipped(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path, _DATE)
            entry.create_system = 3  # on every system
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, files[path])
    return target.getvalue()

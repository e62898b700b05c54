"""The files that `groupsim run` writes beside what it prints: named by options, checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from groupsim.cli.commands.report import check_page
from groupsim.cli.exits import Trouble
from groupsim.cli.sources import check_directory, check_parent, check_target
from groupsim.protocol.values import frozen

PICTURE = ".svg"


@frozen
class Files:
    """What to write; None for what is not asked for."""

    trace: Path | None = None
    logs: Path | None = None
    page: Path | None = None
    data_dir: Path | None = None
    picture: Path | None = None

    @property
    def named(self) -> Mapping[str, Path | None]:
        """Each by its option."""
        places = (self.trace, self.logs, self.page, self.data_dir, self.picture)
        return dict(zip(("--trace", "--logs", "--report", "--data-dir", "--svg"), places, strict=True))

    @property
    def written(self) -> list[tuple[str, Path]]:
        """What is written and where, in the order in which the command says it."""
        places = (self.trace, self.logs, self.page, self.picture, self.data_dir)
        named = zip(("trace", "logs", "page", "picture", "data"), places, strict=True)
        return [(what, where) for what, where in named if where is not None]

    def check(self) -> None:
        """Refuse what could not be written after the run; `check_data_dir` judges the data directory."""
        check_target(self.trace)
        check_directory(self.logs)
        if self.page is not None:
            check_page(self.page)
        if self.picture is not None:
            _check_picture(self.picture)


def _check_picture(path: Path) -> None:
    if path.is_dir():
        raise Trouble(f"{path} is a directory", f"write {path / 'run.svg'}")
    if path.suffix != PICTURE:
        raise Trouble(f"{path}: a picture ends in {PICTURE}", f"write {path.with_suffix(PICTURE)}")
    check_parent(path)

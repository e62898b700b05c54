"""Recompute the published answers, and say which ones changed.

python tools/refresh_answers.py                    run every sweep of docs/experiments.md, write its answer there
python tools/refresh_answers.py session-timeout    run this sweep alone
python tools/refresh_answers.py --pages            write docs/failover.md and docs/ancestors.md (a minute)

Sweeps are run as docs/experiments.md says, into .build/answers/NAME, and go on there after an interruption. The quoted
answer is written into the page; of the tables, whose columns are chosen for the reader, all figures are written to
.build/answers/NAME.txt. The sweep of docs/reading-a-run.md is that of tools/refresh_readme.py --sweep,
docs/cross-checks.md is written by tools/cross_checks.py.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from groupsim.pipeline.analysis.answer import Answer, from_document

ROOT = Path(__file__).resolve().parent.parent
PAGE, OUT = ROOT / "docs" / "experiments.md", ROOT / ".build" / "answers"
COMMAND = re.compile(r"^    groupsim sweep (?P<name>[a-z-]+) --out results/(?P<more>[^#\n]*)", re.MULTILINE)
QUOTE = re.compile(r"(?:^>.*\n)+", re.MULTILINE)
PAGES = ("failover_table", "ages_table")
COLUMNS = ("unserved_us", "moved", "rebalances", "lag_area", "duplicates", "false_evictions", "poll_evictions")
MORE = ("detection_us", "formed_us", "skew", "idle_members")


def answered(name: str, more: str) -> Answer:
    """Run a sweep as the page says and read its answer; results of other code are thrown away."""
    folder = OUT / name
    command = [sys.executable, "-m", "groupsim", "sweep", name, "--out", str(folder), *shlex.split(more)]
    done = subprocess.run([*command, "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode and "was begun with other code" in done.stderr + done.stdout:
        shutil.rmtree(folder)
        done = subprocess.run([*command, "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)}:\n{done.stderr}{done.stdout}")
    document: dict[str, Any] = json.loads((folder / "results" / "answer.json").read_text(encoding="utf-8"))
    return from_document(document)


def quoted(answer: Answer, whole: bool) -> str:
    """The answer as the page quotes it; `whole`: with the sentence of each circumstance."""
    parts = [answer.sentence]
    if whole:
        parts += [
            f"{', '.join(f'{axis}={label}' for axis, label in one.labels.items())}: {one.sentence}"
            for one in answer.circumstances
        ]
    wrapped = ("\n".join(textwrap.wrap(part, 120, initial_indent="> ", subsequent_indent="> ")) for part in parts)
    return "\n>\n".join(wrapped) + "\n"


def figures(answer: Answer) -> Iterator[str]:
    """Every cell with what the page's tables show."""
    names = list(dict.fromkeys([*(goal.metric for goal in answer.goals), *COLUMNS, *MORE]))
    for cell in answer.cells:
        values = (f"{one} {cell.statistics[one].value!r}" for one in names)
        yield f"{', '.join(cell.labels.values())}: {'; '.join(values)}"


def refresh(found: re.Match[str], text: str) -> str:
    """The page with the answer of one section as it is now."""
    name, begun = found["name"], time.monotonic()
    answer = answered(name, found["more"])
    (OUT / f"{name}.txt").write_text("\n".join(figures(answer)) + "\n", encoding="utf-8")
    end = text.find("\n## ", found.end())
    section = text[found.end() : end if end > 0 else None]
    quote = QUOTE.search(section)
    if quote is None:
        print(f"{name}: no answer is quoted ({time.monotonic() - begun:.0f} s)", flush=True)
        return text
    new = quoted(answer, whole=">\n" in quote[0])
    same = " ".join(new.split()) == " ".join(quote[0].split())
    print(f"{name}: {'the same' if same else 'CHANGED'} ({time.monotonic() - begun:.0f} s)", flush=True)
    return text if same else text[: found.end()] + section.replace(quote[0], new, 1) + (text[end:] if end > 0 else "")


def main(arguments: Sequence[str]) -> int:
    """Recompute what was asked for; always 0, changes are printed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", help="an experiment of docs/experiments.md")
    parser.add_argument("--pages", action="store_true", help="only docs/failover.md and docs/ancestors.md")
    options = parser.parse_args(arguments)
    for tool in PAGES if options.pages else ():
        subprocess.run([sys.executable, str(ROOT / "tools" / f"{tool}.py")], check=True)
    if options.pages:
        return 0
    OUT.mkdir(parents=True, exist_ok=True)
    known = [one["name"] for one in COMMAND.finditer(PAGE.read_text(encoding="utf-8"))]
    for name in options.name or known:
        if name not in known:
            parser.error(f"docs/experiments.md has no sweep of {name!r}; it has {', '.join(known)}")
        text = PAGE.read_text(encoding="utf-8")
        found = next(one for one in COMMAND.finditer(text) if one["name"] == name)
        PAGE.write_text(refresh(found, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

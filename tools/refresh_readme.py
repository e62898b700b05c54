"""Put the real output of `groupsim run demo` into README.md.

python tools/refresh_readme.py            write it
python tools/refresh_readme.py --check    exit 1 when the README shows something else
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from typer.testing import CliRunner

from groupsim.cli import app

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- demo: .*? -->\n```text\n)(.*?)(```\n)", re.DOTALL)


def output() -> str:
    """What the demo prints on a terminal of 100 columns."""
    result = CliRunner(env={"COLUMNS": "100", "NO_COLOR": "1"}).invoke(app, ["run", "demo"])
    if result.exit_code:
        raise SystemExit(f"the demo ends with exit code {result.exit_code}:\n{result.output}")
    return "$ groupsim run demo\n" + "".join(line.rstrip() + "\n" for line in result.stdout.splitlines())


def refreshed(text: str) -> str:
    """The README with the demo's output in its place."""
    shown = output()
    return BLOCK.sub(lambda found: found[1] + shown + found[3], text)


def main() -> int:
    """Write it, or check it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 when they differ")
    text = README.read_text(encoding="utf-8")
    new = refreshed(text)
    if parser.parse_args().check:
        return 0 if new == text else 1
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

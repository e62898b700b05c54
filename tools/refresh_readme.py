"""Put the real output of `groupsim run` into README.md and docs/reading-a-run.md.

The README has the demo's headline; the page has all of the demo, and what matters of a cluster's scene and of a sweep.

python tools/refresh_readme.py            write both
python tools/refresh_readme.py --sweep    write the sweep's answer, too: 360 runs, a minute or two
python tools/refresh_readme.py --check    exit 1 when one shows something else; the sweep is not run for it
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from kept_page import keep
from typer.testing import CliRunner

from groupsim.cli.app import app

README = Path(__file__).resolve().parent.parent / "README.md"
PAGE = README.parent / "docs" / "reading-a-run.md"
BLOCK = re.compile(r"(<!-- (headline|demo|cluster): .*? -->\n```text\n)(.*?)(```\n)", re.DOTALL)
SWEPT = re.compile(r"(<!-- sweep: .*? -->\n```text\n)(.*?)(```\n)", re.DOTALL)
CLUSTER, SWEEP = "acks-1-leader-dies", "rolling-deploy-small"
TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1"}


def output(name: str) -> list[str]:
    """What a run prints on a terminal of 100 columns, after the command that was typed."""
    result = CliRunner(env=TERMINAL).invoke(app, ["run", name])
    if result.exit_code:
        raise SystemExit(f"{name} ends with exit code {result.exit_code}:\n{result.output}")
    return [f"$ groupsim run {name}", *(line.rstrip() for line in result.stdout.splitlines())]


def headline() -> list[str]:
    """The first sentence that the demo prints, on its lines."""
    lines = output("demo")
    return lines[1 : next(n for n, line in enumerate(lines) if " · seed " in line)]


def demo() -> list[str]:
    """All that the demo prints."""
    return output("demo")


def cluster() -> list[str]:
    """The headline of the cluster's scene, what became of the records, and what the brokers did."""
    lines = output(CLUSTER)
    headline = lines[: next(n for n, line in enumerate(lines) if line.startswith(CLUSTER))]
    records = next(n for n, line in enumerate(lines) if line.startswith("  records:"))
    return [*headline, "...", *lines[records : lines.index("  expectations: all hold") - 1]]


def sweep() -> list[str]:
    """The answer of a sweep, after the command that was typed."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "groupsim", "sweep", SWEEP, "--out", str(Path(folder, "results"))]
        printed = subprocess.run(
            command, env=os.environ | TERMINAL, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    return [f"$ groupsim sweep {SWEEP} --out results/", *(line.rstrip() for line in printed.rstrip().splitlines())]


def with_sweep(text: str) -> str:
    """The page with a sweep's answer as it is now."""
    lines = "".join(f"{line}\n" for line in sweep())
    return SWEPT.sub(lambda found: found[1] + lines + found[3], text)


def refreshed(text: str) -> str:
    """README or page with the real output in its places."""
    shown = {"headline": headline, "demo": demo, "cluster": cluster}
    return BLOCK.sub(lambda found: found[1] + "".join(f"{line}\n" for line in shown[found[2]]()) + found[4], text)


def main() -> int:
    """Write it, or check it."""
    if "--sweep" in sys.argv[1:]:
        sys.argv.remove("--sweep")
        PAGE.write_text(with_sweep(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return max(keep(README, refreshed, __doc__), keep(PAGE, refreshed, __doc__))


if __name__ == "__main__":
    sys.exit(main())

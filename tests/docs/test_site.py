"""The documentation site: it builds without a warning, asks no other host for anything, and fits each screen."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cli_reference
import compare_protocols
import draw_pictures
import export_rebalance
import pytest
import site_hooks

from tests.helpers import needs

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
NEXT = re.compile(r"^Next: .*\]\(", re.MULTILINE)


def test_the_page_of_commands_is_made_of_their_help() -> None:
    """docs/cli.md is what `python tools/cli_reference.py` writes."""
    assert (DOCS / "cli.md").read_text(encoding="utf-8") == cli_reference.page()


def test_the_pictures_show_what_the_runs_give_today() -> None:
    """docs/pictures/ holds what `python tools/draw_pictures.py` writes, and nothing else."""
    drawn = draw_pictures.pictures()
    assert {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "pictures").iterdir()} == drawn


def test_the_animation_plays_the_runs_of_today() -> None:
    """The data of the page, and its table of both protocols, are what `python tools/export_rebalance.py` writes."""
    found = export_rebalance.runs()
    assert export_rebalance.DATA.read_text(encoding="utf-8") == export_rebalance.script(found)
    assert export_rebalance.table(found) in export_rebalance.PAGE.read_text(encoding="utf-8")


def test_the_protocols_are_compared_by_the_runs_of_today() -> None:
    """The tables of docs/protocols.md are what `python tools/compare_protocols.py` writes."""
    text = compare_protocols.PAGE.read_text(encoding="utf-8")
    assert compare_protocols.page(text) == text


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_a_page_names_a_next_step(page: Path) -> None:
    """The last lines of each page lead to another one."""
    assert leads_on(page.read_text(encoding="utf-8"))


def leads_on(text: str) -> bool:
    """Whether a page ends in a next step with a link."""
    return NEXT.search(text.rstrip()[-400:]) is not None


def test_a_page_that_leads_nowhere_is_found() -> None:
    """A page without a next step, with one that has no link, and with one in its middle are refused."""
    assert leads_on("# Page\n\nText.\n\nNext: [another](another.md).\n")
    for text in ("Text.\n", "Next: another page.\n", f"Next: [another](another.md).\n\n{'Text. ' * 100}\n"):
        assert not leads_on(text)


@pytest.mark.parametrize(
    ("name", "link", "expected"),
    [
        ("guides/sre.md", "../tables.md#columns", "../tables.md#columns"),
        ("alternatives.md", "../CONTRIBUTING.md", "contributing.md"),
        ("guides/sre.md", "../../CONTRIBUTING.md", "../contributing.md"),
        ("contributing.md", "docs/architecture.md", "architecture.md"),
        ("contributing.md", "CHANGELOG.md", "changelog.md"),
        ("contributing.md", ".ci/run", "https://host/groupsim/blob/main/.ci/run"),
        ("index.md", "https://kafka.apache.org/", "https://kafka.apache.org/"),
        ("index.md", "#an-anchor", "#an-anchor"),
    ],
)
def test_a_link_leads_to_a_page_of_the_site_or_to_the_repository(name: str, link: str, expected: str) -> None:
    """A link as a code host follows it becomes one of the site; what is not on the site is in the repository."""
    known = {"tables.md", "architecture.md", "contributing.md", "changelog.md", "guides/sre.md"}
    assert site_hooks.relinked(f"[text]({link})", name, "https://host/groupsim", known) == f"[text]({expected})"


def test_a_test_is_shown_by_its_words() -> None:
    """A test that a page names leads to its file, with its path as the title of the link."""
    shown = '[no heartbeat](https://host/groupsim/blob/main/tests/a/test_b.py "tests/a/test_b.py::test_no_heartbeat")'
    assert site_hooks.tested("`tests/a/test_b.py::test_no_heartbeat`", "https://host/groupsim") == shown


def test_inner_lists_are_indented_for_the_site_and_listings_are_not() -> None:
    """Two spaces nest a list on a code host, four do on the site; YAML in a listing keeps its own."""
    assert site_hooks.nested("- a\n  - b\n```yaml\nx:\n  - y\n```\n") == "- a\n    - b\n```yaml\nx:\n  - y\n```\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a broken link, a broken anchor or a page without a place is an error."""
    target = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(target)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return target


def test_a_broken_anchor_is_an_error(tmp_path: Path) -> None:
    """With the settings of the site a link to a heading that is not there ends the build."""
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("mkdocs.yml", "CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy2(ROOT / name, tmp_path / name)
    settings = (tmp_path / "mkdocs.yml").read_text(encoding="utf-8")
    (tmp_path / "mkdocs.yml").write_text(settings[: settings.index("\nnav:")], encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Start\n\n[away](#nowhere), [gone](gone.md)\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"], cwd=tmp_path, text=True, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert "#nowhere" in done.stderr


def test_the_site_has_every_page_and_the_schemas(site: Path) -> None:
    """Each page of docs/ is there, so are contributing, changelog and the schemas for editors."""
    built = {str(path.relative_to(site).with_suffix(".md")) for path in site.rglob("*.html")}
    wanted = {str(path.relative_to(DOCS)) for path in PAGES} | {"contributing.md", "changelog.md"}
    assert sorted(wanted - built) == []
    for name, schema in site_hooks.schemas().items():
        assert json.loads((site / name).read_text(encoding="utf-8")) == schema


def test_the_site_asks_no_other_host(site: Path) -> None:
    """No script, style, font or picture of a page comes from elsewhere."""
    asked = re.compile(
        r"""<(?:script|img|iframe)[^>]*\ssrc="https?:[^"]*"|<link[^>]*rel="?stylesheet"?[^>]*href="https?:"""
    )
    found = {path.name: asked.findall(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert {name: urls for name, urls in found.items() if urls} == {}


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server of files that logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """The site behind a port, as visitors meet it."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    path = needs.chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=path, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()


def looked_at(browser: Any, address: str, names: list[str], width: int, scheme: str) -> dict[str, list[str]]:
    """What is wrong with each page at this width, in these colours: complaints, requests to others, too wide."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    wrong: dict[str, list[str]] = {}
    at = ""

    def foreign(url: str) -> None:
        if not url.startswith((address, "data:", "blob:")):
            wrong.setdefault(at, []).append(url)

    page.on("console", lambda line: wrong.setdefault(at, []).append(line.text))
    page.on("pageerror", lambda error: wrong.setdefault(at, []).append(str(error)))
    page.on("request", lambda asked: foreign(asked.url))
    for at in names:
        page.goto(f"{address}/{at}")
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            wrong.setdefault(at, []).append(f"{wide} pixels wide")
    context.close()
    return wrong


SOME = ["index.html", "how-a-rebalance-works.html", "guides/sre.html", "traces.html"]


def test_some_pages_fit_a_telephone_and_a_screen(browser: Any, address: str) -> None:
    """Start, the page on rebalances, a guide, a page of tables: no sideways scrolling, no complaint, light and dark."""
    assert looked_at(browser, address, SOME, 400, "dark") == {}
    assert looked_at(browser, address, SOME, 1280, "light") == {}


def test_the_animation_obeys_keys_and_ends_with_the_run(browser: Any, address: str) -> None:
    """2 leads to the crash, an arrow to the end of the session, Home to the begin; space plays; End is its end."""
    page = browser.new_page()
    page.goto(f"{address}/how-a-rebalance-works.html")
    page.wait_for_selector("html[data-rebalance]")
    player = page.locator(".rebalance").first
    player.focus()
    page.keyboard.press("2")
    assert "c3 crashes" in player.locator(".rb-caption").inner_text()
    assert player.locator(".rb-free").count() == 2
    page.keyboard.press("ArrowRight")
    assert "The session of c3 ends, 7.0 s after the crash" in player.locator(".rb-caption").inner_text()
    assert player.locator(".rb-state").text_content() == "PreparingRebalance"
    page.keyboard.press("Home")
    assert player.locator(".rb-clock").inner_text() == "0:00.000"
    page.keyboard.press(" ")
    page.wait_for_function("document.querySelector('.rb-clock').innerText !== '0:00.000'")
    page.keyboard.press("End")
    assert "generation 3" in str(player.locator("svg").text_content())
    assert player.locator(".rb-owned").count() == 6
    page.close()


def test_eager_and_cooperative_stand_beside_each_other(browser: Any, address: str) -> None:
    """At the same instant every partition stands still with one protocol, and none with the other."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address}/how-a-rebalance-works.html")
    page.wait_for_selector("html[data-rebalance]")
    both = page.locator(".rebalance").nth(1)
    both.evaluate("(root) => root.player.scene(12511400)")
    eager, cooperative = both.locator("figure").all()
    assert (eager.locator(".rb-free").count(), cooperative.locator(".rb-free").count()) == (6, 0)
    boxes = [figure.bounding_box() for figure in (eager, cooperative)]
    assert boxes[0]["y"] == boxes[1]["y"]
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_every_page_fits(browser: Any, address: str, site: Path, width: int, scheme: str) -> None:
    """The same of each page."""
    names = sorted(str(path.relative_to(site)) for path in site.rglob("*.html") if path.name != "404.html")
    assert looked_at(browser, address, names, width, scheme) == {}

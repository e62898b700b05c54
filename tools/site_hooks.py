"""What `mkdocs build` adds to the pages of docs/: pages and schemas that lie outside, and links that lead there.

- CONTRIBUTING.md and CHANGELOG.md become pages of the site; the JSON Schemas of scenario and experiment files become
  files at its root.
- A link to a file outside docs/ leads to the repository, at the address `extra.repository` of mkdocs.yml.
- A test that a page names is shown by its words, and leads to its file.
- A link whose text is the name of a file shows the words of the name.
- A mermaid diagram, which only a code host draws, is replaced by the picture of the same states (tools/draw_states.py).
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ADOPTED = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
MERMAID = re.compile(r"^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
#: Pages as wide as the screen, for two players beside each other or seven columns.
WIDE = {"how-a-rebalance-works.md", "protocols.md", "answers.md"}
#: Pages of tables of five columns, which have the room of the contents.
TABLES = ("fidelity/", "states.md")
TESTED = re.compile(r"`(tests/[\w/]+\.py)::test_(\w+)`")
NAMED = re.compile(r"\[(?:docs/)?([\w-]+)\.md\](?=\()")
NESTED = re.compile(r"^  (?=- )", re.MULTILINE)
PICTURE = "![States of a classic group and the causes that lead from one to the next](pictures/states.svg)"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and the schemas that do not lie in docs/."""
    from mkdocs.structure.files import File

    for name, source in ADOPTED.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    for name, schema in schemas().items():
        files.append(File.generated(config, name, content=json.dumps(schema, indent=1)))
    return files


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schemas by the name of their file on the site."""
    from groupsim.pipeline.experiment.schema import experiment_schema
    from groupsim.scenarios.loading.schema import scenario_schema

    return {"scenario.schema.json": scenario_schema(), "experiment.schema.json": experiment_schema()}


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """The page with links that lead somewhere on the site, and pictures in place of diagrams."""
    if page.file.src_uri in WIDE:
        page.meta["hide"] = ["navigation", "toc"]
    elif page.file.src_uri.startswith(TABLES):
        page.meta["hide"] = ["toc"]
    repository = config["extra"]["repository"]
    worded = NAMED.sub(lambda found: f"[{found[1].replace('-', ' ')}]", markdown)
    on_site = {file.src_uri for file in files if not file.inclusion.is_excluded()}
    linked = relinked(worded, page.file.src_uri, repository, on_site)
    return nested(tested(MERMAID.sub(PICTURE, linked), repository))


def tested(markdown: str, repository: str) -> str:
    """The page with each test that it names as words that lead to its file: a path breaks where a cell is narrow."""

    def link(found: re.Match[str]) -> str:
        file, name = found[1], found[2]
        return f'[{name.replace("_", " ")}]({repository}/blob/main/{file} "{file}::test_{name}")'

    return TESTED.sub(link, markdown)


def nested(markdown: str) -> str:
    """The page with inner lists indented by four spaces, as Python-Markdown wants them; listings stay as they are."""
    parts = FENCED.split(markdown)
    return "".join(part if part.startswith("```") else NESTED.sub("    ", part) for part in parts)


def relinked(markdown: str, name: str, repository: str, known: Any) -> str:
    """The page with its links as the site needs them. `name` is the page's place in docs/, `known` the site's files."""
    place = posixpath.join("docs", name) if name not in ADOPTED else ADOPTED[name]
    moved = {source: target for target, source in ADOPTED.items()}

    def link(found: re.Match[str]) -> str:
        target, mark, anchor = found[2].partition("#")
        if not target or ":" in target:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
        inside = moved.get(path, path.removeprefix("docs/") if path.startswith("docs/") else "")
        if inside in known:
            return found[1] + posixpath.relpath(inside, posixpath.dirname(name) or ".") + mark + anchor + found[3]
        return f"{found[1]}{repository}/blob/main/{path}{mark}{anchor}{found[3]}"

    return LINK.sub(link, markdown)

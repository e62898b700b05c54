"""The Containerfile and the programs of examples/testcontainers agree with `groupsim serve` and with each other."""

from __future__ import annotations

import json
import re
import socket
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import typer

from groupsim.cli.app import app
from groupsim.control import Served

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "Containerfile").read_text("utf-8")
EXAMPLES = ROOT / "examples" / "testcontainers"
STARTS = {
    "java": EXAMPLES / "java" / "src" / "test" / "java" / "Groupsim.java",
    "go": EXAMPLES / "go" / "groupsim_test.go",
    "node": EXAMPLES / "node" / "groupsim.js",
}
PROGRAMS = [path for path in sorted(EXAMPLES.rglob("*")) if path.suffix in {".java", ".go", ".js"}]
COMMANDS: Any = typer.main.get_command(app)
SERVE: dict[str, Any] = {name: one for one in COMMANDS.commands["serve"].params for name in one.opts}
#: A string, a name, or a call or a template around one.
ARGUMENT = re.compile(r'"(?P<text>[^"]*)"|(?:String\.valueOf\(|`\$\{)?(?P<name>[A-Za-z_]+)(?:\)|\}`)?')
#: The placeholders of `arguments_of`, as a container on this machine would have them.
HOST, PORT, CONTROL = "<host>", "<port>", "<controlport>"
#: An address of this machine that a process does not listen on when it listens on 127.0.0.1.
ELSEWHERE = "127.0.0.2"


def arguments_of(program: str) -> list[str]:
    """The arguments of groupsim in a program; a variable is written as <name>."""
    (listing,) = re.findall(r'"serve".*?(?=\n\s*(?:\.|\]|testcontainers))', program, re.DOTALL)
    found = ARGUMENT.finditer(listing)
    return [one["text"] or f"<{one['name'].lower().replace('_', '')}>" for one in found]


@pytest.fixture(scope="module")
def commands() -> dict[str, list[str]]:
    """The arguments by language."""
    return {language: arguments_of(path.read_text("utf-8")) for language, path in STARTS.items()}


def test_the_containers_own_command_has_options_that_serve_has() -> None:
    """CMD of the Containerfile names `serve` and options of it, and the file that the health check looks for."""
    (listed,) = re.findall(r"^CMD (\[.*\])$", CONTAINERFILE, re.MULTILINE)
    command = json.loads(listed)
    assert command[0] == "serve"
    assert [word for word in command if word.startswith("--") and word not in SERVE] == []
    assert f"CMD test -f {command[command.index('--ready-file') + 1]}" in CONTAINERFILE


def test_the_container_exposes_the_ports_that_serve_listens_on() -> None:
    """EXPOSE names a port for each of three brokers and the control port, and the head publishes the same ones."""
    (exposed,) = re.findall(r"^EXPOSE (.*)$", CONTAINERFILE, re.MULTILINE)
    first = SERVE["--port"].default
    assert [int(port) for port in exposed.split()] == [first, first + 1, first + 2, 9080]
    assert f"-p {first}-{first + 2}:{first}-{first + 2} -p 9080:9080" in CONTAINERFILE


def test_the_examples_start_the_same_command(commands: dict[str, list[str]]) -> None:
    """Java, Go and Node give `serve` the same arguments, all of them options that it has."""
    assert commands["java"] == commands["go"] == commands["node"]
    assert [word for word in commands["java"] if word.startswith("--") and word not in SERVE] == []
    assert commands["java"][:5] == ["serve", "--listen", "0.0.0.0", "--advertised-host", HOST]


@pytest.mark.parametrize("language", STARTS)
def test_an_example_uses_the_image_and_the_variables_of_the_page(language: str) -> None:
    """The image has the tag of the Containerfile's head; the variables are those that docs/serving.md names."""
    program, page = STARTS[language].read_text("utf-8"), (ROOT / "docs" / "serving.md").read_text("utf-8")
    assert "docker build -t groupsim -f Containerfile ." in CONTAINERFILE
    assert re.search(r'GROUPSIM_IMAGE\W+"groupsim"|GROUPSIM_IMAGE: image = "groupsim"', program)
    variables = {"GROUPSIM_BOOTSTRAP", "GROUPSIM_CONTROL", "GROUPSIM_IMAGE", "GROUPSIM_TOKEN"}
    assert set(re.findall(r"GROUPSIM_[A-Z]+", program)) == variables
    assert {name for name in variables if f"`{name}`" not in page} == set()
    assert f"examples/testcontainers/{language}" in page


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_an_example_is_short(program: Path) -> None:
    """A program has at most 120 lines, none longer than 120 characters."""
    lines = program.read_text("utf-8").splitlines()
    assert len(lines) <= 120
    assert [line for line in lines if len(line) > 120] == []


def test_what_the_examples_start_is_reached_from_outside(commands: dict[str, list[str]]) -> None:
    """The broker advertises the given host with its own port, and both ports answer on any address and to any name."""
    given = [{HOST: "localhost", PORT: "0", CONTROL: "0"}.get(word, word) for word in commands["java"][1:]]
    with Served(*given, "--token", "secret") as served:
        ready = json.loads(served.ready_file.read_text("utf-8"))
        port, control = (int(ready[name].rpartition(":")[2]) for name in ("bootstrap", "control"))
        assert ready["bootstrap"] == f"localhost:{port}"
        socket.create_connection((ELSEWHERE, port)).close()
        outside = HTTPConnection(ELSEWHERE, control)
        assert status(outside) == 401
        assert status(outside, Authorization="Bearer secret", Host="docker:49153") == 200


def status(control: HTTPConnection, **headers: str) -> int:
    """How the control port answers the request that the examples wait for."""
    control.request("GET", "/cluster", headers=headers)
    with control.getresponse() as response:
        response.read()
        return response.status

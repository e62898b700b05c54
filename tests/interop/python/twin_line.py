"""What the twins in Python share: lines of JSON about their applications, and lines that tell these what to do."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, Protocol

_OUT = threading.Lock()


class Application(Protocol):
    """One consumer and its thread."""

    def tell(self, command: dict[str, Any]) -> None:
        """A command from outside."""
        ...


def say(name: str, said: str) -> None:
    """One line about an application."""
    with _OUT:
        print(json.dumps({"name": name, "said": said}), flush=True)


def obey(start: Callable[[str, dict[str, Any]], Application]) -> None:
    """Carry out what is told until there is no more; `start` makes an application."""
    running: dict[str, Application] = {}
    for line in sys.stdin:
        told = json.loads(line)
        if told["do"] == "start":
            running[told["name"]] = start(told["name"], told)
        else:
            running[told["name"]].tell(told)
    os._exit(0)

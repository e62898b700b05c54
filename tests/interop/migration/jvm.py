"""Java consumers that share one process: ten virtual machines would be busy with starting."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from tests.interop.members import Member, MemberError

HEAP = "512m"


class Jvm:
    """A process of `java/Member.java` with any number of consumers."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.stderr = folder / "jvm.stderr"
        self._members: dict[str, JvmMember] = {}
        self._numbers = count(1)
        at = command.index("-cp")
        larger = [*command[:at], f"-Xmx{HEAP}", *command[at:]]  # the last one counts
        with self.stderr.open("ab") as errors:
            self._process = subprocess.Popen(
                [*larger, json.dumps({"role": "consumers"})],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._reader = threading.Thread(target=self._read, name="reads the JVM", daemon=True)
        self._reader.start()

    def start(self, config: Mapping[str, Any]) -> JvmMember:
        """A new consumer."""
        member = JvmMember(self, str(next(self._numbers)), config)
        self._members[member.key] = member
        self.tell({"member": member.key, "do": "start", "config": dict(config)})
        return member

    def tell(self, command: Mapping[str, Any]) -> None:
        """Write a command. Raises MemberError when the process has ended."""
        assert self._process.stdin is not None
        try:
            print(json.dumps(command), file=self._process.stdin, flush=True)
        except OSError as error:
            raise MemberError(f"the JVM ended: {error}, {self.stderr.read_text('utf-8', 'replace')[-1500:]}") from None

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            if "member" in event:
                self._members[event.pop("member")].hear(event)
        for member in list(self._members.values()):
            member.end()

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()
        self._reader.join(10)


class JvmMember(Member):
    """One consumer of the process, `key` to it. It closes as others do; the process goes on."""

    def __init__(self, jvm: Jvm, key: str, config: Mapping[str, Any]) -> None:
        self.prepare(config, jvm.stderr)
        self.key = key
        self._jvm = jvm

    def tell(self, do: str, **more: Any) -> None:
        """Give a command without waiting for its answer."""
        self._jvm.tell({"member": self.key, "do": do, **more})

    def kill(self) -> None:
        """Nothing: it goes with its process."""

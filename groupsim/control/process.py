"""A served cluster in its own process, for tests and scripts."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType

from groupsim.control.client import Control

_LOOK_EVERY_S = 0.01


class ServeFailed(Exception):
    """The process ended, or was not ready in time; the message has its output."""


class Served:
    """`groupsim serve` in the background: `bootstrap` for clients, `control` for faults.

    Arguments are those of the command without ports, which are any free ones. Use it in a `with` block, or `stop` it.
    """

    def __init__(self, *arguments: str, start_timeout_s: float = 60) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="groupsim-")
        folder = Path(self._folder.name)
        self.ready_file = folder / "ready.json"
        self._log = (folder / "log").open("w+", encoding="utf-8")
        self._last_log = ""
        ports = ("--port", "0", "--control-port", "0", "--ready-file", str(self.ready_file))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "groupsim", "serve", *arguments, *ports],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        try:
            self._await_ready(start_timeout_s)
            self.control = Control.connect(self.ready_file)
        except BaseException:
            self.kill()
            raise

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` for clients."""
        return self.control.bootstrap

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def log(self) -> str:
        """The output so far; after the end of the process, all of it."""
        return self._last_log if self._log.closed else Path(self._log.name).read_text("utf-8")

    def _await_ready(self, timeout_s: float) -> None:
        until = time.monotonic() + timeout_s
        while not self.ready_file.exists():
            if self._process.poll() is not None:
                raise ServeFailed(f"`groupsim serve` ended with code {self._process.returncode}:\n{self.log}")
            if time.monotonic() > until:
                raise ServeFailed(f"`groupsim serve` is not ready after {timeout_s} s:\n{self.log}")
            time.sleep(_LOOK_EVERY_S)

    def stop(self, timeout_s: float = 30) -> int:
        """Stop the cluster in a controlled way, kill it after `timeout_s` seconds; return the exit code."""
        self.control.close()
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return self.kill()
        finally:
            self._tidy()

    def kill(self) -> int:
        """Kill the process; return the exit code."""
        if self._process.poll() is None:
            self._process.kill()
        code = self._process.wait()
        self._tidy()
        return code

    def _tidy(self) -> None:
        self._last_log = self.log
        self._log.close()
        self._folder.cleanup()

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

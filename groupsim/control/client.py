"""`Control`: everything the control port can be asked, as methods."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from groupsim.control.errors import Unreachable
from groupsim.control.faults import Fault
from groupsim.control.transport import Transport

Json = dict[str, Any]


class Control:
    """A control port. Make it with `connect`; use it in a `with` block, or `close` it."""

    def __init__(self, url: str, *, token: str | None = None, bootstrap: str | None = None) -> None:
        self._transport = Transport(url, token)
        self._bootstrap = bootstrap

    @classmethod
    def connect(cls, where: str | Path, *, token: str | None = None) -> Control:
        """A control port by its address, or by the ready file of `groupsim serve`, which holds the token too.

        Raises Unreachable when nobody answers there or the file is none, ControlError when the token is wrong,
        ValueError for an address that is none.
        """
        text = str(where)
        if text.startswith(("http://", "https://")):
            control = cls(text, token=token)
        else:
            ready = _read(Path(where))
            control = cls(ready["control"], token=token or ready.get("token"), bootstrap=ready["bootstrap"])
        control._bootstrap = control.cluster()["bootstrap"]
        return control

    def __enter__(self) -> Control:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection; the cluster goes on."""
        self._transport.close()

    @property
    def url(self) -> str:
        """The port's address."""
        return self._transport.url

    # --- the cluster ---------------------------------------------------------------------------------------------

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` for clients."""
        if self._bootstrap is None:
            self._bootstrap = self.cluster()["bootstrap"]
        return self._bootstrap

    def cluster(self) -> Json:
        """Brokers, topics and clients as they are now."""
        return self._get("/cluster")

    def stop(self) -> None:
        """End the cluster in good order."""
        self._transport.json("POST", "/stop")

    # --- doing things --------------------------------------------------------------------------------------------

    def do(self, action: str, **said: Any) -> Json:
        """An action by its name in scenario files: `control.do("scale", group="g", to=3)`. Raises ControlError."""
        done: Json = self._transport.json("POST", "/actions", body={"do": action, **_keys(said)})
        return done

    def create_topic(self, topic: str, partitions: int = 1, *, rate: str | None = None) -> None:
        """Make a topic; with a `rate` such as "50/s" a producer of the cluster's own writes to it."""
        self.do("create-topic", topic=topic, partitions=partitions, rate=rate)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        self.do("delete-topic", topic=topic)

    def produce(self, topic: str, rate: str) -> None:
        """Let the cluster's own producer write at this rate from now on: "50/s"; "0/s" stops it."""
        self.do("set-rate", topic=topic, rate=rate)

    def burst(self, topic: str, records: int) -> None:
        """Let it write so many records at once."""
        self.do("burst", topic=topic, records=records)

    def move_coordinator(self, group: str, *, to: int | None = None) -> None:
        """Move a group's coordinator, to the next broker unless one is named."""
        self.do("move-coordinator", group=group, to=to)

    def force_rebalance(self, group: str, *, reason: str | None = None) -> None:
        """Open a rebalance in the coordinator."""
        self.do("force-rebalance", group=group, reason=reason)

    def forget_group(self, group: str) -> None:
        """Let the coordinator lose the group: members, generation and offsets."""
        self.do("forget-group", group=group)

    def crash_broker(self, broker: int | str, *, machine: bool | None = None, restart_after: str | None = None) -> None:
        """Kill a broker; a role such as "coordinator of g" will do. It comes back after a time such as "10s"."""
        self.do("crash-broker", broker=broker, machine=machine, restart_after=restart_after)

    def stop_broker(self, broker: int | str, *, restart_after: str | None = None) -> None:
        """Stop a broker in good order; it hands over first, so this goes on after the call. As `crash_broker`."""
        self.do("stop-broker", broker=broker, restart_after=restart_after)

    def restart_broker(self, broker: int | str) -> None:
        """Bring a broker back that crashed or was stopped."""
        self.do("restart-broker", broker=broker)

    def freeze_broker(self, broker: int | str) -> None:
        """Stop a broker as SIGSTOP does, until it is thawed."""
        self.do("freeze-broker", broker=broker)

    def thaw_broker(self, broker: int | str) -> None:
        """Let a frozen broker go on."""
        self.do("thaw-broker", broker=broker)

    # --- faults --------------------------------------------------------------------------------------------------

    def fault(self, name: str, **said: Any) -> Fault:
        """Begin a fault by its name in scenario files. Raises ControlError.

        Whom it means may be said by `client_id`, `member_id`, `group`, `api`, `nth` and `times` too.
        """
        return Fault(self._transport, self._transport.json("POST", "/faults", body={"fault": name, **_keys(said)}))

    def faults(self) -> list[Fault]:
        """Every fault that was begun."""
        return [Fault(self._transport, one) for one in self._get("/faults")["faults"]]

    def answer_error(self, api: str, error: str, **said: Any) -> Fault:
        """Answer the next request of that API with an error, or what `nth` and `times` say."""
        return self.fault("answer-error", api=api, is_=error, **said)

    def hold_response(self, api: str, **said: Any) -> Fault:
        """Hold the response to the next request of that API until the fault is ended (`release`)."""
        return self.fault("hold-response", api=api, **said)

    def lose_response(self, api: str, *, after: str | None = None, **said: Any) -> Fault:
        """Lose the response to the next request of that API: the broker has done it, the client cannot know.

        `after` says what becomes of the connection: "break", or "silence".
        """
        return self.fault("lose-response", api=api, after=after, **said)

    def delay_response(self, api: str, by: str, **said: Any) -> Fault:
        """Let the response to the next request of that API, and all behind it, come so much later: "2s"."""
        return self.fault("delay-response", api=api, by=by, **said)

    def hold_appends(self, group: str, for_: str) -> Fault:
        """Let nothing that the group's coordinator writes be replicated for so long, as slow followers do.

        Commits, and the SyncGroups of a round that ends, wait for it; after offsets.commit.timeout.ms (5 s) they hear
        COORDINATOR_NOT_AVAILABLE.
        """
        return self.fault("hold-appends", group=group, for_=for_)

    def fail_append(self, group: str, error: str | None = None, *, appends: int | None = None) -> Fault:
        """Let the next appends of the group's coordinator fail, with NOT_ENOUGH_REPLICAS or another error."""
        return self.fault("fail-append", group=group, error=error, appends=appends)

    def break_connections(self, client_id: str, **said: Any) -> Fault:
        """Break the connections of a client, by client id or a pattern of it."""
        return self.fault("break", client_id=client_id, **said)

    # --- groups --------------------------------------------------------------------------------------------------

    def groups(self) -> list[Json]:
        """Every group in short."""
        found: list[Json] = self._get("/groups")["groups"]
        return found

    def group(self, group: str) -> Json:
        """A group with members, timers and purgatory. Raises ControlError (404) when there is none."""
        return self._get(f"/groups/{quote(group, safe='')}")

    def await_group(
        self,
        group: str,
        *,
        state: str | None = None,
        members: int | None = None,
        generation: int | None = None,
        timeout: str = "30s",
    ) -> Json:
        """Wait until a group has this state, so many members, at least this generation. Raises TimedOut."""
        query = {"state": state, "members": members, "generation": generation, "timeout": timeout}
        found: Json = self._transport.json("GET", f"/groups/{quote(group, safe='')}/await", query)
        return found

    # --- the trace -----------------------------------------------------------------------------------------------

    def trace(
        self,
        *,
        follow: bool = False,
        from_: int | None = None,
        kinds: Iterable[str] = (),
        group: str | None = None,
        last: int | None = None,
    ) -> Iterator[Json]:
        """Events as they are kept; with `follow` those to come too, until the cluster ends or the iterator is closed.

        A reader that falls behind gets a line `{"lost": n, …}` in place of what it lost.
        """
        chosen = ",".join(kinds) or None
        query = {"follow": "true" if follow else None, "from": from_, "kind": chosen, "group": group, "last": last}
        return self._transport.lines("/trace", query)

    def _get(self, path: str) -> Json:
        found: Json = self._transport.json("GET", path)
        return found


def _keys(said: Json) -> Json:
    """Python's names as the file's: `for_` is `for`, `client_id` is `client-id`; None is not said."""
    return {name.rstrip("_").replace("_", "-"): value for name, value in said.items() if value is not None}


def _read(path: Path) -> Json:
    try:
        ready = json.loads(path.read_text("utf-8"))
    except OSError as error:
        words = f"{path}: {error.strerror}; is the cluster up? It writes the file when it is"
        raise Unreachable(f"{words} (an address is written http://127.0.0.1:9080)") from error
    except ValueError as error:
        raise Unreachable(f"{path} is no ready file: {error}") from error
    if not isinstance(ready, dict) or not {"control", "bootstrap"} <= ready.keys():
        raise Unreachable(f"{path} is no ready file: give the one that `groupsim serve --ready-file` wrote")
    return ready

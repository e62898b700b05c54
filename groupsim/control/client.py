"""`Control`: the requests of the control port, as methods."""

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
    """A client of a control port. Make it with `connect`; use it in a `with` block, or `close` it."""

    def __init__(self, url: str, *, token: str | None = None, bootstrap: str | None = None) -> None:
        self._transport = Transport(url, token)
        self._bootstrap = bootstrap

    @classmethod
    def connect(cls, where: str | Path, *, token: str | None = None) -> Control:
        """Connect to a control port by its address, or by the ready file of `groupsim serve`, which has the token too.

        Raises Unreachable if no server answers or the file is not a ready file, ControlError for a wrong token,
        ValueError for an invalid address.
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
        """Close the connection; the cluster continues."""
        self._transport.close()

    @property
    def url(self) -> str:
        """The address of the port."""
        return self._transport.url

    # --- the cluster ---------------------------------------------------------------------------------------------

    @property
    def bootstrap(self) -> str:
        """`bootstrap.servers` for clients."""
        if self._bootstrap is None:
            self._bootstrap = self.cluster()["bootstrap"]
        return self._bootstrap

    def cluster(self) -> Json:
        """Return the present brokers, topics and clients."""
        return self._get("/cluster")

    def stop(self) -> None:
        """Stop the cluster in a controlled way."""
        self._transport.json("POST", "/stop")

    # --- actions -------------------------------------------------------------------------------------------------

    def do(self, action: str, **keys: Any) -> Json:
        """Run an action by its name in scenario files: `control.do("scale", group="g", to=3)`. Raises ControlError."""
        done: Json = self._transport.json("POST", "/actions", body={"do": action, **_keys(keys)})
        return done

    def create_topic(self, topic: str, partitions: int = 1, *, rate: str | None = None) -> None:
        """Create a topic; with a `rate` such as "50/s" a producer of the cluster writes to it."""
        self.do("create-topic", topic=topic, partitions=partitions, rate=rate)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        self.do("delete-topic", topic=topic)

    def produce(self, topic: str, rate: str) -> None:
        """Set the rate of the cluster's producer: "50/s"; "0/s" stops it."""
        self.do("set-rate", topic=topic, rate=rate)

    def burst(self, topic: str, records: int) -> None:
        """Let the cluster's producer write a number of records at once."""
        self.do("burst", topic=topic, records=records)

    def move_coordinator(self, group: str, *, to: int | None = None) -> None:
        """Move a group's coordinator to broker `to`, by default to the next one."""
        self.do("move-coordinator", group=group, to=to)

    def force_rebalance(self, group: str, *, reason: str | None = None) -> None:
        """Start a rebalance in the coordinator."""
        self.do("force-rebalance", group=group, reason=reason)

    def forget_group(self, group: str) -> None:
        """Let the coordinator lose the group: members, generation and offsets."""
        self.do("forget-group", group=group)

    def crash_broker(self, broker: int | str, *, machine: bool | None = None, restart_after: str | None = None) -> None:
        """Kill a broker, by id or by a role such as "coordinator of g"; restart it after a time such as "10s"."""
        self.do("crash-broker", broker=broker, machine=machine, restart_after=restart_after)

    def stop_broker(self, broker: int | str, *, restart_after: str | None = None) -> None:
        """Start the controlled shutdown of a broker; it moves its leaders first, after the call. As `crash_broker`."""
        self.do("stop-broker", broker=broker, restart_after=restart_after)

    def restart_broker(self, broker: int | str) -> None:
        """Start a broker that crashed or was stopped."""
        self.do("restart-broker", broker=broker)

    def freeze_broker(self, broker: int | str) -> None:
        """Freeze a broker, as SIGSTOP does, until `thaw_broker`."""
        self.do("freeze-broker", broker=broker)

    def thaw_broker(self, broker: int | str) -> None:
        """Let a frozen broker continue."""
        self.do("thaw-broker", broker=broker)

    # --- faults --------------------------------------------------------------------------------------------------

    def fault(self, name: str, **keys: Any) -> Fault:
        """Start a fault by its name in scenario files. Raises ControlError.

        `client_id`, `member_id`, `group`, `api`, `nth` and `times` select its requests.
        """
        return Fault(self._transport, self._transport.json("POST", "/faults", body={"fault": name, **_keys(keys)}))

    def faults(self) -> list[Fault]:
        """Return every fault that was started."""
        return [Fault(self._transport, one) for one in self._get("/faults")["faults"]]

    def answer_error(self, api: str, error: str, **keys: Any) -> Fault:
        """Answer the next request of an API with an error; `nth` and `times` select other requests."""
        return self.fault("answer-error", api=api, is_=error, **keys)

    def hold_response(self, api: str, **keys: Any) -> Fault:
        """Hold the response to the next request of an API until the fault is ended (`release`)."""
        return self.fault("hold-response", api=api, **keys)

    def lose_response(self, api: str, *, after: str | None = None, **keys: Any) -> Fault:
        """Lose the response to the next request of an API, after the broker has executed the request.

        `after` is the fate of the connection: "break", or "silence".
        """
        return self.fault("lose-response", api=api, after=after, **keys)

    def delay_response(self, api: str, by: str, **keys: Any) -> Fault:
        """Delay the response to the next request of an API, and all responses behind it, by a time such as "2s"."""
        return self.fault("delay-response", api=api, by=by, **keys)

    def hold_appends(self, group: str, for_: str) -> Fault:
        """Delay the replication of the group coordinator's appends by a time, as slow followers do.

        Commits, and the SyncGroups of a completed rebalance, wait for it; after offsets.commit.timeout.ms (5 s) they
        are answered COORDINATOR_NOT_AVAILABLE.
        """
        return self.fault("hold-appends", group=group, for_=for_)

    def fail_append(self, group: str, error: str | None = None, *, appends: int | None = None) -> Fault:
        """Fail the next appends of the group's coordinator, with NOT_ENOUGH_REPLICAS or another error."""
        return self.fault("fail-append", group=group, error=error, appends=appends)

    def break_connections(self, client_id: str, **keys: Any) -> Fault:
        """Break the connections of a client, by client id or a pattern of it."""
        return self.fault("break", client_id=client_id, **keys)

    # --- groups --------------------------------------------------------------------------------------------------

    def groups(self) -> list[Json]:
        """Return a summary of every group."""
        found: list[Json] = self._get("/groups")["groups"]
        return found

    def group(self, group: str) -> Json:
        """Return a group with members, timers and purgatory. Raises ControlError (404) for an unknown group."""
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
        """Wait until a group has a state, a number of members, at least a generation. Raises TimedOut."""
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
        """Iterate over the kept events; with `follow` also over new ones, until the cluster stops.

        A reader that falls behind gets a line `{"lost": n, …}` in place of the lost events.
        """
        chosen = ",".join(kinds) or None
        query = {"follow": "true" if follow else None, "from": from_, "kind": chosen, "group": group, "last": last}
        return self._transport.lines("/trace", query)

    def _get(self, path: str) -> Json:
        found: Json = self._transport.json("GET", path)
        return found


def _keys(keys: Json) -> Json:
    """Convert Python's names to those of files: `for_` is `for`, `client_id` is `client-id`; None is left out."""
    return {name.rstrip("_").replace("_", "-"): value for name, value in keys.items() if value is not None}


def _read(path: Path) -> Json:
    try:
        ready = json.loads(path.read_text("utf-8"))
    except OSError as error:
        words = f"{path}: {error.strerror}; the cluster writes this file when it is ready"
        raise Unreachable(f"{words} (an address is written http://127.0.0.1:9080)") from error
    except ValueError as error:
        raise Unreachable(f"{path} is not a ready file: {error}") from error
    if not isinstance(ready, dict) or not {"control", "bootstrap"} <= ready.keys():
        raise Unreachable(f"{path} is not a ready file: name the file of `groupsim serve --ready-file`")
    return ready

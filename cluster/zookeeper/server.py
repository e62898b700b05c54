"""The ZooKeeper server: answers the requests of a connection in order and at once, and notifies watchers of changes.

Triggers:

    OpenSession ──> a new session, or an existing one moves to this connection (the old connection is closed)
    any request ──> the session is renewed; a write fires watches before it is answered
    CloseSession ──> the session ends, its ephemeral nodes are deleted, their watches fire
    session expires ──> the same, and its connection is closed; the client gets SESSION_EXPIRED when it reconnects

Reads and writes take only the network's processing time: there is no disk and no quorum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groupsim.cluster.network.broker_connection import BrokerConnection
from groupsim.cluster.network.endpoint import Endpoint
from groupsim.cluster.zookeeper.connection import SessionConnection
from groupsim.cluster.zookeeper.sessions import Session, Sessions
from groupsim.cluster.zookeeper.tree import Tree, ZkRefused
from groupsim.cluster.zookeeper.watches import Watches
from groupsim.eventloop.interface import EventLoop
from groupsim.protocol.messages.group import Response
from groupsim.protocol.messages.zookeeper import (
    CloseSession,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    OpenSession,
    Ping,
    SetData,
    SetWatches,
    ZkAnswer,
    ZkError,
    ZkRequest,
)

HOST = "zookeeper"
EXPIRED, CLOSED = "session-expired", "left"
OnNode = Callable[[str, str, Session], None]


class ZooKeeperServer(Endpoint):
    """One server. `on_created` and `on_removed` get the path, data or reason, and session of ephemeral nodes."""

    def __init__(self, loop: EventLoop) -> None:
        super().__init__(loop, HOST)
        self.connection_class = SessionConnection
        self.tree = Tree()
        self.watches = Watches()
        self.sessions = Sessions(loop, self.host, self._expired)
        self.on_created: list[OnNode] = []
        self.on_removed: list[OnNode] = []
        self._by_connection: dict[SessionConnection, Session] = {}

    # --- requests --------------------------------------------------------------------------------------------

    def receive(self, call: BrokerConnection) -> None:
        """Answer the current request of a connection."""
        assert isinstance(call, SessionConnection)
        request: Any = call.request
        self.emit_received(call)
        if isinstance(request, OpenSession):
            call.answer(self._open(call, request))
            return
        session = self._by_connection.get(call)
        if session is None:
            call.answer(ZkAnswer(ZkError.SESSION_EXPIRED, self.tree.zxid))
            return
        self.sessions.touch(session)
        call.answer(self._carry_out(call, session, request))

    def _open(self, call: SessionConnection, request: OpenSession) -> ZkAnswer:
        if request.session:
            session = self.sessions.get(request.session)
            if session is None:
                return ZkAnswer(ZkError.SESSION_EXPIRED, self.tree.zxid)
            self._disconnect(session, "the session goes on over another connection")
            self.sessions.touch(session)
        else:
            session = self.sessions.open(request.timeout_ms, call.host_name)
        session.connection = call
        self._by_connection[call] = session
        return ZkAnswer(zxid=self.tree.zxid, session=session.id, timeout_ms=session.timeout_ms)

    def _carry_out(self, call: SessionConnection, session: Session, request: ZkRequest) -> ZkAnswer:
        try:
            return self._answer(call, session, request)
        except ZkRefused as refused:
            return ZkAnswer(refused.error, self.tree.zxid)

    def _answer(self, call: SessionConnection, session: Session, request: ZkRequest) -> ZkAnswer:
        tree = self.tree
        if isinstance(request, Create):
            self.create(request.path, request.data, session if request.ephemeral else None)
        elif isinstance(request, Delete):
            self.delete(request.path, request.expected)
        elif isinstance(request, SetData):
            self.set_data(request.path, request.data, request.expected)
        elif isinstance(request, SetWatches):
            self.watches.restore(request, tree, call)
        elif isinstance(request, CloseSession):
            self._end(session, CLOSED)
            self._by_connection.pop(call, None)
        elif not isinstance(request, Ping):
            return self._read(call, request)
        return ZkAnswer(zxid=tree.zxid)

    def _read(self, call: SessionConnection, request: ZkRequest) -> ZkAnswer:
        """Look first, then leave the watch: a read that fails leaves none, but for that of Exists."""
        tree = self.tree
        if isinstance(request, Exists):
            node = tree.find(request.path)
            if request.watch:
                self.watches.on_data(request.path, call)
            error = ZkError.OK if node is not None else ZkError.NO_NODE
            return ZkAnswer(error, tree.zxid, stat=None if node is None else node.stat)
        if isinstance(request, GetChildren):
            answer = ZkAnswer(zxid=tree.zxid, children=tree.children(request.path), stat=tree.get(request.path).stat)
            if request.watch:
                self.watches.on_children(request.path, call)
            return answer
        assert isinstance(request, GetData)
        node = tree.get(request.path)
        if request.watch:
            self.watches.on_data(request.path, call)
        return ZkAnswer(zxid=tree.zxid, data=node.data, stat=node.stat)

    # --- changes ---------------------------------------------------------------------------------------------

    def create(self, path: str, data: str, session: Session | None = None) -> None:
        """Create a node, ephemeral if a session is given, and notify watchers. Raises ZkRefused."""
        self.tree.create(path, data, 0 if session is None else session.id)
        if session is not None:
            session.ephemerals[path] = None
            for listener in self.on_created:
                listener(path, data, session)
        self.watches.created(path, self.tree.zxid)

    def set_data(self, path: str, data: str, expected: int = -1) -> None:
        """Replace a node's data and notify watchers. Raises ZkRefused."""
        self.tree.set_data(path, data, expected)
        self.watches.changed(path, self.tree.zxid)

    def delete(self, path: str, expected: int = -1, reason: str = CLOSED) -> None:
        """Delete a node and notify watchers. Raises ZkRefused."""
        owner = self.sessions.get(self.tree.delete(path, expected).owner)
        if owner is not None:
            self._removed(path, owner, reason)
        self.watches.deleted(path, self.tree.zxid)

    def _removed(self, path: str, owner: Session, reason: str) -> None:
        owner.ephemerals.pop(path, None)
        for listener in self.on_removed:
            listener(path, reason, owner)

    # --- ends of sessions ------------------------------------------------------------------------------------

    def _expired(self, session: Session) -> None:
        self._end(session, EXPIRED)
        self._disconnect(session, "the session has expired")

    def _end(self, session: Session, reason: str) -> None:
        """Delete the session's ephemeral nodes, and drop its watches."""
        self.sessions.close(session)
        if session.connection is not None:
            self.watches.forget(session.connection)
        for path in tuple(session.ephemerals):
            self.tree.delete(path)
            self._removed(path, session, reason)
            self.watches.deleted(path, self.tree.zxid)

    def _disconnect(self, session: Session, reason: str) -> None:
        """Close the session's connection, if it has one."""
        connection, session.connection = session.connection, None
        if connection is not None:
            self._by_connection.pop(connection, None)
            self.watches.forget(connection)
            connection.cut(reason)

    # --- the trace -------------------------------------------------------------------------------------------

    def emit_received(self, call: BrokerConnection) -> None:
        """Emit a request in a full trace only."""
        if self._trace.heartbeats:
            super().emit_received(call)

    def emit_answer(self, call: BrokerConnection, response: Response) -> None:
        """Emit a response in a full trace only."""
        if self._trace.heartbeats:
            super().emit_answer(call, response)

    def emit_dropped(self, call: BrokerConnection, reason: str) -> None:
        """Emit a dropped message in a full trace only."""
        if self._trace.heartbeats:
            super().emit_dropped(call, reason)

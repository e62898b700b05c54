"""The pytest plugin: the fixture `sim`, a simulated cluster in virtual time; `kafka_lab`, a served one in real time.

    async def test_a_stale_commit_is_refused(sim):
        sim.topic("orders", 2)
        member = sim.member("c1")
        await sim.stable("g1", members=1)
        answer = await sim.request(OffsetCommitRequest("g1", offsets, generation_id=7, member_id=member.member_id))
        assert answer.error is ErrorCode.ILLEGAL_GENERATION

An async test with the fixture `sim` runs on the event loop's own runner, in virtual time, also beside pytest-trio,
pytest-asyncio (`asyncio_mode = auto`) and anyio's plugin. Its async fixtures that depend on `sim` run there too
(`async_fixtures`). The plugin changes no other test. A failing test shows the story so far and the last events.

`@pytest.mark.sim(seed=3, brokers=3, broker={"group.initial.rebalance.delay.ms": 0})` configures the cluster.
`--sim-seed` sets the seed of tests without one. `seeds=20` runs a test with twenty seeds; `--sim-seeds 20` does so for
all tests without a seed. Brokers keep logs; with `logs="counted"` logs are numbers, and a run takes less time.

The fixture `kafka_lab` is a cluster in real time, for real clients (docs/serving.md): `groupsim serve` in a process of
its own, with `.bootstrap` for the clients and `.control` for faults. `@pytest.mark.kafka_lab(topics={"orders": 4})`
configures it; `kafka_labs(…)` makes several. With `share="module"` or `share="session"` tests with equal arguments
share one cluster, which stops at the end of the module or the session.

The simulator is imported when the first test needs it.
"""

from __future__ import annotations

import inspect
from argparse import ArgumentTypeError
from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from groupsim.control import Served
    from groupsim.testing.live_fixture import Labs
    from groupsim.testing.simulation import Simulation

FIXTURE, SEED = "sim", "sim_seed"
LAB, LABS = "kafka_lab", "kafka_labs"
_OURS = pytest.StashKey[bool]()
#: Arguments of the marker `kafka_lab`: those of `testing.live_fixture.Labs`, and which tests share a cluster.
LAB_TAKES = ("scenario", "brokers", "topics", "broker", "options", "share")
_SHARED = pytest.StashKey["dict[str, Labs]"]()
_SHOWN = pytest.StashKey["Labs"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options `--sim-seed` and `--sim-seeds`."""
    group = parser.getgroup("groupsim")
    group.addoption("--sim-seed", type=int, default=0, metavar="N", help="seed of the `sim` fixture (default 0)")
    group.addoption(
        "--sim-seeds",
        type=_count,
        metavar="N",
        help="run each test with `sim` that has no seed of its own with N seeds",
    )


def _count(text: str) -> int:
    """Parse a number of runs. Pytest would silently skip a test with 0 runs, so that 0 is an error."""
    number = int(text)
    if number < 1:
        raise ArgumentTypeError(f"{number} runs: write 1 or more")
    return number


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    _leave_asserts_alone(config)
    config.addinivalue_line(
        "markers",
        "sim(seed=0, seeds=1, brokers=1, broker={}, logs='replicated', **cluster): how `sim` makes its cluster; "
        "seeds: their number, or a list of them",
    )
    config.addinivalue_line(
        "markers",
        "kafka_lab(scenario=None, brokers=3, topics={}, broker={}, options=(), share='test'): how `kafka_lab` is made, "
        "and whether tests share it: share='module', share='session'",
    )


def _leave_asserts_alone(config: pytest.Config) -> None:
    """Exclude this package from pytest's rewriting of assertions.

    Pytest rewrites every module of a package with a plugin. No module here asserts for a test, and rewriting 400
    modules takes two seconds where bytecode is not cached, as in most containers. If pytest renames the attribute, the
    only effect is that time.
    """
    names = getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(names, set):
        names.discard("groupsim")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a test with several seeds if its marker, or else the command line, requests them."""
    if SEED not in metafunc.fixturenames or _param_names(metafunc.definition) & {SEED}:
        return
    given = _own_seeds(metafunc.definition)
    many = metafunc.config.getoption("--sim-seeds")
    if "seeds" in given:
        seeds = _listed(given["seeds"])
    elif many is not None and "seed" not in given:
        first = metafunc.config.getoption("--sim-seed")
        seeds = list(range(first, first + many))
    else:
        return
    metafunc.parametrize(SEED, seeds, ids=[f"seed={seed}" for seed in seeds])


def _param_names(item: pytest.Item) -> set[str]:
    """The argument names in a test's `parametrize` marks."""
    names: set[str] = set()
    for mark in item.iter_markers("parametrize"):
        given = mark.args[0] if mark.args else mark.kwargs.get("argnames", ())
        names.update(name.strip() for name in given.split(",")) if isinstance(given, str) else names.update(given)
    return names


def _own_seeds(item: pytest.Item) -> dict[str, Any]:
    """`seed` or `seeds` of the nearest marker that has one of them; empty if no marker does."""
    for marker in item.iter_markers(FIXTURE):
        given = {name: marker.kwargs[name] for name in ("seeds", "seed") if name in marker.kwargs}
        if given:
            return given
    return {}


def _listed(seeds: Any) -> list[int]:
    """Expand `seeds=20` to the seeds 0 to 19; return `seeds=[3, 7]` as a list."""
    found = list(range(seeds)) if isinstance(seeds, int) else list(seeds) if isinstance(seeds, Iterable) else []
    if not found or not all(isinstance(seed, int) for seed in found):
        pytest.fail(
            f"@pytest.mark.sim: seeds={seeds!r}: write a number or a list: seeds=20, seeds=[3, 7]", pytrace=False
        )
    return found


@pytest.fixture
def sim_seed(request: pytest.FixtureRequest) -> int:
    """The seed of `sim`: that of its marker, else that of the command line."""
    seed: int = _own_seeds(request.node).get("seed", request.config.getoption("--sim-seed"))
    return seed


@pytest.fixture
def sim(request: pytest.FixtureRequest, sim_seed: int) -> Generator[Simulation]:
    """A simulated cluster in virtual time (`groupsim.Simulation`)."""
    from groupsim.testing.simulation import OWN, Simulation
    from groupsim.testing.unused_faults import warn_of_unstruck

    given = _marked(request.node, FIXTURE) | {"seed": sim_seed}
    given.pop("seeds", None)
    given |= getattr(request, "param", {})  # parametrize("sim", [{"seed": 1}, …], indirect=True)
    own = {name: given.pop(name) for name in OWN if name in given}
    try:
        simulation = Simulation(**own, config=given)
    except (ValueError, TypeError) as error:
        problem = str(error)
    else:
        simulation.on_failure = _report
        yield simulation
        simulation.complain()
        if simulation.at_failure is None:
            warn_of_unstruck(simulation.faults)
        return
    pytest.fail(f"@pytest.mark.sim: {problem}", pytrace=False)  # outside `except`: pytest would chain both errors


def _marked(node: pytest.Item, name: str, positional: Sequence[str] = ()) -> dict[str, Any]:
    """The merged arguments of the markers of a test, its class and its module; the nearest marker has precedence."""
    given: dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers(name))):
        if len(marker.args) > len(positional):
            extra = ", ".join(map(repr, marker.args[len(positional) :]))
            pytest.fail(f"@pytest.mark.{name}({extra}): write the name before the value, as in seed=3", pytrace=False)
        given |= dict(zip(positional, marker.args, strict=False))
        given |= marker.kwargs
    return given


@pytest.fixture
def groupsim_mutant(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore the bug that this run of a test has to catch (`groupsim.testing.caught`)."""
    if request.param is not None:
        request.param(monkeypatch)


@pytest.fixture
def kafka_labs() -> Generator[Labs]:
    """A factory of served clusters (`groupsim.testing.live_fixture.Labs`); they stop at the end of the test."""
    from groupsim.testing.live_fixture import Labs

    labs = Labs()
    try:
        yield labs
    finally:
        labs.stop()


@pytest.fixture
def kafka_lab(request: pytest.FixtureRequest, kafka_labs: Labs) -> Served:
    """A served cluster for real clients: `.bootstrap`, `.control`."""
    from groupsim.control.process import ServeFailed
    from groupsim.testing.names import only_known

    given = _marked(request.node, LAB, LAB_TAKES[:1])
    try:
        only_known(given, LAB_TAKES, "argument of a lab")
        labs = _labs_for(request.node, given.pop("share", "test"), given, kafka_labs)
        request.node.stash[_SHOWN] = labs
        return labs.started[0] if labs is not kafka_labs and labs.started else labs(**given)
    except (ValueError, ServeFailed) as error:
        problem = str(error)
    pytest.fail(f"@pytest.mark.kafka_lab: {problem}", pytrace=False)  # outside `except`: pytest would chain both errors


def _labs_for(test: pytest.Item, share: str, given: dict[str, Any], own: Labs) -> Labs:
    """Return the factory of a test's cluster: its own, or the one that its module or session shares.

    Tests share a cluster if their settings are equal. It stops at the end of the module or the session. Raises
    ValueError for another `share`.
    """
    if share == "test":
        return own
    node = {"module": test.getparent(pytest.Module), "session": test.session}.get(share)
    if node is None:
        raise ValueError(f"share={share!r}: write share='module', share='session' or share='test'")
    from groupsim.testing.live_fixture import Labs

    shared = node.stash.setdefault(_SHARED, {})
    settings = repr(sorted(given.items()))
    if settings not in shared:
        shared[settings] = Labs()
        node.addfinalizer(shared[settings].stop)
    return shared[settings]


def _is_ours(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or FIXTURE not in item.fixturenames:
        return False
    return inspect.iscoroutinefunction(item.obj)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Record the async tests with `sim`; remove the marker that pytest-trio adds to each of them in `trio_mode`."""
    for item in items:
        if _is_ours(item):
            item.stash[_OURS] = True
            item.own_markers = [marker for marker in item.own_markers if marker.name != "trio"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Postpone an async fixture that depends on `sim`, directly or indirectly (`async_fixtures`)."""
    __tracebackhide__ = True
    if not request.node.stash.get(_OURS, False):
        return (yield)
    from groupsim.testing.async_fixtures import Later, is_async
    from groupsim.testing.simulation import Simulation

    make: Any = fixturedef.func
    arguments = (request.getfixturevalue(name) for name in fixturedef.argnames if name != "request")
    if not is_async(make) or not any(isinstance(one, Simulation | Later) for one in arguments):
        return (yield)
    if inspect.ismethod(make) and isinstance(request.instance, type(make.__self__)):
        make = make.__func__.__get__(request.instance)  # pytest may have made another instance of the class since
    original, attributes = fixturedef.func, vars(fixturedef)
    attributes["func"] = lambda **arguments: Later(make, arguments)
    try:
        return (yield)
    finally:
        attributes["func"] = original


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run an async test with `sim` in virtual time, also where another plugin would run it.

    By now pytest-asyncio has wrapped the test, and anyio's plugin looks for async functions. Both get a synchronous
    function instead, which runs the test.
    """
    __tracebackhide__ = True
    simulation: Any = pyfuncitem.funcargs.get(FIXTURE)
    if simulation is None or not pyfuncitem.stash.get(_OURS, False):
        return (yield)
    from groupsim.testing.async_fixtures import with_fixtures

    given = pyfuncitem.obj
    test = given if inspect.iscoroutinefunction(given) else inspect.unwrap(given, stop=inspect.iscoroutinefunction)

    def in_virtual_time(**arguments: Any) -> None:
        __tracebackhide__ = True
        simulation.drive(lambda: with_fixtures(test, arguments, pyfuncitem.funcargs))

    pyfuncitem.obj = in_virtual_time
    try:
        return (yield)
    finally:
        pyfuncitem.obj = given


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the story of the run to the report of a failed test."""
    report = yield
    simulation = getattr(item, "funcargs", {}).get(FIXTURE)
    if report.when == "call" and report.failed and simulation is not None and getattr(simulation, "events", None):
        report.sections.append(("groupsim: the story so far", _story(simulation)))
    labs = item.stash.get(_SHOWN, getattr(item, "funcargs", {}).get(LABS))
    if report.when == "call" and report.failed and labs is not None and labs.started:
        report.sections.append(("groupsim: what the coordinator saw", labs.story()))
    return report


def _story(simulation: Simulation) -> str:
    return simulation.at_failure or _report(simulation)


def _report(simulation: Simulation) -> str:
    from groupsim.testing.failure_report import failure_text

    return failure_text(simulation)

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

SIMULATED = """
    import pytest

    async def test_forms(sim, tmp_path):
        sim.topic("orders", 2)
        sim.member("c1")
        assert (await sim.stable("g1")).generation == {generation}
        assert tmp_path.is_dir()

    @pytest.mark.parametrize("n", [1, 2])
    async def test_parametrised(sim, n):
        await sim.run_for("1h")
        assert sim.now_us == 3_600_000_000 and n

    def test_plain():
        pass
"""


@pytest.fixture(autouse=True)
def _quiet(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\naddopts = -p no:cacheprovider\n")


def test_simulated_tests_run_beside_plain_ones(pytester: pytest.Pytester) -> None:
    """Async tests with `sim` run in virtual time, with other fixtures and parameters; plain ones as ever."""
    pytester.makepyfile(SIMULATED.format(generation=1))
    pytester.runpytest_inprocess().assert_outcomes(passed=4)


def test_trio_mode_is_not_in_the_way(pytester: pytest.Pytester) -> None:
    """With pytest-trio marking every async test, those with `sim` run on the event loop, the others on trio."""
    pytester.makeini("[pytest]\ntrio_mode = true\naddopts = -p no:cacheprovider\n")
    other = "\n    async def test_on_trio():\n        import trio\n        assert trio.lowlevel.current_task()\n"
    pytester.makepyfile(SIMULATED.format(generation=1) + other)
    pytester.runpytest_inprocess().assert_outcomes(passed=5)


def test_a_failure_shows_the_story_and_the_last_events(pytester: pytest.Pytester) -> None:
    """The report of a failing test carries headline, seed and the tail of the trace."""
    pytester.makepyfile(SIMULATED.format(generation=9))
    result = pytester.runpytest_inprocess("--sim-seed", "4")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        ["*groupsim: the story so far*", "*g1 formed in 3.0 s*", "*seed 4, at*", "*the last*events*", "*group.state*"]
    )


def test_a_project_that_does_not_use_it_is_left_alone(pytester: pytest.Pytester) -> None:
    """Without the fixture the plugin imports nothing of the simulator, and a fixture of the same name wins."""
    pytester.makepyfile(
        """
        import sys
        import pytest

        @pytest.fixture
        def sim():
            return "mine"

        def test_mine(sim):
            assert sim == "mine"
            assert "groupsim.cluster" not in sys.modules
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_the_package_is_not_rewritten_for_its_assertions(pytester: pytest.Pytester) -> None:
    """pytest would rewrite 400 modules of a package with a plugin, two seconds wherever no bytecode is kept."""
    pytester.makepyfile(
        """
        from _pytest.assertion.rewrite import AssertionRewritingHook

        async def test_loaded(sim):
            import groupsim.testing.simulation
            assert not isinstance(groupsim.testing.simulation.__loader__, AssertionRewritingHook)
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


SEEDS = """
    import pytest

    async def test_no_word(sim):
        print("no word", sim.seed)

    @pytest.mark.sim(seed=7)
    async def test_one(sim, sim_seed):
        print("one", sim.seed, sim_seed)

    @pytest.mark.sim(seeds={seeds})
    @pytest.mark.parametrize("sim", [{{"broker": {{"version": "3.9"}}}}, {{}}], indirect=True)
    async def test_some(sim):
        print("some", sim.seed, sim.broker)
"""


def test_a_test_runs_with_as_many_seeds_as_its_marker_says(pytester: pytest.Pytester) -> None:
    """Seeds multiply with other parameters, and stand in the test's id."""
    pytester.makepyfile(SEEDS.format(seeds="[3, 5]"))
    result = pytester.runpytest_inprocess("-s", "-v")
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["*no word 0*", "*one 7 7*", "*seed=5*some 5*3.9*"])


def test_the_command_line_sweeps_seeds(pytester: pytest.Pytester) -> None:
    """`--sim-seeds 3` runs what names no seed three times, from `--sim-seed` on."""
    pytester.makepyfile(SEEDS.format(seeds=2))
    result = pytester.runpytest_inprocess("-s", "-v", "--sim-seeds", "3", "--sim-seed", "10")
    result.assert_outcomes(passed=3 + 1 + 4)
    result.stdout.fnmatch_lines(["*no word 10*", "*no word 12*", "*one 7 7*"])


@pytest.mark.parametrize("seeds", ['"x"', "0", "[]", "None"])
def test_invalid_seeds_are_an_error(pytester: pytest.Pytester, seeds: str) -> None:
    """What is neither a number nor numbers is an error before anything runs."""
    pytester.makepyfile(SEEDS.format(seeds=seeds))
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*seeds=*: write a number or a list: seeds=20, seeds=[[]3, 7[]]*"])


WRAPPING = """
    import functools
    import pytest

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(item):
        test = item.obj

        @functools.wraps(test)
        def somewhere_else(*args, **kwargs):
            raise RuntimeError("run by the other plugin")

        item.obj = somewhere_else
        return (yield)
"""


def test_a_plugin_that_runs_async_tests_itself_is_not_in_the_way(pytester: pytest.Pytester) -> None:
    """pytest-asyncio puts a function of its own around every async test in auto mode; one with `sim` is ours."""
    pytester.makeconftest(WRAPPING)
    pytester.makepyfile("async def test_forms(sim):\n    await sim.run_for('1s')\n    assert sim.now_us == 1_000_000\n")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_anyios_marker_is_not_in_the_way(pytester: pytest.Pytester) -> None:
    """Under a module's marker for anyio its own async tests run there, and those with `sim` in virtual time."""
    pytest.importorskip("anyio")
    pytester.makepyfile(
        """
        import anyio, pytest, time

        pytestmark = pytest.mark.anyio

        async def test_simulated(sim):
            await sim.run_for("1h")

        async def test_other():
            await anyio.sleep(0)
        """
    )
    result = pytester.runpytest_inprocess("-p", "anyio", "-k", "asyncio", "--durations=1")
    result.assert_outcomes(passed=2, deselected=2)


ASYNC_FIXTURES = """
    import pytest

    order = []

    @pytest.fixture
    async def group(sim):
        sim.topic("orders", 4)
        sim.member("c1")
        order.append("formed")
        yield await sim.settled(members=1)
        await sim.run_for("1s")
        order.append(f"over at {sim.now_us > 1_000_000}")

    @pytest.fixture
    async def larger(sim, group, request):
        sim.member("c2")
        return await sim.settled(members=2)

    async def test_forms(sim, larger, group):
        assert (group.generation, larger.generation, len(larger.members)) == (1, 2, 2)

    class TestInAClass:
        @pytest.fixture(autouse=True)
        async def always(self, sim):
            order.append("always")

        @pytest.fixture
        async def own(self, group):
            self.seen = True
            return group.generation

        async def test_own(self, own, sim):
            assert own == 1 and self.seen

    def test_order():
        assert order == ["formed", "over at True", "always", "formed", "over at True"]
"""


def test_async_fixtures_with_sim_run_in_its_time(pytester: pytest.Pytester) -> None:
    """They are awaited before the test's first line, may build on each other, and end after its last, in order."""
    pytester.makepyfile(ASYNC_FIXTURES)
    pytester.runpytest_inprocess("-p", "no:randomly", "-o", "trio_mode=true").assert_outcomes(passed=3)


def test_a_failing_async_fixture_fails_its_test(pytester: pytest.Pytester) -> None:
    """What it raises is the test's failure, with the story; a second `yield` is one as well."""
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        async def group(sim):
            sim.topic("orders", 4)
            sim.member("c1")
            return await sim.settled(members=2, within="10s")

        @pytest.fixture
        async def twice(sim):
            yield 1
            yield 2

        async def test_forms(group):
            pass

        async def test_twice(twice):
            pass
        """
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*settled with 2 members within 10s*", "*the story so far*", "*twice*more than once"])


def test_every_async_fixture_comes_to_its_end(pytester: pytest.Pytester) -> None:
    """What follows a fixture's `yield` is run after that of those built upon it, and though one of them raised."""
    pytester.makepyfile(
        """
        import pytest

        order = []

        @pytest.fixture
        async def first(sim):
            yield
            await sim.run_for("1s")
            order.append("first")

        @pytest.fixture
        async def second(first):
            yield
            order.append("second")
            raise ValueError("at its end")

        async def test_ends(sim, second):
            pass

        def test_order():
            assert order == ["second", "first"]
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:randomly")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*ValueError: at its end*"])


def test_no_seeds_at_all_are_refused(pytester: pytest.Pytester) -> None:
    """`--sim-seeds 0` would skip every test in silence."""
    pytester.makepyfile(SIMULATED.format(generation=1))
    result = pytester.runpytest_inprocess("--sim-seeds", "0")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--sim-seeds: 0 runs: write 1 or more"])

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
            import groupsim.simulation
            assert not isinstance(groupsim.simulation.__loader__, AssertionRewritingHook)
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)

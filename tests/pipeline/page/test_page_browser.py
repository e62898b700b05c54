"""Pages in a browser: they load without a network, every control works, nothing complains."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groupsim.pipeline.page import sweep_page
from groupsim.pipeline.tables.metrics import SCALE, Metric, Unit
from groupsim.scenarios.story.many_groups import fleets
from tests.helpers import needs, page_samples, small_sweep

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


TABLES = ("Members and states", "Standstills", "Owners", "Lag", "The messages")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    path = needs.chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield chromium
        chromium.close()


class Opened:
    """A page in the browser, with everything it complained about or asked the network for."""

    def __init__(self, browser: Any, file: Path, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda said: self.complaints.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("html[data-ready]", timeout=60_000)

    def check(self) -> None:
        """The page has complained about nothing and asked for nothing but itself and inline images."""
        assert self.complaints == []
        assert [url for url in self.asked[1:] if not url.startswith(("data:", "blob:"))] == []

    def close(self) -> None:
        """The end."""
        self.check()
        self.context.close()


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of one run."""
    file = tmp_path_factory.mktemp("run") / "run.html"
    file.write_text(page_samples.page(), "utf-8")
    return file


@pytest.fixture(scope="module")
def sweep_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a sweep with a failed run."""
    folder = tmp_path_factory.mktemp("sweep")
    file = folder / "sweep.html"
    file.write_text(sweep_page(*page_samples.sweep(folder, failing=(1, 3))), "utf-8")
    return file


@pytest.fixture(scope="module")
def opened_given(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    """The page of a sweep with two circumstances, open and shared."""
    folder = tmp_path_factory.mktemp("given")
    file = folder / "given.html"
    file.write_text(sweep_page(*page_samples.performed(small_sweep.load_given(folder), folder / "out")), "utf-8")
    opened = Opened(browser, file)
    yield opened
    opened.context.close()


@pytest.fixture(scope="module")
def opened_run(browser: Any, run_file: Path) -> Iterator[Opened]:
    """The page of one run, open; to load it takes seconds, so tests share it."""
    opened = Opened(browser, run_file)
    yield opened
    opened.context.close()


@pytest.fixture(scope="module")
def opened_sweep(browser: Any, sweep_file: Path) -> Iterator[Opened]:
    """The page of a sweep, open and shared."""
    opened = Opened(browser, sweep_file)
    yield opened
    opened.context.close()


MARKED = """
    title: Something at exactly two seconds
    run-for: 30s
    topics: {orders: {partitions: 3, rate: 20/s}}
    groups: {g: {members: {c: {count: 2}}, properties: {auto.offset.reset: earliest}}}
    timeline:
      - {at: 2s, do: latency, member: c-2, add: 1ms, for: 20ms}
      - {at: 12s, do: pause, member: c-1, for: 5s}
"""
_X_OF_MARKS = """() => [...document.querySelectorAll(".plot")].flatMap((plot) => plot.data
    .filter((trace) => trace.type === "scatter" && trace.mode === "markers+text")
    .flatMap((trace) => trace.x.map((when) => dateUs(when) / 1000)))"""
_PLACES = """() => [...document.querySelectorAll(".plot")].flatMap((plot) => {
    const axis = [...plot.querySelectorAll(".xtick text")].map((one) => [one.textContent, +one.getAttribute("x")]);
    return [...plot.querySelectorAll("path[transform]")].filter((one) => one.words.includes("pause c-1"))
        .map((one) => [+one.getAttribute("transform").match(/[0-9.]+/)[0], Object.fromEntries(axis)]);
})"""


def test_an_instant_of_whole_milliseconds_is_no_year(browser: Any, tmp_path: Path) -> None:
    """A mark at 2.000 s stands at 2,000 ms of the time axis: to a date axis the number 2000 is a year."""
    file = tmp_path / "marked.html"
    file.write_text(page_samples.page(MARKED), "utf-8")
    opened = Opened(browser, file)
    assert opened.page.evaluate(_X_OF_MARKS) == [2_000, 12_000]
    opened.page.get_by_role("button", name="Show the whole run").click()
    ((x, axis),) = opened.page.evaluate(_PLACES)
    second = (axis["0:20"] - axis["0:10"]) / 10
    assert x == pytest.approx(axis["0:10"] + 2 * second, abs=0.5)
    opened.close()


@pytest.fixture
def run(opened_run: Opened) -> Iterator[Any]:
    """The page of one run; the test fails when the page complained."""
    opened_run.page.get_by_role("button", name="Show the whole run").click()
    yield opened_run.page
    opened_run.check()


@pytest.fixture
def sweep(opened_sweep: Opened) -> Iterator[Any]:
    """The page of a sweep; the test fails when the page complained."""
    yield opened_sweep.page
    opened_sweep.check()


def shown_range(page: Any, plot: int) -> tuple[float, float]:
    """The part of the run that a plot shows, in milliseconds."""
    low, high = page.evaluate(
        "n => [...document.querySelectorAll('.lanes')][n]._fullLayout.xaxis.range.map(x => dateUs(x) / 1000)", plot
    )
    return low, high


def test_one_run(run: Any) -> None:
    """Figures, generations, verdicts, both kinds of lanes and a sequence diagram are there."""
    assert run.locator("h1").inner_text().startswith("2 rebalances of orders-service")
    assert run.locator(".figures dd").first.inner_text() == "2"
    assert run.locator("table").first.locator("tbody tr").count() == 3
    assert run.locator(".checks .bad").inner_text().startswith("✗ failed")
    assert run.locator(".plot.lanes .main-svg").count() >= 2
    assert "JoinGroup" in run.locator(".sequence svg").text_content()


def test_the_figures_of_a_run_stand_in_one_row(run: Any) -> None:
    """On a screen of 1280 none is left over for a row of its own."""
    tiles = [tile.bounding_box() for tile in run.locator(".figures > div").all()]
    assert len(tiles) == 9
    assert len({round(tile["y"]) for tile in tiles}) == 1


def test_a_lag_of_two_records_has_no_tick_twice(browser: Any, tmp_path: Path) -> None:
    """Records are whole: ticks at every half would be labelled 2, 2, 1, 1, 0."""
    file = tmp_path / "few.html"
    file.write_text(page_samples.page(page_samples.CRASH.replace("rate: 12/s", "rate: 9/min")), "utf-8")
    opened = Opened(browser, file)
    plot = opened.page.locator(".together", has=opened.page.get_by_text("How far it was behind")).last
    ticks = plot.locator(".ytick text").all_text_contents()
    assert len(ticks) > 1
    assert len(set(ticks)) == len(ticks)
    opened.close()


def test_a_generation_leads_to_its_lanes_and_messages(run: Any) -> None:
    """Its number zooms all lanes to it, alike, and shows its messages; the focus goes there."""
    whole = shown_range(run, 0)
    run.get_by_role("button", name="Generation 2 of orders-service").click()
    zoomed = shown_range(run, 0)
    assert zoomed[1] - zoomed[0] < whole[1] - whole[0]
    assert shown_range(run, 1) == pytest.approx(zoomed)
    assert run.locator(".sequence svg").get_attribute("aria-label").startswith("Messages of generation 2 ")
    assert run.evaluate("document.activeElement.textContent") == "One rebalance in messages"
    run.get_by_role("button", name="Show the whole run").click()
    assert shown_range(run, 1) == pytest.approx(whole)


def test_a_drag_zooms_all_lanes(run: Any) -> None:
    """What the mouse marks in one plot is shown in every plot."""
    run.locator(".lanes").first.scroll_into_view_if_needed()
    box = run.locator(".lanes .nsewdrag").first.bounding_box()
    middle = box["y"] + box["height"] / 2
    run.mouse.move(box["x"] + box["width"] * 0.4, middle)
    run.mouse.down()
    run.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=4)
    run.mouse.up()
    run.wait_for_function(
        "() => { const r = document.querySelectorAll('.lanes')[1]._fullLayout.xaxis.range; return dateUs(r[0]) > 1e7; }"
    )
    assert shown_range(run, 1) == pytest.approx(shown_range(run, 0))


def test_generations_can_be_chosen_one_by_one(run: Any) -> None:
    """The chooser and its two buttons change the diagram, round and round."""
    label = run.locator(".sequence svg")
    run.get_by_label("Rebalance", exact=True).select_option("0")
    assert "generation 1 " in label.get_attribute("aria-label")
    run.get_by_role("button", name="The next rebalance").click()
    assert "generation 2 " in label.get_attribute("aria-label")
    run.get_by_role("button", name="The rebalance before").click()
    run.get_by_role("button", name="The rebalance before").click()
    assert "generation 3 " in label.get_attribute("aria-label")


def test_every_plot_has_a_text_equivalent(run: Any) -> None:
    """Each plot says in words what it shows, and the tables behind the summaries fill when they are opened."""
    for plot in run.locator(".plot, .sequence svg").all():
        assert len(plot.get_attribute("aria-label")) > 30
    for name in TABLES:
        details = run.locator("details", has_text=f"{name} as a table")
        details.locator("summary").press("Enter")
        details.locator("tbody tr").first.wait_for(timeout=5_000)


def test_everything_is_reached_by_tab(run: Any) -> None:
    """Tab goes through the native controls from the theme to the last table, and never gets caught."""
    controls = run.locator("button:visible, select:visible, summary:visible")
    controls.evaluate_all("all => all.forEach((control, number) => { control.dataset.number = number; })")
    seen = []
    run.evaluate("() => { document.activeElement.blur(); getSelection().removeAllRanges(); scrollTo(0, 0); }")
    run.mouse.click(2, 2)  # Tab begins at the top again
    for _ in range(controls.count() + 40):
        run.keyboard.press("Tab")
        seen.append(run.evaluate("document.activeElement.dataset.number"))
    reached = [number for number in seen if number is not None]
    assert reached[: controls.count()] == [str(number) for number in range(controls.count())]


def test_the_theme_changes_page_and_plots(run: Any) -> None:
    """The button turns the page dark and draws the plots in its colours; again, and it is light."""
    paper = "document.querySelector('.lanes')._fullLayout.paper_bgcolor"
    light = run.evaluate(paper)
    run.get_by_role("button", name="Dark theme").click()
    assert run.evaluate(paper) != light
    assert run.evaluate("getComputedStyle(document.body).color") == "rgb(232, 235, 239)"
    run.get_by_role("button", name="Light theme").click()
    assert run.evaluate(paper) == light


def test_the_machine_s_preference_counts(browser: Any, run_file: Path) -> None:
    """Where the machine is dark the page opens dark."""
    opened = Opened(browser, run_file, color_scheme="dark")
    assert opened.page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(20, 24, 29)"
    assert opened.page.get_by_role("button", name="Light theme").is_visible()
    opened.close()


def test_on_paper(browser: Any, run_file: Path) -> None:
    """Print is light whatever the screen is, has no controls, and plots as wide as the page; the screen comes back."""
    opened = Opened(browser, run_file, color_scheme="dark")
    page = opened.page
    page.emulate_media(media="print")
    page.wait_for_selector("html[data-paper]")
    assert page.evaluate("document.querySelector('.lanes')._fullLayout.width") == 690
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("button:not(.link):visible, select:visible, .modebar:visible").count() == 0
    assert page.locator("button.link:visible").first.inner_text() == "1"  # a generation's number stays
    assert page.locator("path[style*='url(']").count() == 0  # each hatched bar would be a picture of its own in a PDF
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="screen")
    page.wait_for_selector("html:not([data-paper])")
    assert page.evaluate("document.querySelector('.lanes')._fullLayout.width") > 1000
    opened.close()


def test_on_a_narrow_screen(browser: Any, sweep_file: Path) -> None:
    """On a telephone nothing but frames that scroll is wider than the screen."""
    opened = Opened(browser, sweep_file)
    opened.page.set_viewport_size({"width": 360, "height": 700})
    opened.page.wait_for_function("() => document.querySelector('.plot')._fullLayout.width <= 360")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    opened.close()


def test_a_telephone_can_read_what_a_wide_screen_shows(browser: Any, sweep_file: Path) -> None:
    """Labels and titles of plots and captions of tables wrap, and no bar of tools lies on the marks."""
    opened = Opened(browser, sweep_file, is_mobile=True, has_touch=True)
    opened.page.set_viewport_size({"width": 360, "height": 700})
    opened.page.wait_for_function("() => document.querySelector('.plot')._fullLayout.width <= 360")
    assert opened.page.locator(".modebar-container .modebar-btn").count() == 0
    labels = opened.page.locator(".spread .ytick text").all_text_contents()
    assert any("cooperative-sticky" in label for label in labels)
    assert not [label for label in labels if "…" in label]
    cut = """() => [...document.querySelectorAll('.plot .xtitle, .plot .ytick text, caption .said')]
        .filter((one) => one.getBoundingClientRect().right > 360 || one.getBoundingClientRect().left < 0).length"""
    assert opened.page.evaluate(cut) == 0
    opened.close()


def test_the_answer_is_not_cut_on_a_telephone(browser: Any, sweep_file: Path) -> None:
    """On 400 px the table of the answer fits without scrolling, and rows of the runs stay one line high."""
    opened = Opened(browser, sweep_file)
    opened.page.set_viewport_size({"width": 400, "height": 900})
    frame = opened.page.locator(".frame").first
    assert frame.evaluate("(node) => node.scrollWidth <= node.clientWidth")
    rows = opened.page.locator("[data-runs] tbody tr").all()
    assert max(row.bounding_box()["height"] for row in rows) < 60
    opened.close()


def test_messages_are_not_cut_on_a_telephone(browser: Any, run_file: Path) -> None:
    """The drawing is as wide as what is written in it, and scrolls in its frame."""
    opened = Opened(browser, run_file, is_mobile=True, has_touch=True)
    opened.page.set_viewport_size({"width": 360, "height": 700})
    opened.page.wait_for_function("() => document.querySelector('.sequence svg').getBoundingClientRect().width < 800")
    cut = """() => [...document.querySelectorAll('.sequence svg .message')].filter((one) =>
        one.getBoundingClientRect().right > one.closest('svg').getBoundingClientRect().right + 1).length"""
    assert opened.page.evaluate(cut) == 0
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    opened.close()


def test_the_mouse_gets_words_for_what_it_rests_on(run: Any) -> None:
    """A bar says which phase it is and how long it lasted, and nothing stays when the mouse is gone."""
    run.get_by_role("button", name="Show the whole run").click()
    bars = run.locator(".lanes rect").evaluate_all(
        "all => all.findIndex(one => (one.words || '').includes('pod-2: dead'))"
    )
    run.locator(".lanes rect").nth(bars).hover()
    assert run.locator(".hint").inner_text().splitlines()[0] == "pod-2: dead"
    run.mouse.move(2, 2)
    assert not run.locator(".hint").is_visible()


def test_a_double_click_shows_the_whole_run_again(run: Any) -> None:
    """After a zoom two clicks in any plot show everything, in all plots."""
    whole = shown_range(run, 0)
    run.get_by_role("button", name="Zoom in").click()
    assert shown_range(run, 1) != whole
    run.locator(".lanes .nsewdrag").first.dblclick(position={"x": 300, "y": 4}, force=True)
    assert shown_range(run, 0) == shown_range(run, 1) == whole


# --- sweeps ---------------------------------------------------------------------------------------------------------


def test_no_tool_sends_the_page_anywhere(sweep: Any) -> None:
    """plotly's own bar has a button that uploads a chart to its makers; here there is none, nor a server to go to."""
    titles = sweep.locator(".modebar-btn").evaluate_all(
        "(all) => all.map((one) => one.dataset.title || one.getAttribute('aria-label') || one.title)"
    )
    assert any("PNG" in title for title in titles)
    assert [title for title in titles if any(word in title.lower() for word in ("share", "cloud", "studio"))] == []
    assert sweep.evaluate("document.querySelector('.plot')._context.plotlyServerURL") == ""


def test_the_bar_of_tools_covers_no_tick(sweep: Any) -> None:
    """It appears above the time axis, the last tick of which would lie below it."""
    sweep.locator(".plot").first.hover()
    tools = sweep.locator(".plot .modebar").first.bounding_box()
    for tick in sweep.locator(".plot").first.locator(".xtick text").all():
        assert tick.bounding_box()["y"] >= tools["y"] + tools["height"] - 1


def test_the_answer_stands_on_top(sweep: Any) -> None:
    """The sentence, then the recommended cell and the baseline with values, intervals and verdicts."""
    assert sweep.locator("h2").first.inner_text() == "The answer"
    first = sweep.locator("table").first
    assert "baseline" in first.inner_text()
    assert first.locator("th[scope=row]").count() >= 1


def test_contents_lead_to_each_section(sweep: Any) -> None:
    """Above everything stand links to all sections of the page."""
    links = sweep.locator("nav.contents a")
    assert links.first.inner_text() == "The answer"
    assert links.count() == sweep.locator("h2").count()
    for link in links.all():
        assert sweep.locator(str(link.get_attribute("href"))).count() == 1


def test_each_circumstance_has_an_answer_and_a_front_of_its_own(opened_given: Opened) -> None:
    """Under a given axis the answers stand side by side, and each circumstance has a front of its own."""
    page = opened_given.page
    cards = page.locator(".card")
    assert cards.locator("h3").all_inner_texts() == ["callback=0ms", "callback=1s"]
    first, second = (cards.nth(number).bounding_box() for number in (0, 1))
    assert first["y"] == second["y"]
    assert "`" not in page.locator("main").inner_text()
    rows = page.locator("table").first.locator("th[scope=row]").all_inner_texts()
    assert {text.split(", callback=")[1] for text in rows} == {"0ms", "1s"}
    lines = "document.querySelector('.front').data.filter((one) => one.mode === 'lines').map((one) => one.line.color)"
    assert len(set(page.evaluate(lines))) == 2
    labels = page.evaluate("document.querySelector('.front').data.at(-1).text.filter((one) => one)")
    assert {text.split(" ")[0] for text in labels} <= {"range", "cooperative-sticky"}
    opened_given.check()


def test_lanes_open_where_something_happens(browser: Any, tmp_path: Path) -> None:
    """A run of ten minutes with one crash opens with the minute of the crash; a button shows all of it."""
    text = page_samples.CRASH.replace("run-for: 40s", "run-for: 10m")
    file = tmp_path / "long.html"
    file.write_text(page_samples.page(text), "utf-8")
    opened = Opened(browser, file)
    shown = "document.querySelector('.lanes')._fullLayout.xaxis.range.map(dateUs)"
    begin, end = opened.page.evaluate(shown)
    assert (begin, end < 60_000_000) == (0, True)
    opened.page.get_by_role("button", name="Show the whole run").click()
    assert opened.page.evaluate(shown) == [0, 600_000_000]
    opened.close()


FLEET = """
    title: Ten groups, one of them stopped, one crashed
    run-for: 60s
    cluster: {logs: counted}
    topics: {orders: {partitions: 2, rate: 30/min}}
    groups: {fleet: {count: 10, members: {c: 2}}}
    timeline:
      - {at: 15s, do: stop, member: fleet-3-c-1}
      - {at: 20s, do: stop, member: fleet-5-c-1}
      - {at: 30s, do: start, member: fleet-5-c-1}
"""


def test_a_fleet_has_one_part_with_the_groups_that_fared_differently(browser: Any, tmp_path: Path) -> None:
    """It is closed at first; lists of generations and members have these groups alone; a group leads to its lanes."""
    file = tmp_path / "fleet.html"
    file.write_text(page_samples.page(FLEET), "utf-8")
    opened = Opened(browser, file)
    part = opened.page.locator("details.fleet")
    assert part.locator("summary").inner_text().startswith("fleet: 10 groups, 3 rebalances in 2 of them; hit hardest: ")
    assert not part.locator("table").first.is_visible()
    part.locator("summary").click()
    assert sorted(part.locator("button.link").all_inner_texts()) == ["fleet-3", "fleet-5"]
    assert part.locator("tbody tr").first.inner_text().split() == ["rebalances", "2", "2", "fleet-5", "3"]
    generations = opened.page.get_by_role("region", name="Every rebalance: why, who, how long")
    assert set(generations.locator("tbody td:first-child").all_inner_texts()) == {"fleet-3", "fleet-5"}
    assert opened.page.get_by_role("region", name="The processes of the groups above").locator("tbody tr").count() == 4
    part.get_by_role("button", name="fleet-3").click()
    assert opened.page.evaluate("document.activeElement.textContent") == "What happened when: fleet-3"
    opened.close()


def test_the_page_and_the_terminal_take_the_same_groups_for_a_fleet(run: Any) -> None:
    """Names that differ in one number, nine or more."""
    names = [*(f"v2-{n}-eu1" for n in range(1, 10)), "v3-1-eu1", "audit", *(f"b-{n}" for n in range(8))]
    found = run.evaluate("names => fleetsOf(names).map((one) => [one.name, one.groups])", names)
    assert {name: tuple(groups) for name, groups in found} == fleets(names)


def test_twelve_owners_have_twelve_colours(run: Any) -> None:
    """No two of twelve pods share a fill, so that an old pod and its successor can be distinguished."""
    assert run.evaluate("new Set([...Array(12).keys()].map(ownerFill)).size") == 12


def test_the_metric_can_be_chosen(sweep: Any) -> None:
    """The chooser changes the grid and the distributions; differences to the baseline leave the baseline out."""
    sweep.get_by_label("Metric", exact=True).select_option("moved")
    before = sweep.locator("table.grid").inner_text()
    sweep.get_by_label("Metric", exact=True).select_option("stopped_us")
    assert sweep.locator("table.grid").inner_text() != before
    strips = "document.querySelector('.spread').data.filter(one => one.type === 'box').length"
    assert sweep.evaluate(strips) == 3
    sweep.get_by_role("button", name="differences to the baseline").click()
    assert sweep.evaluate(strips) == 2


_TRIPLES = ((20 / 3, 0, 20), (1 / 3, 0, 1), (0, 0, 0), (6.25, 6.25, 7), (12.35e6, 12e6, 13e6), (0.125, 0.1, 0.15),
            (1234.5, 1000, 1500), (99.95, 99, 101), (-0.04, -0.3, 0.2), (3, 2, 4), (2.5e6, 0, 9e8))  # fmt: skip
_ON_THE_PAGE = """([unit, scale, all]) => all.map(([value, low, high]) => {
    const metric = {unit, scale}, one = {value, low, high}, digits = digitsOf(metric, one);
    return [shown(metric, value, digits), shown(metric, low, digits, false), shown(metric, high, digits, false)]; })"""


@pytest.mark.parametrize("unit", list(Unit))
def test_numbers_have_the_digits_of_the_terminal(sweep: Any, unit: Unit) -> None:
    """A value and the ends of its interval are the same text on the page and in a terminal: 6.7, not 7, beside 20."""
    of = Metric("metric", "a metric", unit)
    told = []
    for triple in _TRIPLES:
        digits = of.digits(triple)
        told.append([of.shown(triple[0], digits), *(of.figure(end, digits) for end in triple[1:])])
    seen = sweep.evaluate(_ON_THE_PAGE, [str(unit), SCALE[unit], _TRIPLES])
    assert [[text.replace("−", "-") for text in texts] for texts in seen] == told


def test_an_effect_below_one_is_not_rounded_away(sweep: Any) -> None:
    """A difference of a third of a count, and ends that only more decimals set apart."""
    words = "one => differenceWords({unit: '', scale: 1}, one)"
    assert sweep.evaluate(words, {"difference": 1 / 3, "low": 0, "high": 1}) == "+0.3 (0.0 … 1.0)"
    assert sweep.evaluate(words, {"difference": 150.2, "low": 150.1, "high": 150.3}) == "+150.2 (150.1 … 150.3)"


def test_from_a_cell_to_its_runs_to_the_lanes_of_one(sweep: Any) -> None:
    """A cell of the grid shows its runs; a run in the page shows its lanes and messages."""
    sweep.locator("table.grid button").nth(1).click()
    assert sweep.get_by_label("Cell", exact=True).input_value() == "1"
    assert sweep.evaluate("document.activeElement.textContent") == "From a cell to its runs"
    runs = sweep.locator("[data-runs] table")
    assert runs.locator("tbody tr").count() == 6
    shown = runs.get_by_role("button").last
    seed = shown.inner_text()
    shown.click()
    assert sweep.locator("[data-run]").get_attribute("data-run") == f"1/{seed}"
    assert sweep.locator("[data-run] .lanes .main-svg").count() >= 2
    assert "JoinGroup" in sweep.locator("[data-run] .sequence svg").text_content()


def test_a_failed_run_says_how_to_repeat_it(sweep: Any) -> None:
    """In the table of its cell it stands with its error and the command."""
    sweep.get_by_label("Cell", exact=True).select_option("1")
    row = sweep.locator("[data-runs] tbody tr").nth(3)
    assert "failed:" in row.inner_text()
    assert "groupsim run small --cell 1 --seed 3" in row.inner_text()


def test_the_front_follows_its_choosers(sweep: Any) -> None:
    """Other metrics on the axes draw another plot, with the table to it."""
    title = "document.querySelector('.front')._fullLayout.xaxis.title.text"
    before = sweep.evaluate(title)
    sweep.get_by_label("Across", exact=True).select_option("lag_area")
    assert sweep.evaluate(title) != before
    details = sweep.locator("details", has_text="The points as a table")
    details.locator("summary").click()
    details.locator("tbody tr").first.wait_for(timeout=5_000)
    assert details.locator("tbody tr").count() == 3


def test_a_sweep_of_failed_runs_only(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a single result the page says so, lists the errors, and draws no empty plot."""
    simulate = page_samples.simulate
    monkeypatch.setattr(page_samples, "simulate", lambda _, *rest, **more: simulate("nonsense", *rest, **more))
    file = tmp_path / "failed.html"
    file.write_text(sweep_page(*page_samples.sweep(tmp_path, seeds=1)), "utf-8")
    opened = Opened(browser, file)
    assert "No run has ended well" in opened.page.locator("h1").inner_text()
    assert opened.page.locator(".plot").count() == 0
    assert "failed:" in opened.page.locator("[data-runs] tbody tr").inner_text()
    opened.close()

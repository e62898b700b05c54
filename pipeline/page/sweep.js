// A sweep: the answer, the grid, distributions, the front, what each axis does, and down to single runs.

function showSweep(container, page) {
  const sweep = sweepOf(page);
  const state = { metric: sweep.goals[0].metric, cell: sweep.recommended ?? sweep.best ?? sweep.baseline, listeners: [] };
  const known = sweep.cells.some((cell) => cell.done); // else there is nothing to plot
  container.replaceChildren(
    ...warnings(sweep),
    answerSection(sweep),
    gridSection(sweep, state),
    ...(known ? [spreadSection(sweep, state)] : []),
    ...(known && sweep.cells.length > 1 ? [frontSection(sweep)] : []),
    ...(known && sweep.effects.length ? [effectsSection(sweep)] : []),
    runsSection(sweep, state),
    assumptions(sweep.assumed, 2),
  );
}

function warnings(sweep) {
  return sweep.warnings.length ? [el("div", { class: "warning mild" }, sweep.warnings.map((text) => el("p", {}, withCode(text))))] : [];
}

// --- the answer ------------------------------------------------------------------------------------------------------

function answerSection(sweep) {
  const cells = namedCells(sweep);
  const goals = sweep.goals.map((goal) => sweep.metricOf.get(goal.metric));
  const columns = [
    { title: "cell", cell: (number) => cellName(sweep, number), head: true, class: "name" },
    { title: "is", cell: (number) => roleWords(sweep, number), class: "name" },
    ...goals.flatMap((metric) => [
      { title: metric.heading, cell: (number) => valueWords(sweep, metric, number), number: true },
      { title: "against the baseline", cell: (number) => againstBaseline(sweep, metric, number), class: "verdict" },
    ]),
    ...(sweep.goals.some((goal) => goal.at_most !== null || goal.at_least !== null) ? [{ title: "limits", cell: (number) => limitWords(sweep, number), class: "text" }] : []),
    { title: "runs", cell: (number) => runsWords(cellOf(sweep, number)), number: true },
  ];
  return section(2, "The answer",
    el("div", { class: "cards" }, circumstancesOf(sweep).map(answerCard)),
    tableOf("Means over the seeds with their 95 % intervals; differences paired by seed", columns, cells, { stack: true, row: (number) => ({ class: isRecommended(sweep, number) ? "best" : null }) }));
}

/** What the answer is in one circumstance: the sentence, and why. */
function answerCard(one) {
  return el("div", { class: "card" },
    one.name ? el("h3", {}, one.name) : null,
    el("p", {}, withCode(one.sentence)),
    one.reasons.length ? el("details", { class: "equivalent", open: !one.name }, el("summary", {}, "Why"), el("ul", {}, one.reasons.map((reason) => el("li", {}, withCode(reason))))) : null);
}

function roleWords(sweep, number) {
  const words = [...rolesOf(sweep, number)];
  const all = circumstancesOf(sweep);
  if (all.some((one) => one.runner_up === number)) words.push("runner-up");
  if (all.some((one) => one.best === number) && !isRecommended(sweep, number)) words.push("best in the first goal");
  return words.join(", ");
}

function valueWords(sweep, metric, number) {
  const one = statistic(sweep, metric.name, number);
  const digits = digitsOf(metric, one);
  const within = interval(metric, one, digits);
  return [el("strong", {}, shown(metric, one.value, digits)), within ? el("div", { class: "aside" }, within) : null];
}

function againstBaseline(sweep, metric, number) {
  if (isBaseline(sweep, number)) return "–";
  const one = comparison(sweep, metric.name, number);
  return one ? [verdictNode(one), el("div", { class: "aside" }, differenceWords(metric, one))] : "–";
}

function limitWords(sweep, number) {
  const { limits } = cellOf(sweep, number);
  return limits.map((limit) => {
    const metric = sweep.metricOf.get(limit.metric);
    const runs = limit.breaking ? ` (not in ${count(limit.breaking, "run")})` : "";
    return el("div", { class: limit.keeps ? "" : "bad" }, `${limit.keeps ? "✓" : "✗"} ${metric.title} ${limit.bound} ${shown(metric, limit.limit)}${runs}`);
  });
}

function runsWords(cell) {
  const rest = [cell.failed ? `${cell.failed} failed` : "", cell.unfinished ? `${cell.unfinished} not run` : ""].filter((text) => text);
  return `${figure(cell.done)}${rest.length ? ` (${rest.join(", ")})` : ""}`;
}

// --- grid, distributions, front, effects ------------------------------------------------------------------------------

function metricOptions(sweep) {
  return sweep.metrics.filter((metric) => sweep.statistics[metric.name]).map((metric) => [metric.name, titleOf(metric)]);
}

function gridSection(sweep, state) {
  const holder = el("div", {});
  const draw = () => holder.replaceChildren(gridTable(sweep, sweep.metricOf.get(state.metric), state.cell, (number) => chooseCell(state, number)));
  const change = (name) => {
    state.metric = name;
    state.listeners.forEach((listen) => listen());
  };
  state.listeners.push(draw);
  draw();
  const left = sweep.metrics.filter((metric) => !sweep.statistics[metric.name]).length;
  return section(2, "All cells",
    el("div", { class: "controls" }, chooser("Metric", metricOptions(sweep), state.metric, change, { "data-choose": "metric" })),
    left ? el("p", { class: "note" }, `${count(left, "metric")} left out for want of room; results/cells.parquet has them.`) : null,
    el("p", { class: "note screen" }, "A cell’s value leads to its runs below."),
    holder);
}

function chooseCell(state, number) {
  state.cell = number;
  state.listeners.forEach((listen) => listen());
  const heading = document.querySelector("[data-runs] h2");
  heading.scrollIntoView({ block: "start" });
  heading.focus();
}

function spreadSection(sweep, state) {
  const holder = el("div", {});
  let paired = false;
  const modes = ["values", "differences to the baseline, paired by seed"].map((text, index) => el("button", { type: "button", "aria-pressed": String(index === 0), onclick: () => {
    paired = index === 1;
    modes.forEach((button, other) => button.setAttribute("aria-pressed", String(other === index)));
    draw();
  } }, text));
  let drawnFor = null;
  const draw = () => {
    const metric = sweep.metricOf.get(state.metric);
    drawnFor = state.metric;
    holder.replaceChildren(...spreadNotes(sweep, metric), spreadPlot(sweep, metric, paired).node, statisticsTable(sweep, metric));
    drawPlots();
  };
  state.listeners.push(() => {
    if (drawnFor !== state.metric) draw();
  });
  draw();
  return section(2, "Distributions over the seeds",
    el("div", { class: "controls" }, sweep.cells.length > 1 ? modes : null),
    el("p", { class: "note" }, "A dot is one seed; the box spans the middle half; ◆ is the mean with its 95 % interval. The metric is the one chosen above."),
    holder);
}

function spreadNotes(sweep, metric) {
  const notes = [];
  if (metric.pooled) notes.push("This metric is a quantile over things of all runs together, so there is no value per seed.");
  else if (!sweep.values.of[metric.name]) notes.push("The values per seed are left out for want of room; the table runs has them.");
  if (sweep.cells.length > MANY_STRIPS) notes.push(`The best ${MANY_STRIPS} of ${figure(sweep.cells.length)} cells are drawn, and those the answer names; the table has them all.`);
  return notes.map((text) => el("p", { class: "note" }, text));
}

function frontSection(sweep) {
  const options = metricOptions(sweep);
  const chosen = { across: sweep.goals[0].metric, up: (sweep.goals[1] || { metric: options.map(([name]) => name).find((name) => name !== sweep.goals[0].metric) }).metric };
  const holder = el("div", {});
  const draw = () => {
    const [across, up] = [sweep.metricOf.get(chosen.across), sweep.metricOf.get(chosen.up)];
    holder.replaceChildren(frontPlot(sweep, across, up), frontTable(sweep, across, up));
    drawPlots();
  };
  draw();
  const pick = (axis) => (name) => {
    chosen[axis] = name;
    draw();
  };
  return section(2, "Where two goals conflict",
    el("div", { class: "controls" }, chooser("Across", options, chosen.across, pick("across")), chooser("Up", options, chosen.up, pick("up"))),
    el("p", { class: "note" }, `▲ on the Pareto front: no other cell ${sweep.circumstances.length ? "of its circumstance " : ""}is better in both. ★ recommended, ◇ baseline. Bars are 95 % intervals.`),
    holder);
}

function extremes(metric, one) {
  if (one.least === null) return "–";
  const digits = digitsFor(metric, [one.least, one.most]);
  return `${shown(metric, one.least, digits, false)} … ${shown(metric, one.most, digits, false)}`;
}

function effectsSection(sweep) {
  const goals = [...new Set(sweep.effects.map((one) => one.metric))].map((name) => sweep.metricOf.get(name));
  return section(2, "What each axis does by itself",
    el("p", { class: "note" }, "Changing one axis alone, averaged over the settings of all others, paired by seed. Where the extremes differ much, the effect depends on the other axes."),
    goals.map((metric) => {
      const effects = sweep.effects.filter((one) => one.metric === metric.name && one.difference !== null);
      return el("div", { class: "together" }, el("h3", {}, metric.title), effects.length ? effectsPlot(sweep, metric, effects).node : null,
        tableOf(`Effects on ${metric.title}`, [
          { title: "axis", cell: (one) => one.axis, head: true },
          { title: "from", cell: (one) => one.base },
          { title: "to", cell: (one) => one.value },
          { title: "changes it by (95 % interval)", cell: (one) => differenceWords(metric, one), number: true },
          { title: "extremes", cell: (one) => extremes(metric, one), number: true },
          { title: "verdict", cell: verdictNode },
        ], sweep.effects.filter((one) => one.metric === metric.name)));
    }));
}

// --- runs ---------------------------------------------------------------------------------------------------------------

const MANY_RUNS = 500;

function runsSection(sweep, state) {
  const list = el("div", {});
  const one = el("div", {});
  const found = section(2, "From a cell to its runs",
    el("div", { class: "controls" }, chooser("Cell", sweep.cells.map((cell) => [cell.number, `${cell.number}: ${cellName(sweep, cell.number)}`]), state.cell, (value) => {
      state.cell = Number(value);
      state.listeners.forEach((listen) => listen());
    }, { "data-choose": "cell" })),
    el("p", { class: "note" }, `${sweep.room}: of each cell the median, the worst and the best in the first goal, as far as there is room. The command shows any other.`),
    list);
  found.setAttribute("data-runs", "");
  const holder = el("div", {}, found, one);
  let drawnFor = null;
  const draw = () => {
    if (drawnFor === state.cell) return;
    drawnFor = state.cell;
    found.querySelector("select").value = String(state.cell);
    list.replaceChildren(cellFacts(sweep, state.cell), runsTable(sweep, state.cell, (seed) => showOneRun(sweep, one, state.cell, seed, true)));
    const median = sweep.whole.find((run) => run.cell === state.cell);
    if (median) showOneRun(sweep, one, state.cell, median.seed, false);
    else one.replaceChildren();
  };
  state.listeners.push(draw);
  draw();
  return holder;
}

function cellFacts(sweep, number) {
  const cell = cellOf(sweep, number);
  const settings = Object.entries(cell.settings).map(([path, value]) => `${path}=${value}`);
  const command = sweep.runs.commands[number];
  return el("div", {},
    settings.length ? el("p", {}, "Settings: ", settings.map((text, index) => [index ? ", " : "", el("code", {}, text)])) : null,
    command ? el("p", {}, "Any of its runs: ", el("code", {}, `${command} --seed N --report run.html`)) : null,
    cell.warnings.map((text) => el("p", { class: "bad" }, text)));
}

function runsTable(sweep, number, show) {
  const seeds = sweep.values.seeds;
  const failures = new Map(sweep.runs.failures.filter(([cell]) => cell === number).map(([, seed, error, count]) => [seed, count > 1 ? `${error} (so did ${figure(count - 1)} more)` : error]));
  const headlines = new Map(sweep.runs.headlines.filter(([cell]) => cell === number).map(([, seed, text]) => [seed, text]));
  const names = [...new Set([...sweep.goals.map((goal) => goal.metric), "rebalances", "unserved_us", "duplicates"])].filter((name) => sweep.values.of[name]);
  const value = (name) => (seed) => {
    const found = sweep.values.of[name][sweep.line.get(number)][seeds.indexOf(seed)];
    return shown(sweep.metricOf.get(name), found, undefined, false);
  };
  const known = seeds.filter((seed, index) => failures.has(seed) || headlines.has(seed) || names.some((name) => sweep.values.of[name][sweep.line.get(number)][index] !== null));
  const table = tableOf(`Runs of cell ${number}: ${cellName(sweep, number)}`, [
    { title: "seed", number: true, head: true, cell: (seed) => runLink(sweep, number, seed, show) },
    { title: "stands for", cell: (seed) => (sweep.wholeOf.get(`${number}/${seed}`) || { why: "" }).why },
    ...names.map((name) => ({ title: titleOf(sweep.metricOf.get(name), sweep.metricOf.get(name).title), cell: value(name), number: true })),
    { title: "in a sentence", cell: (seed) => (failures.has(seed) ? el("span", { class: "bad" }, `failed: ${failures.get(seed)}. Repeat: `, el("code", {}, `${sweep.runs.commands[number]} --seed ${seed}`)) : headlines.get(seed) || ""), class: "sentence" },
  ], known.slice(0, MANY_RUNS));
  if (known.length > 12) table.classList.add("tall", "short");
  return table;
}

function runLink(sweep, number, seed, show) {
  if (!sweep.wholeOf.has(`${number}/${seed}`)) return String(seed);
  return el("button", { type: "button", class: "link", "aria-label": `Seed ${seed}: show its lanes and messages`, onclick: () => show(seed) }, String(seed));
}

function showOneRun(sweep, holder, number, seed, focus) {
  const { run, why } = sweep.wholeOf.get(`${number}/${seed}`);
  const whole = runOf(run, { causes: sweep.causes });
  const body = el("div", {});
  const found = section(2, `One run: seed ${seed} of ${cellName(sweep, number)}`,
    el("p", { class: "lede" }, whole.row.headline), el("p", { class: "note" }, `The ${why} of its cell in ${sweep.goals[0].title}. Repeat it with `, el("code", {}, whole.row.repeat)), body);
  found.setAttribute("data-run", `${number}/${seed}`);
  holder.replaceChildren(found);
  showRun(body, whole, 3);
  drawPlots();
  if (focus) {
    found.querySelector("h2").scrollIntoView({ block: "start" });
    found.querySelector("h2").focus();
  }
}

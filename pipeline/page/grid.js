// The grid of a sweep: every cell with the value of one metric, coloured from the best to the worst.

const MANY_CELLS = 600; // larger grids are shown as a list of the best
const BEST_OF_MANY = 100;

/** A sweep as the page shows it: the data, and what follows from it. */
function sweepOf(page) {
  const metrics = new Map(page.metrics.map((metric) => [metric.name, metric]));
  const line = new Map(page.cells.map((cell, index) => [cell.number, index]));
  const whole = new Map(page.whole.map((one) => [`${one.cell}/${one.seed}`, one]));
  return { ...page, metricOf: metrics, line, wholeOf: whole };
}

function cellOf(sweep, number) {
  return sweep.cells[sweep.line.get(number)];
}

/** A cell in words: the values of the axes. */
function cellName(sweep, number) {
  return cellOf(sweep, number).labels.map((label, axis) => `${sweep.axes[axis][0]}=${label}`).join(", ") || "the scenario as it is";
}

/** The cell that this one is compared with: under given axes, that of its own circumstances. */
const baselineOf = (sweep, number) => cellOf(sweep, number).baseline;
const isBaseline = (sweep, number) => number !== null && baselineOf(sweep, number) === number;
const isRecommended = (sweep, number) => sweep.all_recommended.includes(number);

/** The cells that the answer names: for each circumstance the recommended one, the next best and the baseline. */
function namedCells(sweep) {
  const all = sweep.circumstances.length ? sweep.circumstances : [sweep];
  const numbers = all.flatMap((one) => [one.recommended, one.best, one.runner_up, one.baseline]);
  return [...new Set(numbers.filter((number) => number !== null && number !== undefined))];
}

/** The circumstances of a sweep, each with its cells; one without a name where no axis is given. */
function circumstancesOf(sweep) {
  if (!sweep.circumstances.length) return [{ ...sweep, name: "", cells: sweep.cells }];
  return sweep.circumstances.map((one) => ({
    ...one,
    name: Object.entries(one.labels).map(([axis, label]) => `${axis}=${label}`).join(", "),
    cells: sweep.cells.filter((cell) => sweep.axes.every(([axis], index) => !(axis in one.labels) || cell.labels[index] === one.labels[axis])),
  }));
}

/** A cell by the labels of the axes that are a choice: without those of its circumstance. */
function chosenName(sweep, number) {
  const given = sweep.circumstances.length ? sweep.circumstances[0].labels : {};
  return cellOf(sweep, number).labels.filter((_, axis) => !(sweep.axes[axis][0] in given)).join(" · ") || "as it is";
}

/** What a cell is in the answer. */
function rolesOf(sweep, number) {
  const cell = cellOf(sweep, number);
  return [
    isRecommended(sweep, number) ? "★ recommended" : "",
    isBaseline(sweep, number) ? "◇ baseline" : "",
    cell.front ? "▲ front" : "",
    cell.limits.some((limit) => !limit.keeps) ? "✗ limit" : "",
  ].filter((role) => role);
}

/** Statistic of a cell: {value, low, high, p50, p95, least, most, n, missing}; all null where there is none. */
function statistic(sweep, metric, number) {
  const found = sweep.statistics[metric] && sweep.statistics[metric][sweep.line.get(number)];
  const names = ["value", "low", "high", "p50", "p95", "least", "most", "n", "missing"];
  return Object.fromEntries(names.map((name, index) => [name, found ? found[index] : null]));
}

/** Comparison of a cell with the baseline (or the best): {difference, low, high, pairs, p, verdict}, or null. */
function comparison(sweep, metric, number, role = "against_baseline") {
  const found = sweep[role][metric] && sweep[role][metric][number];
  if (!found) return null;
  const [difference, low, high, pairs, p, verdict] = found;
  return { difference, low, high, pairs, p, verdict };
}

/** A metric with its unit; `of` is how it is called, by default as over the values of a cell. */
function titleOf(metric, of = metric.heading) {
  return `${of}${metric.unit && metric.unit !== "records" ? ` (${metric.unit})` : ""}`;
}

// --- numbers ---------------------------------------------------------------------------------------------------

/** Decimals to write these values with, as the terminal does: three figures or so of the largest; whole counts stay whole. */
function digitsFor(metric, values) {
  const known = values.filter((value) => value !== null && value !== undefined).map((value) => Math.abs(value) / metric.scale);
  const largest = Math.max(0, ...known);
  if (largest >= 100 || (metric.scale === 1 && known.every(Number.isInteger))) return 0;
  return largest >= 1 ? 1 : largest >= 0.1 || largest === 0 ? 2 : 3;
}

/** A number rounded as Python does it: what is exactly between two goes to the even one, and the text is the exact number. */
function rounded(number, digits) {
  const style = { minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode: "halfEven" };
  return new Intl.NumberFormat("en-US", style).format(number.toFixed(30));
}

/** A value of a metric in the unit people read. */
function shown(metric, value, digits = digitsFor(metric, [value]), unit = true) {
  if (value === null || value === undefined) return "–";
  const number = rounded(value / metric.scale, digits);
  const text = /[1-9]/.test(number) ? number : number.replace("-", "");
  return unit && metric.unit ? `${text.replace("-", "−")} ${metric.unit}` : text.replace("-", "−");
}

/** Decimals of a value with its interval. */
const digitsOf = (metric, one) => digitsFor(metric, [one.value, one.low, one.high]);

/** An interval, without the unit. */
function interval(metric, one, digits = digitsOf(metric, one)) {
  if (one.low === null || one.high === null) return "";
  const [low, high] = [one.low, one.high].map((end) => shown(metric, end, digits, false));
  return low === high ? "" : `${low} … ${high}`;
}

/** A difference with its interval; ends that differ are written with so many decimals that it is seen. */
function differenceWords(metric, one) {
  if (!one || one.difference === null) return "–";
  let digits = digitsFor(metric, [one.difference, one.low, one.high]);
  while (digits < 3 && one.low !== one.high && !interval(metric, one, digits)) digits += 1;
  const sign = one.difference > 0 ? "+" : "";
  const within = interval(metric, one, digits);
  return `${sign}${shown(metric, one.difference, digits)}${within ? ` (${within})` : ""}`;
}

const VERDICT_MOOD = { better: "good", worse: "bad" };
const VERDICT_MARK = { better: "✓ ", worse: "✗ " };

function verdictNode(one) {
  if (!one) return "–";
  return el("span", { class: VERDICT_MOOD[one.verdict] || "aside" }, `${VERDICT_MARK[one.verdict] || ""}${one.verdict}`);
}

// --- the table -------------------------------------------------------------------------------------------------

/** How far a value is from the best one, 0 to 1. */
function badness(sweep, metric) {
  const values = sweep.cells.map((cell) => statistic(sweep, metric.name, cell.number).value).filter((value) => value !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (value) => {
    if (value === null || high === low) return 0;
    const share = (value - low) / (high - low);
    return metric.better === "lower" ? share : 1 - share;
  };
}

/** The axis whose values are columns: the one with most values of those that fit; none when there is but one axis. */
function acrossAxis(sweep) {
  if (sweep.axes.length < 2) return null;
  const sizes = sweep.axes.map(([, labels]) => (labels.length <= 8 ? labels.length : 0));
  return sizes.lastIndexOf(Math.max(...sizes));
}

/** The grid for one metric. `choose(cell number)` is called when somebody picks a cell. */
function gridTable(sweep, metric, chosen, choose) {
  if (sweep.cells.length > MANY_CELLS) return bestCells(sweep, metric, chosen, choose);
  const bad = badness(sweep, metric);
  const across = acrossAxis(sweep);
  const columns = across === null ? [[null, metric.heading]] : sweep.axes[across][1].map((label) => [label, label]);
  const rows = new Map();
  for (const cell of sweep.cells) {
    const key = JSON.stringify(cell.labels.filter((_, axis) => axis !== across));
    if (!rows.has(key)) rows.set(key, new Map());
    rows.get(key).set(across === null ? null : cell.labels[across], cell);
  }
  const heads = sweep.axes.filter((_, axis) => axis !== across);
  const id = freshId("grid");
  const table = el("table", { class: "grid" },
    el("caption", { id }, el("span", { class: "said" }, `${titleOf(metric)}: ${metric.pooled ? "over all runs of the cell" : "mean over the seeds"}, with its 95 % interval. ${metric.better === "lower" ? "Lower" : "Higher"} is better; the stronger the colour, the worse.`)),
    el("thead", {},
      across === null ? null : el("tr", {}, heads.map(() => el("td", {})), el("th", { colspan: columns.length, scope: "colgroup" }, sweep.axes[across][0])),
      el("tr", {}, heads.map(([name]) => el("th", { scope: "col" }, name)), columns.map(([, title]) => el("th", { scope: "col" }, title)))),
    el("tbody", {}, [...rows.entries()].map(([key, cells]) => el("tr", {},
      JSON.parse(key).map((label) => el("th", { scope: "row" }, label)),
      columns.map(([label]) => gridCell(sweep, metric, cells.get(label), bad, chosen, choose))))));
  return el("div", { class: `frame${rows.size > 30 ? " tall" : ""}`, role: "region", tabindex: "0", "aria-labelledby": id }, table);
}

function gridCell(sweep, metric, cell, bad, chosen, choose) {
  if (!cell) return el("td", { class: "left-out" }, "left out");
  const one = statistic(sweep, metric.name, cell.number);
  const digits = digitsOf(metric, one);
  const share = one.value === null ? 0 : Math.round(bad(one.value) * 45);
  const roles = rolesOf(sweep, cell.number);
  return el("td", { class: `cell${cell.number === chosen ? " chosen" : ""}`, style: `--share: ${share}%` },
    el("button", { type: "button", class: "cell", "aria-pressed": String(cell.number === chosen), "aria-label": `${cellName(sweep, cell.number)}: ${shown(metric, one.value, digits)}${roles.length ? `, ${roles.join(", ")}` : ""}. Show its runs`, onclick: () => choose(cell.number) },
      el("span", { class: "value" }, shown(metric, one.value, digits, false)),
      el("span", { class: "interval" }, interval(metric, one, digits)),
      roles.length ? el("span", { class: "roles" }, roles.join(" ")) : null,
      cell.failed ? el("span", { class: "roles bad" }, `${cell.failed} failed`) : null));
}

/** For a grid too large for a table: its best cells as a list. */
function bestCells(sweep, metric, chosen, choose) {
  const known = sweep.cells.filter((cell) => statistic(sweep, metric.name, cell.number).value !== null);
  const sign = metric.better === "lower" ? 1 : -1;
  const ranked = known.sort((a, b) => sign * (statistic(sweep, metric.name, a.number).value - statistic(sweep, metric.name, b.number).value)).slice(0, BEST_OF_MANY);
  const named = namedCells(sweep).filter((number) => !ranked.some((cell) => cell.number === number)).map((number) => cellOf(sweep, number));
  const bad = badness(sweep, metric);
  const table = tableOf(`${metric.heading}: the best ${ranked.length} of ${figure(sweep.cells.length)} cells`, [
    { title: "cell", cell: (cell) => cellName(sweep, cell.number), head: true },
    { title: metric.heading, cell: (cell) => gridCell(sweep, metric, cell, bad, chosen, choose).firstChild },
  ], [...ranked, ...named]);
  table.classList.add("tall");
  return table;
}

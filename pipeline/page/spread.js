// Distributions: the values of every seed, cell by cell, and the differences to the baseline, paired by seed.

const MANY_STRIPS = 40; // more cells are not drawn; the table has them all

/** The cells to draw: all, or those named in the answer and the best in this metric. */
function cellsToDraw(sweep, metric) {
  if (sweep.cells.length <= MANY_STRIPS) return sweep.cells;
  const sign = metric.better === "lower" ? 1 : -1;
  const named = namedCells(sweep);
  const rank = (cell) => {
    if (named.includes(cell.number)) return -Infinity;
    const { value } = statistic(sweep, metric.name, cell.number);
    return value === null ? Infinity : sign * value;
  };
  const chosen = new Set([...sweep.cells].sort((a, b) => rank(a) - rank(b)).slice(0, MANY_STRIPS));
  return sweep.cells.filter((cell) => chosen.has(cell));
}

/** Values of a cell per seed, or differences to the baseline; nothing where one is missing. */
function perSeed(sweep, metric, number, paired) {
  const all = sweep.values.of[metric.name];
  if (!all) return null;
  const mine = all[sweep.line.get(number)];
  if (!paired) return mine;
  const base = all[sweep.line.get(baselineOf(sweep, number))];
  return mine.map((value, index) => (value === null || base[index] === null ? null : value - base[index]));
}

/** The lines of a cell's label: one as a rule, up to three on a narrow screen. */
function stripLabel(sweep, number) {
  const mark = isRecommended(sweep, number) ? "★ " : isBaseline(sweep, number) ? "◇ " : "";
  const label = cellOf(sweep, number).labels.join(" · ") || "as it is";
  return labelLines(mark + label, 46);
}

/** A label of a plot's line: cut to `longest` on a wide screen, in up to three lines on a narrow one. */
function labelLines(label, longest) {
  if (onPaper || document.documentElement.clientWidth >= NARROW) return [short(label, longest)];
  const lines = inLines(label, 20);
  const shown = lines.length > 3 ? [...lines.slice(0, 2), lines.slice(2).join(" ")] : lines;
  return shown.map((line) => short(line, 22));
}

/** The room (px) left of a plot for labels of such lines. */
function roomForLabels(labels) {
  return 20 + Math.max(6, ...labels.flat().map((line) => line.length)) * 6.8;
}

/** The height (px) that each line of a plot needs for its label. */
function heightForLabels(labels, least) {
  return Math.max(least, 6 + 15 * Math.max(1, ...labels.map((lines) => lines.length)));
}

/** One strip per cell: a dot per seed, a box, and the mean with its interval. */
function spreadPlot(sweep, metric, paired) {
  const cells = cellsToDraw(sweep, metric).filter((cell) => !paired || !isBaseline(sweep, cell.number));
  const what = paired ? `difference to the baseline in ${metric.title}, seed by seed` : `${metric.title}, seed by seed`;
  const words = `Distribution over the seeds for ${count(cells.length, "cell")}: ${what}. The table below says the same.`;
  return plot(words, () => ({ data: spreadTraces(sweep, metric, cells, paired), layout: spreadLayout(sweep, metric, cells, paired) }), "spread");
}

function spreadTraces(sweep, metric, cells, paired) {
  const boxes = cells.flatMap((cell, index) => {
    const values = perSeed(sweep, metric, cell.number, paired);
    if (!values) return [];
    const seen = values.map((value, seed) => [value, sweep.values.seeds[seed]]).filter(([value]) => value !== null);
    return [{
      type: "box", orientation: "h", x: seen.map(([value]) => value / metric.scale), y0: index, name: "", boxpoints: "all", jitter: 0.5, pointpos: 0, width: 0.6,
      hovertext: seen.map(([value, seed]) => hoverLines(cellName(sweep, cell.number), `seed ${seed}: ${shown(metric, value)}`)), hoverinfo: "text", hoveron: "points",
      marker: { size: 4, color: colour("accent"), opacity: 0.75 }, line: { width: 1, color: colour("line") }, fillcolor: "rgba(0,0,0,0)", showlegend: false,
    }];
  });
  const means = cells.map((cell, index) => {
    const one = paired ? comparison(sweep, metric.name, cell.number) : statistic(sweep, metric.name, cell.number);
    return one && { index, value: paired ? one.difference : one.value, low: one.low, high: one.high, cell };
  }).filter((one) => one && one.value !== null);
  return [...boxes, {
    type: "scatter", mode: "markers", x: means.map((one) => one.value / metric.scale), y: means.map((one) => one.index + 0.4), showlegend: false,
    marker: { symbol: "diamond", size: 8, color: colour("text") },
    error_x: { type: "data", symmetric: false, color: colour("text"), thickness: 2, width: 4,
      array: means.map((one) => (one.high === null ? 0 : (one.high - one.value) / metric.scale)), arrayminus: means.map((one) => (one.low === null ? 0 : (one.value - one.low) / metric.scale)) },
    hovertext: means.map((one) => hoverLines(cellName(sweep, one.cell.number), `${paired ? "mean difference" : metric.pooled ? "pooled" : "mean"} ${shown(metric, one.value, digitsOf(metric, one))}`, one.low === null ? "" : `95 % interval ${interval(metric, one)}`)), hoverinfo: "text",
  }];
}

function spreadLayout(sweep, metric, cells, paired) {
  const labels = cells.map((cell) => stripLabel(sweep, cell.number));
  const left = roomForLabels(labels);
  const zero = paired ? [{ type: "line", xref: "x", yref: "paper", x0: 0, x1: 0, y0: 0, y1: 1, line: { width: 1.5, color: colour("text") } }] : [];
  return {
    height: Math.max(130, cells.length * heightForLabels(labels, onPaper ? 26 : 38) + 60),
    margin: { l: left, r: 16, t: 8, b: onPaper || document.documentElement.clientWidth >= NARROW ? 46 : 64 },
    xaxis: { title: axisTitle(`${paired ? "difference to the baseline: " : ""}${titleOf(metric)}`, left), zeroline: false, rangemode: paired ? "normal" : "tozero" },
    yaxis: { range: [cells.length - 0.4, -0.6], fixedrange: true, tickvals: cells.map((_, index) => index), ticktext: labels.map((lines) => lines.map(plain).join("<br>")), showgrid: false, zeroline: false, ticks: "" },
    shapes: zero,
  };
}

/** Statistics of every cell in one metric, as a table. */
function statisticsTable(sweep, metric) {
  const baseline = sweep.circumstances.length ? "the baseline of the same circumstances" : cellName(sweep, sweep.baseline);
  const value = (name) => (cell) => shown(metric, statistic(sweep, metric.name, cell.number)[name], undefined, false);
  const mean = (cell) => shown(metric, statistic(sweep, metric.name, cell.number).value, digitsOf(metric, statistic(sweep, metric.name, cell.number)), false);
  const against = (cell) => comparison(sweep, metric.name, cell.number);
  return asTable("Statistics as a table", `${titleOf(metric)}; differences to ${baseline}, paired by seed, p corrected for the number of cells`, [
    { title: "cell", cell: (cell) => cellName(sweep, cell.number), head: true },
    { title: metric.pooled ? "value" : "mean", cell: mean, number: true },
    { title: "95 % interval", cell: (cell) => interval(metric, statistic(sweep, metric.name, cell.number)) || "–", number: true },
    ...(metric.pooled ? [] : [{ title: "p50", cell: value("p50"), number: true }, { title: "p95", cell: value("p95"), number: true }]),
    { title: "least", cell: value("least"), number: true },
    { title: "most", cell: value("most"), number: true },
    { title: "seeds", cell: (cell) => figure(statistic(sweep, metric.name, cell.number).n), number: true },
    { title: "difference (95 % interval)", cell: (cell) => (isBaseline(sweep, cell.number) ? "baseline" : differenceWords(metric, against(cell))), number: true },
    { title: "p", cell: (cell) => (against(cell) ? pValue(against(cell).p) : "–"), number: true },
    { title: "verdict", cell: (cell) => verdictNode(against(cell)) },
  ], () => sweep.cells);
}

function pValue(p) {
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}

// Where two goals conflict: every cell as a point with its intervals, and a Pareto front as a line for each circumstance.

/** The points of a sweep, and by circumstance which of them no other of the same circumstance beats in both metrics. */
function pointsOf(sweep, across, up) {
  const fronts = circumstancesOf(sweep).map((one, index) => {
    const points = one.cells.map((cell) => ({ cell, series: index, x: statistic(sweep, across.name, cell.number), y: statistic(sweep, up.name, cell.number) }))
      .filter((point) => point.x.value !== null && point.y.value !== null);
    return { name: one.name, look: { fill: `series-${1 + (index % SERIES)}` }, points, best: frontOf(points, across, up) };
  });
  return { fronts, points: fronts.flatMap((one) => one.points), best: new Set(fronts.flatMap((one) => one.best)) };
}

const SERIES = 6; // colours of the style sheet for circumstances

function frontPlot(sweep, across, up) {
  const { fronts, points, best } = pointsOf(sweep, across, up);
  const words = `Every cell as a point: ${across.title} across, ${up.title} up; ${count(best.size, "cell")} that no other ${fronts.length > 1 ? "of its circumstance " : ""}beats in both. The table below says the same.`;
  const drawing = plot(words, () => ({ data: frontTraces(sweep, fronts, points, best, across, up), layout: frontLayout(across, up) }), "front");
  const colours = fronts.length > 1 ? legend("Colours of circumstances", fronts.map((one) => [one.name, one.look])) : null;
  return el("div", {}, colours, drawing.node);
}

/** The points that no other beats in both metrics, in order. */
function frontOf(points, across, up) {
  const [first, second] = [across, up].map((metric) => (metric.better === "lower" ? 1 : -1));
  const beats = (a, b) => first * a.x.value <= first * b.x.value && second * a.y.value <= second * b.y.value && (a.x.value !== b.x.value || a.y.value !== b.y.value);
  return points.filter((one) => !points.some((other) => beats(other, one))).sort((a, b) => a.x.value - b.x.value || a.y.value - b.y.value);
}

function frontTraces(sweep, fronts, points, isBest, across, up) {
  const errors = (axis, metric) => ({
    type: "data", symmetric: false, thickness: 1, width: 3, color: colour("line"),
    array: points.map((one) => (one[axis].high === null ? 0 : (one[axis].high - one[axis].value) / metric.scale)),
    arrayminus: points.map((one) => (one[axis].low === null ? 0 : (one[axis].value - one[axis].low) / metric.scale)),
  });
  const named = (one) => isRecommended(sweep, one.cell.number) || isBaseline(sweep, one.cell.number);
  const lines = fronts.map((one) => ({
    type: "scatter", mode: "lines", x: one.best.map((point) => point.x.value / across.scale), y: one.best.map((point) => point.y.value / up.scale),
    line: { color: colour(one.look.fill), width: 2, shape: "hv", dash: "dot" }, hoverinfo: "skip", showlegend: false,
  }));
  return [
    ...lines,
    {
      type: "scatter", mode: "markers+text", x: points.map((one) => one.x.value / across.scale), y: points.map((one) => one.y.value / up.scale),
      error_x: errors("x", across), error_y: errors("y", up), showlegend: false,
      text: pointLabels(sweep, points, points.filter((one) => named(one) || isBest.has(one))), textposition: points.map((one) => (one.series % 2 ? "bottom right" : "top right")), textfont: { size: 11, color: colour("text") }, cliponaxis: false,
      hovertext: points.map((one) => hoverLines(cellName(sweep, one.cell.number), `${across.title} ${shown(across, one.x.value, digitsOf(across, one.x))} (${interval(across, one.x) || "no interval"})`, `${up.title} ${shown(up, one.y.value, digitsOf(up, one.y))} (${interval(up, one.y) || "no interval"})`, rolesOf(sweep, one.cell.number).join(" "))), hoverinfo: "text",
      marker: {
        size: points.map((one) => (isRecommended(sweep, one.cell.number) ? 16 : isBest.has(one) ? 15 : 9)),
        symbol: points.map((one) => (isRecommended(sweep, one.cell.number) ? "star" : isBest.has(one) ? "triangle-up" : isBaseline(sweep, one.cell.number) ? "diamond-open" : "circle-open")),
        color: points.map((one) => colour(isBest.has(one) || fronts.length > 1 ? fronts[one.series].look.fill : "quiet")), line: { width: 1.5 },
      },
    },
  ];
}

/** A label for each point, empty for most; of points so near to each other that labels would cross one has its name, and says how many others there are. */
function pointLabels(sweep, points, toLabel) {
  const size = (axis) => Math.max(1e-9, ...points.map((one) => one[axis].value)) - Math.min(...points.map((one) => one[axis].value)) || 1;
  const [wide, high] = [size("x"), size("y")];
  const clusters = [];
  for (const one of toLabel) {
    const near = clusters.find(([first]) => first.series === one.series && Math.abs(first.x.value - one.x.value) < wide * 0.25 && Math.abs(first.y.value - one.y.value) < high * 0.06);
    if (near) near.push(one);
    else clusters.push([one]);
  }
  const words = new Map(clusters.map((list) => {
    const rightmost = list.reduce((best, one) => (one.x.value > best.x.value ? one : best));
    const first = list.find((one) => isRecommended(sweep, one.cell.number)) || list[0];
    const name = short(chosenName(sweep, first.cell.number), onPaper || document.documentElement.clientWidth < NARROW ? 18 : 40);
    return [rightmost, plain(name + (list.length > 1 ? ` +${list.length - 1}` : ""))];
  }));
  return points.map((one) => words.get(one) || "");
}

function frontLayout(across, up) {
  const narrow = !onPaper && document.documentElement.clientWidth < NARROW;
  // Beside a narrow plot a title of several lines would take a sixth of its width; the choosers name the metric.
  const title = (metric) => (narrow ? metric.unit || " " : `${titleOf(metric)}, ${metric.better === "lower" ? "lower" : "higher"} is better`);
  return {
    height: onPaper ? 380 : 460,
    margin: { l: narrow ? 48 : 64, r: 24, t: 16, b: onPaper || document.documentElement.clientWidth >= NARROW ? 50 : 64 },
    xaxis: { title: axisTitle(title(across), 64), zeroline: false, rangemode: "tozero" },
    yaxis: { title: axisTitle(title(up)), zeroline: false, rangemode: "tozero" },
  };
}

function frontTable(sweep, across, up) {
  const value = (metric) => (cell) => {
    const one = statistic(sweep, metric.name, cell.number);
    const within = interval(metric, one);
    return `${shown(metric, one.value, digitsOf(metric, one), false)}${within ? ` (${within})` : ""}`;
  };
  const best = new Set([...pointsOf(sweep, across, up).best].map((one) => one.cell));
  return asTable("The points as a table", `${across.title} and ${up.title} of every cell`, [
    { title: "cell", cell: (cell) => cellName(sweep, cell.number), head: true },
    { title: across.title, cell: value(across), number: true },
    { title: up.title, cell: value(up), number: true },
    { title: "on the front", cell: (cell) => (best.has(cell) ? "▲ yes" : "no") },
    { title: "in the answer", cell: (cell) => rolesOf(sweep, cell.number).join(", ") || "–" },
  ], () => sweep.cells);
}

/** What one axis does by itself, on average over all others: a dot with its interval for each of its values. */
function effectsPlot(sweep, metric, effects) {
  const words = `What changing one axis alone does to ${metric.title}, on average. The table below says the same.`;
  return plot(words, () => {
    const labels = effects.map((one) => labelLines(`${one.axis}: ${one.base} → ${one.value}`, 44));
    const left = roomForLabels(labels);
    return {
      data: [{
        type: "scatter", mode: "markers", x: effects.map((one) => one.difference / metric.scale), y: effects.map((_, index) => index), showlegend: false,
        marker: { size: 10, symbol: effects.map((one) => ({ better: "triangle-down", worse: "triangle-up" })[one.verdict] || "circle-open"), color: effects.map((one) => colour({ better: "good", worse: "bad" }[one.verdict] || "quiet")), line: { width: 0 } },
        error_x: { type: "data", symmetric: false, color: colour("line"), thickness: 1.5, width: 4, array: effects.map((one) => (one.high === null ? 0 : (one.high - one.difference) / metric.scale)), arrayminus: effects.map((one) => (one.low === null ? 0 : (one.difference - one.low) / metric.scale)) },
        hovertext: effects.map((one) => hoverLines(`${one.axis}: ${one.value} instead of ${one.base}`, differenceWords(metric, one), one.verdict)), hoverinfo: "text",
      }],
      layout: {
        height: 70 + effects.length * heightForLabels(labels, 30), margin: { l: left, r: 16, t: 8, b: onPaper || document.documentElement.clientWidth >= NARROW ? 46 : 64 },
        xaxis: { title: axisTitle(`change of ${titleOf(metric)}`, left), zeroline: true, zerolinecolor: colour("line"), rangemode: "tozero" },
        yaxis: { range: [effects.length - 0.5, -0.5], fixedrange: true, tickvals: effects.map((_, index) => index), ticktext: labels.map((lines) => lines.map(plain).join("<br>")), showgrid: false, zeroline: false, ticks: "" },
      },
    };
  }, "effects");
}

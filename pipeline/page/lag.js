// How far a group was behind, over the time axis of the lanes.

/** The line of a group's lag; nothing where the page does not know it. */
function lagParts(run, group, view, level) {
  const points = (run.lag || {})[group];
  if (!points) return [];
  const [most, when] = points.reduce((best, [us, lag]) => (lag > best[0] ? [lag, us] : best), [0, 0]);
  const end = points[points.length - 1][1];
  const words = `Lag of group ${group}, all its partitions together: ${figure(most)} records at most, at ${clock(when)}; ${figure(end)} at the end.`;
  const generations = run.tables.changes.filter((one) => one.group_id === group);
  const one = plot(words, () => ({ data: [lagTrace(points)], layout: lagLayout(view, generations, points) }), "lanes");
  followWindow(one, view);
  return [el("div", { class: "together" }, el(`h${level + 1}`, {}, "How far it was behind"), el("p", { class: "note" }, words), one.node),
    lagTable(points, group)];
}

function lagTrace(points) {
  return {
    type: "scatter",
    mode: "lines",
    x: points.map(([us]) => dateOf(us)),
    y: points.map(([, lag]) => lag),
    hovertext: points.map(([us, lag]) => hoverLines(count(lag, "record"), clock(us))),
    hoverinfo: "text",
    line: { width: 1.5, color: colour("accent") },
    fill: "tozeroy",
    showlegend: false,
  };
}

function lagLayout(view, generations, points) {
  const few = points.every(([, lag]) => lag < 5); // a tick at every half would be labelled with a whole one
  return {
    height: 170,
    margin: { l: roomForNames(view.names), r: 20, t: 30, b: 8 },
    xaxis: timeAxis(view),
    yaxis: { rangemode: "tozero", fixedrange: true, ...(few ? { dtick: 1 } : { nticks: 5 }), tickformat: ",d", title: { text: "records", standoff: 6 }, automargin: false },
    shapes: generationShapes(generations, view),
  };
}

/** Every tenth instant or so: the line is drawn from more than anybody reads. */
function lagTable(points, group) {
  const step = Math.max(1, Math.floor(points.length / 60));
  return asTable("Lag as a table", `Records that group ${group} was behind`, [
    { title: "when", cell: ([us]) => clock(us), number: true, head: true },
    { title: "records behind", cell: ([, lag]) => figure(lag), number: true },
  ], () => points.filter((_, index) => index % step === 0 || index === points.length - 1));
}

// Swim lanes: what the group, its members and its partitions did, over one time axis that they share.

const PHASES = {
  outside: { fill: "lane-idle" },
  joining: { fill: "lane-joining" },
  syncing: { fill: "lane-syncing" },
  working: { fill: "lane-working" },
  "in callback": { fill: "lane-callback" },
  evicted: { fill: "lane-bad", pattern: "x", dark: true },
  paused: { fill: "lane-paused", pattern: "/" },
  dead: { fill: "lane-dead", pattern: "\\", dark: true },
};
const STATES = {
  Empty: { fill: "lane-idle" },
  PreparingRebalance: { fill: "lane-joining" },
  CompletingRebalance: { fill: "lane-syncing" },
  Stable: { fill: "lane-working" },
  Dead: { fill: "lane-dead", pattern: "\\", dark: true },
};
const STOPPED = { fill: "lane-bad", pattern: "/", dark: true };

const MANY_LANES = 64; // more partitions or members are not drawn unless asked for
const MANY_MARKS = 160; // more callbacks at once are not marked
const MANY_LINES = 120; // more generations get no vertical line each
const PRODUCER = "java-producer"; // the profile of a process that only produces
const SEEN_US = 100000; // what a producer does for less, such as its start, is not worth a lane
const NARROW = 600; // px; below it the names of lanes are cut shorter

/** The part of the time axis that all lanes show, and the generation that is marked in it. */
class Window {
  constructor(endUs, [from, to] = [0, endUs]) {
    this.endUs = endUs;
    this.from = from;
    this.to = to;
    this.marked = null;
    this.names = []; // of all lanes
    this.watchers = [];
  }

  show(from, to) {
    const length = Math.max(1000, Math.min(this.endUs, to - from));
    this.from = Math.max(0, Math.min(from, this.endUs - length));
    this.to = this.from + length;
    this.watchers.forEach((watch) => watch());
  }

  zoom(factor) {
    const middle = (this.from + this.to) / 2;
    const half = ((this.to - this.from) * factor) / 2;
    this.show(middle - half, middle + half);
  }

  move(share) {
    const step = (this.to - this.from) * share;
    this.show(this.from + step, this.to + step);
  }

  showGeneration(generation) {
    const length = generation.ended_us - generation.began_us;
    const around = Math.max(length * 0.4, 200000);
    this.marked = generation;
    this.show(generation.began_us - around, generation.ended_us + around);
  }

  mark(generation) {
    this.marked = generation;
    this.watchers.forEach((watch) => watch());
  }
}

/** The part of a run to show first: from the first to the last event, or all where that is most of it. */
function eventfulPart(run, group) {
  const { changes, stops } = run.tables;
  const events = [...changes, ...stops].filter((one) => one.group_id === group).concat(run.doings);
  if (!events.length) return [0, run.endUs];
  const from = Math.min(...events.map((one) => one.began_us));
  const to = Math.max(...events.map((one) => one.ended_us ?? one.began_us));
  const around = Math.max((to - from) * 0.05, 1e6);
  const part = [Math.max(0, from - around), Math.min(run.endUs, to + around)];
  return part[1] - part[0] < run.endUs * 0.8 ? part : [0, run.endUs];
}

// --- bars ------------------------------------------------------------------------------------------------------

/** Bars of one look. A bar is {lane, from, to, text, hover}; times in µs, drawn on a date axis in milliseconds. */
function barTrace(name, look, bars, isFill = false) {
  const fill = isFill ? look.fill : colour(look.fill);
  const hatched = look.pattern && !onPaper; // in a PDF every hatched bar is a picture of a quarter of a megabyte
  return {
    type: "bar",
    orientation: "h",
    name,
    y: bars.map((bar) => bar.lane),
    base: bars.map((bar) => dateOf(bar.from)),
    x: bars.map((bar) => (bar.to - bar.from) / 1000),
    width: 0.9,
    text: bars.map((bar) => plain(bar.text || "")),
    textposition: "inside",
    insidetextanchor: "middle",
    textangle: 0,
    textfont: { color: hatched ? colour("text") : look.dark ? colour("page") : INK, size: 11 },
    hovertext: bars.map((bar) => bar.hover),
    hoverinfo: "text",
    marker: {
      color: fill,
      line: look === STOPPED ? { width: 1, color: fill } : { width: 0.5, color: colour("page") }, // a short stop stays visible
      pattern: hatched ? { shape: look.pattern, bgcolor: colour("page"), fgcolor: fill, fillmode: "replace", size: 7, solidity: 0.6 } : undefined,
    },
    cliponaxis: true,
    showlegend: false,
  };
}

function hoverLines(...lines) {
  return lines.filter((line) => line).map(plain).join("<br>");
}

function stretch(from, to) {
  return `${clock(from)} – ${clock(to)} (${span(to - from)})`;
}

// --- what is in the lanes --------------------------------------------------------------------------------------

function stateBars(tables, group, lane) {
  const bars = {};
  for (const state of tables.states.filter((one) => one.group_id === group)) {
    const text = state.state === "Stable" ? `gen ${state.generation}` : "";
    const hover = hoverLines(state.state, `generation ${state.generation}`, stretch(state.began_us, state.ended_us), state.reason);
    (bars[state.state] ||= []).push({ lane, from: state.began_us, to: state.ended_us, text, hover });
  }
  return Object.entries(bars).map(([state, list]) => barTrace(state, STATES[state] || STOPPED, list));
}

function phaseBars(phases, laneOf) {
  const bars = {};
  for (const one of phases) {
    if (!laneOf.has(one.host) || (one.phase === "outside" && one.began_us === 0 && one.ended_us === 0)) continue;
    const hover = hoverLines(`${one.host}: ${one.phase}`, stretch(one.began_us, one.ended_us));
    const text = one.phase === "working" || one.phase === "outside" ? "" : one.phase;
    (bars[one.phase] ||= []).push({ lane: laneOf.get(one.host), from: one.began_us, to: one.ended_us, text, hover });
  }
  return Object.entries(bars).map(([phase, list]) => barTrace(phase, PHASES[phase] || STOPPED, list));
}

/**
 * Callbacks of the rebalance listener, as marks on the lane of their process: many are too short to see as bars. Those
 * that had nothing to do are left out, and of too many at once all but the failed ones.
 */
function callbackMarks(tables, laneOf, view) {
  const seen = tables.callbacks.filter((call) => laneOf.has(call.host) && call.began_us >= view.from && call.began_us <= view.to && (call.partitions || call.error));
  const calls = seen.length > MANY_MARKS ? seen.filter((call) => call.error) : seen;
  if (!calls.length) return [];
  return [{
    type: "scatter",
    mode: "markers",
    x: calls.map((call) => dateOf(call.began_us)),
    y: calls.map((call) => laneOf.get(call.host)),
    hovertext: calls.map((call) => hoverLines(
      `${call.host}: ${callbackName(call.callback)}`,
      count(call.partitions, "partition"),
      call.ended_us === null ? `${clock(call.began_us)}, did not return` : stretch(call.began_us, call.ended_us),
      call.error)),
    hoverinfo: "text",
    marker: {
      symbol: calls.map((call) => (call.error ? "x" : call.callback === "assigned" ? "triangle-up" : "triangle-down")),
      size: 6,
      color: INK,
      line: { width: 0.5, color: "#ffffff" },
    },
    showlegend: false,
  }];
}

/** The method of ConsumerRebalanceListener. */
function callbackName(callback) {
  return `onPartitions${callback.charAt(0).toUpperCase()}${callback.slice(1)}`;
}

function ownerBars(run, spans, laneOf, endUs) {
  const owners = [...new Set(spans.map((one) => one.host))].sort(byName);
  return owners.map((host, index) => {
    const bars = spans.filter((one) => one.host === host && laneOf.has(partitionName(one))).map((one) => {
      const to = one.released_us === null ? endUs : one.released_us;
      const end = one.release ? `${one.release} at ${clock(to)}` : "owned to the end";
      const hover = hoverLines(`${partitionName(one)} owned by ${host}`, one.generation === null ? "" : `generation ${one.generation}`,
        stretch(one.owned_us, to), one.fetchable_us === null ? "" : `fetching from ${clock(one.fetchable_us)}`, end);
      return { lane: laneOf.get(partitionName(one)), from: one.owned_us, to, text: nickname(run, host), hover };
    });
    return barTrace(host, { fill: ownerFill(index) }, bars, true);
  });
}

const BASIS = { released: "since it was released", crashed: "since the crash", paused: "since the pause began" };

function stopBars(stops, laneOf) {
  const bars = stops.filter((one) => laneOf.has(partitionName(one))).map((one) => ({
    lane: laneOf.get(partitionName(one)),
    from: one.began_us,
    to: one.ended_us,
    text: "",
    hover: hoverLines(`${partitionName(one)} stood still`, stretch(one.began_us, one.ended_us), handedOver(one),
      BASIS[one.basis], one.open ? "until the end of the run" : ""),
  }));
  return bars.length ? [barTrace("stood still", STOPPED, bars)] : [];
}

function handedOver(stop) {
  return stop.target === stop.origin ? `${stop.origin} kept it` : `${stop.origin} → ${stop.target || "nobody"}`;
}

/** What was done, as numbered marks; marks closer than a hundredth or so of what is shown become one. */
function doingMarks(doings, lane, view) {
  const near = (view.to - view.from) / 45;
  const clusters = [];
  for (const doing of doings) {
    const last = clusters[clusters.length - 1];
    if (last && doing.began_us - last.at < near) last.doings.push(doing);
    else clusters.push({ at: doing.began_us, doings: [doing] });
  }
  return {
    type: "scatter",
    mode: "markers+text",
    x: clusters.map((one) => dateOf(one.at)),
    y: clusters.map(() => lane),
    text: clusters.map(({ doings: list }) => (list.length > 1 ? `${list[0].number}–${list[list.length - 1].number}` : String(list[0].number))),
    textposition: "middle right",
    textfont: { size: 10, color: colour("text") },
    hovertext: clusters.map((one) => hoverLines(...one.doings.slice(0, 12).map(doingWords), one.doings.length > 12 ? `… ${one.doings.length - 12} more` : "")),
    hoverinfo: "text",
    marker: {
      size: 9,
      symbol: clusters.map((one) => DOING_MARK[one.doings[0].kind] || "circle"),
      color: clusters.map((one) => colour(one.doings.some((doing) => doing.kind === "fault") ? "bad" : "accent")),
    },
    cliponaxis: true,
    showlegend: false,
  };
}

const DOING_MARK = { action: "triangle-right", fault: "x", note: "diamond" };

function doingWords(doing) {
  const where = doing.host && !doing.what.includes(doing.host) ? `${doing.host}: ` : "";
  const until = doing.ended_us === null ? "" : ` until ${clock(doing.ended_us)}`;
  return `${doing.number}. ${clock(doing.began_us)} ${where}${doing.what}${until}`;
}

/** Faults that last, as a thin bar in the lane of what was done. */
function faultBars(doings, lane) {
  const bars = doings.filter((one) => one.ended_us !== null).map((one) => (
    { lane, from: one.began_us, to: one.ended_us, text: "", hover: hoverLines(doingWords(one)) }));
  return bars.length ? [{ ...barTrace("fault", STOPPED, bars), width: 0.35 }] : [];
}

// --- figures ---------------------------------------------------------------------------------------------------

/** Vertical lines where rebalances began, and the marked one as a band. */
function generationShapes(generations, view) {
  const shapes = generations.length > MANY_LINES ? [] : generations.map((one) => ({
    type: "line", layer: "below", xref: "x", yref: "paper", y0: 0, y1: 1, x0: dateOf(one.began_us), x1: dateOf(one.began_us),
    line: { width: 1, dash: "dot", color: colour("line") },
  }));
  if (view.marked) {
    shapes.push({ type: "rect", layer: "below", xref: "x", yref: "paper", y0: 0, y1: 1,
      x0: dateOf(view.marked.began_us), x1: dateOf(view.marked.ended_us), line: { width: 1, color: colour("accent") }, fillcolor: colour("accent"), opacity: 0.25 });
  }
  return shapes;
}

function timeAxis(view) {
  const hours = view.endUs >= 3600e6;
  return {
    type: "date",
    range: [dateOf(view.from), dateOf(view.to)],
    side: "top",
    tickformatstops: [
      { dtickrange: [null, 1000], value: hours ? "%-H:%M:%S.%L" : "%-M:%S.%L" },
      { dtickrange: [1000, null], value: hours ? "%-H:%M:%S" : "%-M:%S" },
    ],
    nticks: !onPaper && document.documentElement.clientWidth < NARROW ? 4 : 10,
    tickangle: 0,
    ticks: "outside",
    showgrid: true,
    zeroline: false,
  };
}

/** Names without the beginning that all of them share, when that is long: pods are told apart by their ends. */
function nicknames(names) {
  let shared = names.length > 1 ? names[0] : "";
  for (const name of names) {
    while (!name.startsWith(shared)) shared = shared.slice(0, -1);
  }
  // One word more than the number stays: …pod-1 rather than …1.
  const separators = [...shared.matchAll(/[-._]/g)].map((match) => match.index + 1);
  shared = shared.slice(0, separators.length > 1 ? separators[separators.length - 2] : 0);
  const cut = shared.length >= 8 ? shared.length : 0;
  return { shared: cut ? shared : "", of: new Map(names.map((name) => [name, cut ? `…${name.slice(cut)}` : name])) };
}

/** A lane's name, cut to what there is room for. */
function laneLabel(name) {
  return short(name, !onPaper && document.documentElement.clientWidth < NARROW ? 12 : 26);
}

/** The room for names, the same for all lanes of a run, so that their time axes stand below each other. */
function roomForNames(names) {
  const longest = Math.max(5, ...names.map((name) => laneLabel(name).length));
  return 14 + longest * (onPaper || document.documentElement.clientWidth < NARROW ? 6.2 : 7);
}

/** The layout of lanes with these names from top to bottom. */
function lanesLayout(names, view, shapes) {
  const labels = names.map(laneLabel);
  const height = Math.max(onPaper ? 12 : 18, Math.min(24, 860 / names.length));
  return {
    barmode: "overlay",
    height: names.length * height + 40,
    margin: { l: roomForNames(view.names), r: 20, t: 30, b: 8 },
    xaxis: timeAxis(view),
    yaxis: {
      range: [names.length - 0.5, -0.5], fixedrange: true, tickvals: names.map((_, index) => index), ticktext: labels.map(plain),
      showgrid: false, zeroline: false, ticks: "", tickfont: { size: height < 16 ? 9 : 12 },
    },
    uniformtext: { mode: "hide", minsize: 8 },
    shapes,
  };
}

/** Keep a plot and the window together: a zoom with the mouse moves the window, the window moves every plot. */
function followWindow(one, view) {
  view.watchers.push(() => {
    if (one.ready && one.node.isConnected) one.redraw();
  });
  one.whenReady.push((holder) => {
    holder.on("plotly_relayout", (change) => {
      if (change["xaxis.autorange"]) view.show(0, view.endUs);
      else if (change["xaxis.range[0]"] !== undefined) view.show(dateUs(change["xaxis.range[0]"]), dateUs(change["xaxis.range[1]"]));
    });
    holder.on("plotly_doubleclick", () => {
      view.show(0, view.endUs);
      return false;
    });
  });
}

/** An instant as plotly's date axes want it: to them a bare number between 1000 and 9999 is a year. */
function dateOf(us) {
  const [whole, rest] = [Math.floor(us / 1000), Math.round(us % 1000)];
  return `${new Date(whole).toISOString().replace("T", " ").slice(0, -1)}${rest ? String(rest).padStart(3, "0") : ""}`;
}

/** plotly's words for a date, in µs since the start of the run. */
function dateUs(value) {
  if (typeof value === "number") return value * 1000;
  const [whole, fraction = ""] = `${value}`.replace(" ", "T").split(".");
  const stamp = whole.includes("T") ? `${whole}${/T\d+:\d+$/.test(whole) ? ":00" : ""}Z` : `${whole}T00:00:00Z`;
  return Date.parse(stamp) * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}

/** Lanes of the group and its members. */
function memberLanes(run, group, view, hosts) {
  const { tables, doings } = run;
  const generations = tables.changes.filter((one) => one.group_id === group);
  const names = [group, ...(doings.length ? ["done"] : []), ...hosts];
  const laneOf = new Map(hosts.map((host) => [host, names.length - hosts.length + hosts.indexOf(host)]));
  const phases = tables.phases.filter((one) => one.group_id === null || one.group_id === group);
  const words = `Lanes over time of group ${group} (its states) and of ${count(hosts.length, "lane")} of processes (their phases). The tables below the plot say the same.`;
  const one = plot(words, () => ({
    data: [
      ...stateBars(tables, group, 0),
      ...(doings.length ? [...faultBars(doings, 1), doingMarks(doings, 1, view)] : []),
      ...phaseBars(phases, laneOf),
      ...callbackMarks(tables, laneOf, view),
    ],
    layout: lanesLayout(names.map((name) => nickname(run, name)), view, generationShapes(generations, view)),
  }), "lanes");
  followWindow(one, view);
  return one.node;
}

/** Lanes of partitions: who owned each, and when it stood still. */
function partitionLanes(run, group, view, names) {
  const { tables } = run;
  const generations = tables.changes.filter((one) => one.group_id === group);
  const spans = tables.spans.filter((one) => one.group_id === group);
  const stops = tables.stops.filter((one) => one.group_id === group);
  const laneOf = new Map(names.map((name, index) => [name, index]));
  const words = `Lanes over time of ${count(names.length, "partition")} of group ${group}: who owned each, and ${count(stops.length, "standstill")}. The tables below the plot say the same.`;
  const one = plot(words, () => ({
    data: [...ownerBars(run, spans, laneOf, view.endUs), ...stopBars(stops, laneOf)],
    layout: lanesLayout(names, view, generationShapes(generations, view)),
  }), "lanes");
  followWindow(one, view);
  return one.node;
}

function nickname(run, host) {
  return run.nicknames.of.get(host) || host;
}

function partitionName(row) {
  return `${row.topic}-${row.partition_id}`;
}

const collator = new Intl.Collator("en", { numeric: true });

function byName(left, right) {
  return collator.compare(left, right);
}

/** What the colours mean, in words beside swatches; `entries` are [name, look]. */
function legend(label, entries) {
  return el("ul", { class: "legend", "aria-label": label }, entries.map(([name, look]) => el("li", {}, look === null ? null :
    el("span", { class: `swatch${look.pattern ? " hatched" : ""}`, style: `--fill: ${look.fill.startsWith("#") ? look.fill : `var(--${look.fill})`}`, "aria-hidden": "true" }), name)));
}

function lanesLegend(tables, group) {
  const phases = new Set(tables.phases.map((one) => one.phase));
  const entries = Object.entries(PHASES).filter(([phase]) => phases.has(phase));
  return legend("Colours of the lanes of members", [...entries, ["▲ ▼ callbacks, unless there are too many to see", null]]);
}

function zoomControls(view) {
  const button = (text, label, act) => el("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
  return el("div", { class: "controls", role: "group", "aria-label": "Part of the run that the lanes show" },
    button("Whole run", "Show the whole run", () => view.show(0, view.endUs)),
    button("+", "Zoom in", () => view.zoom(0.5)),
    button("−", "Zoom out", () => view.zoom(2)),
    button("◀", "Earlier", () => view.move(-0.5)),
    button("▶", "Later", () => view.move(0.5)));
}

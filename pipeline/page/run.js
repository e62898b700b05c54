// One run: key figures, generations, lanes, the messages of one rebalance, verdicts, what was done and assumed.

/** A run as the page shows it. `packed` are its tables; `page` may add expectations, notes and assumptions. */
function runOf(packed, page = {}) {
  const tables = unpack(packed);
  const doings = tables.faults.map((row, index) => ({ ...row, index }))
    .sort((a, b) => a.began_us - b.began_us || a.index - b.index).map((row, index) => ({ ...row, number: index + 1 }));
  const row = tables.runs[0];
  const hosts = [...new Set([...tables.phases, ...tables.members].map((one) => one.host))];
  const run = { tables, doings, row, nicknames: nicknames(hosts), groups: groupsOf(tables), endUs: row.virtual_us || 0, ...page };
  run.fleets = fleetsOf(run.groups);
  return { ...run, told: toldAlone(run) };
}

/** The groups of a run, the one that suffered most first. */
function groupsOf(tables) {
  const found = new Set([...tables.states, ...tables.changes, ...tables.spans].map((one) => one.group_id));
  const stopped = (group) => tables.changes.filter((one) => one.group_id === group).reduce((sum, one) => sum + one.stopped_us, 0);
  return [...found].sort((a, b) => stopped(b) - stopped(a) || byName(a, b));
}

/** Everything about a run, put into `container`. `level` is the level of its headings. */
function showRun(container, run, level) {
  container.replaceChildren();
  if (run.row.status !== "done") {
    container.append(failedRun(run.row));
    return;
  }
  container.append(runFigures(run.row));
  if (run.checks && run.checks.length) container.append(expectations(run, level));
  const holder = el("div", {});
  const generationsOfAll = generationsSection(run, level, (generation) => show(generation.group_id, generation));
  const fleets = fleetsSection(run, level, (group) => {
    show(group, null);
    holder.querySelector("h2, h3, h4").focus();
  });
  container.append(...[fleets, generationsOfAll, holder].filter((one) => one), doingsSection(run, level), membersSection(run, level), partitionsSection(run, level));
  if (run.assumed && run.assumed.length) container.append(assumptions(run.assumed, level));
  const show = (group, generation) => {
    showGroup(holder, run, group, level, generation, show);
    if (generation) holder.querySelector(".messages h2, .messages h3, .messages h4").focus();
  };
  show(run.groups[0], null);
}

function failedRun(row) {
  return el("div", { class: "warning" }, el("p", {}, `This run failed: ${row.error || "no reason is known"}.`),
    el("p", {}, "Repeat it with ", el("code", {}, row.repeat)));
}

// --- figures and verdicts --------------------------------------------------------------------------------------

function runFigures(row) {
  const back = row.moved_back ? `, ${figure(row.moved_back)} of these back` : "";
  const figures = [
    [figure(row.rebalances), "rebalances after the groups had formed"],
    [spanOr(row.stopped_us, "nothing"), "stood still, at least one partition", row.stopped_us ? "warn" : ""],
    [spanOr(row.worst_unserved_us, "nothing"), "stood still, the worst partition", row.worst_unserved_us ? "warn" : ""],
    [figure(row.moved), `partitions moved${back}`],
    [figure(row.lag_max), "largest lag of a group, records"],
    [figure(row.duplicates), `of ${figure(row.delivered)} records delivered twice`, row.duplicates ? "warn" : ""],
    [figure(row.lost), "records passed over: not delivered, though later ones were", row.lost ? "bad" : ""],
    [figure(row.evictions), `members evicted${row.false_evictions ? `, ${figure(row.false_evictions)} of them alive` : ""}`, row.false_evictions ? "warn" : ""],
  ];
  if (row.without_coordinator_us) figures.push([span(row.without_coordinator_us), "without a coordinator, summed over groups", "warn"]);
  if (row.lost_acknowledged) figures.push([figure(row.lost_acknowledged), "acknowledged records lost with a leader", "bad"]);
  if (row.rollout_us !== null) figures.push([span(row.rollout_us), "the rollout: first stop to all pods ready, group stable"]);
  if (row.detection_us !== null) figures.push([span(row.detection_us), "to notice a crash"]);
  if (row.overlap_us) figures.push([span(row.overlap_us), "two owners of one partition", "bad"]);
  return keyFigures(figures);
}

function expectations(run, level) {
  const failed = run.checks.filter((one) => !one.holds).length;
  const summary = failed ? `${failed} of ${run.checks.length} failed` : "all hold";
  return section(level, `What was expected: ${summary}`, el("ul", { class: "checks" }, run.checks.map((one) => el("li", { class: one.holds ? "good" : "bad" },
    el("span", { class: "verdict" }, one.holds ? "✓ holds" : "✗ failed"), " ", one.expected,
    one.holds ? null : el("span", { class: "found" }, ` – found: ${one.found}${one.t_us === null ? "" : ` at ${clock(one.t_us)}`}`),
    one.because ? el("span", { class: "aside" }, ` (because ${one.because})`) : null))));
}

// --- generations -----------------------------------------------------------------------------------------------

function generationsSection(run, level, choose) {
  const generations = run.tables.changes.filter((one) => run.told.has(one.group_id));
  const columns = [
    ...(run.groups.length > 1 ? [{ title: "group", cell: (one) => one.group_id }] : []),
    { title: "gen", number: true, head: true, cell: (one) => el("button", { type: "button", class: "link", title: "Show it in the lanes and its messages",
      "aria-label": `Generation ${one.generation} of ${one.group_id}: show it in the lanes and its messages`, onclick: () => choose(one) }, String(one.generation)) },
    { title: "began", cell: (one) => clock(one.began_us), number: true },
    { title: "cause", cell: (one) => causeCell(run, one), class: "cause" },
    { title: "who", cell: (one) => whoWords(run, one), class: "text who" },
    { title: "held by", cell: (one) => heldWords(run, one), class: "text held" },
    { title: "ready in", cell: (one) => readyCell(one), number: true },
    { title: "members", cell: (one) => figure(one.members), number: true },
    { title: "moved", cell: (one) => movedWords(one), number: true },
    { title: "stood still", cell: (one) => spanOr(one.stopped_us), number: true, class: "still" },
  ];
  if (!generations.length) return section(level, "Generations", el("p", {}, "No group formed."));
  const table = tableOf("Every rebalance: why, who, how long", columns, generations);
  if (generations.length > 25) table.classList.add("tall");
  return section(level, "Generations", sharedBeginning(run), el("p", { class: "note screen" }, "A generation’s number shows it in the lanes and its messages below.", run.fleets.length ? " Of a fleet the groups are listed that fared differently from most, and the one that was hit hardest." : ""), table, meanings(run));
}

function sharedBeginning(run) {
  const { shared } = run.nicknames;
  return shared ? el("p", { class: "note" }, "Names of processes begin with ", el("code", {}, shared), ", below written as …") : null;
}

function causeCell(run, generation) {
  const meaning = (run.causes || {})[generation.cause];
  return [meaning ? el("abbr", { title: meaning }, generation.cause) : generation.cause, generation.follow_up ? el("div", { class: "aside" }, "second round") : null];
}

function whoWords(run, generation) {
  const who = `${generation.culprit ? `${nickname(run, generation.culprit)} ` : ""}${generation.why}`;
  return generation.hindered ? [who, el("div", { class: "aside" }, generation.hindered)] : who;
}

function heldWords(run, generation) {
  if (!generation.held_by) return "–";
  const why = generation.held_why ? `: ${generation.held_why}` : "";
  return `${nickname(run, generation.held_by)}, ${span(generation.held_us || 0)}${why}`;
}

function readyCell(generation) {
  if (generation.outcome === "stable") return span(generation.ended_us - generation.began_us);
  return el("strong", { class: "bad" }, generation.outcome);
}

function movedWords(generation) {
  if (!generation.moves) return "–";
  return `${generation.moves}${generation.moves_back ? ` (${generation.moves_back} ↩)` : ""}`;
}

/** What the causes that occur mean, for people who meet them for the first time. */
function meanings(run) {
  const seen = [...new Set(run.tables.changes.map((one) => one.cause))].filter((cause) => (run.causes || {})[cause]);
  if (!seen.length) return null;
  return el("details", { class: "equivalent" }, el("summary", {}, "What these words mean"),
    el("dl", { class: "words" }, seen.flatMap((cause) => [el("dt", {}, cause), el("dd", {}, run.causes[cause])]),
      el("dt", {}, "held by"), el("dd", {}, "the process the rebalance waited for longest, and how long"),
      el("dt", {}, "moved"), el("dd", {}, "partitions that another process owns now; ↩ returned to the process they had come from"),
      el("dt", {}, "stood still"), el("dd", {}, "time in which no process could work on at least one partition, because of this rebalance: its old owner had begun to release it, had crashed or was paused, and its new one could not fetch yet")));
}

// --- one group: lanes and messages -------------------------------------------------------------------------------

function showGroup(holder, run, group, level, generation, choose) {
  const view = new Window(run.endUs, eventfulPart(run, group));
  const generations = run.tables.changes.filter((one) => one.group_id === group);
  const parts = [lanesSection(run, group, level, view, choose)];
  if (generations.length) parts.push(messagesSection(run, generations, level, view, generation || mostTelling(generations)));
  holder.replaceChildren(...parts);
  drawPlots();
  if (generation) view.showGeneration(generation);
}

/** The rebalance to show first: the one that cost most. */
function mostTelling(generations) {
  return generations.reduce((best, one) => (cost(one) > cost(best) ? one : best));
}

function cost(generation) {
  return generation.stopped_us * 1e6 + (generation.ended_us - generation.began_us) * (generation.first_start ? 0.001 : 1);
}

/** The processes with a lane: members, then producers unless they worked all the time, as most do. */
function lanesOf(tables, group) {
  const producers = new Set(tables.members.filter((one) => one.profile === PRODUCER).map((one) => one.host));
  const telling = (one) => !producers.has(one.host) || (one.phase !== "working" && one.ended_us - one.began_us >= SEEN_US);
  const mine = tables.phases.filter((one) => (one.group_id === null || one.group_id === group) && telling(one));
  const hosts = [...new Set(mine.map((one) => one.host))].sort(byName);
  return [...hosts.filter((host) => !producers.has(host)), ...hosts.filter((host) => producers.has(host))];
}

function lanesSection(run, group, level, view, choose) {
  const { tables } = run;
  const hosts = lanesOf(tables, group);
  const partitions = [...new Set([...tables.spans, ...tables.stops].filter((one) => one.group_id === group).map(partitionName))].sort(byName);
  view.names = [...hosts.map((host) => nickname(run, host)), ...partitions, short(group, 26)];
  const groups = run.groups.length > 1 ? chooser("Group", run.groups.map((one) => [one, one]), group, (value) => choose(value, null)) : null;
  const owners = [...new Set(tables.spans.filter((one) => one.group_id === group).map((one) => one.host))].sort(byName);
  return section(level, `What happened when${run.groups.length > 1 ? `: ${group}` : ""}`,
    el("div", { class: "controls" }, groups, zoomControls(view)),
    el("p", { class: "note screen" }, TOUCH.matches ? "The buttons zoom; all lanes follow. Tap a bar for details." : "Drag over a plot to zoom; all lanes follow. Point at a bar for details.", " ▲ onPartitionsAssigned, ▼ onPartitionsRevoked or Lost; numbers in the lane “done” refer to the list below."),

    el("div", { class: "together" }, el(`h${level + 1}`, {}, "The group and its members"), lanesLegend(tables, group),
      cappedLanes(hosts, troubled(tables, group), "lane", (names) => memberLanes(run, group, view, names))),
    phaseTable(tables, group),
    ...(partitions.length ? [
      el("div", { class: "together" }, el(`h${level + 1}`, {}, "Partitions and their owners"), legend("Colours of the lanes of partitions", [["stood still", STOPPED], ...(owners.length <= 24 ? owners.map((host, index) => [nickname(run, host), { fill: ownerFill(index) }]) : [])]),
      cappedLanes(partitions, stillness(tables, group), "partition", (names) => partitionLanes(run, group, view, names))),
      stopTable(tables, group), spanTable(tables, group),
    ] : []),
    ...lagParts(run, group, view, level));
}

/** Lanes, at most so many: then those with the most trouble, and a button for all. */
function cappedLanes(names, trouble, noun, draw) {
  if (names.length <= MANY_LANES) return el("div", {}, draw(names));
  const ranked = [...names].sort((a, b) => (trouble.get(b) || 0) - (trouble.get(a) || 0) || byName(a, b)).slice(0, MANY_LANES);
  const holder = el("div", {}, draw(ranked.sort(byName)));
  const button = el("button", { type: "button", class: "screen", onclick: () => {
    holder.replaceChildren(draw(names));
    bar.remove();
    drawPlots();
  } }, `Draw all ${names.length}`);
  const bar = el("p", { class: "note" }, `The ${MANY_LANES} of ${figure(names.length)} ${noun}s with the most trouble are drawn. `, button);
  return el("div", {}, bar, holder);
}

function troubled(tables, group) {
  const trouble = new Map();
  for (const one of tables.phases) {
    if ((one.group_id === null || one.group_id === group) && ["dead", "paused", "evicted", "in callback"].includes(one.phase)) {
      trouble.set(one.host, (trouble.get(one.host) || 0) + one.ended_us - one.began_us);
    }
  }
  return trouble;
}

function stillness(tables, group) {
  const still = new Map();
  for (const one of tables.stops.filter((row) => row.group_id === group)) {
    still.set(partitionName(one), (still.get(partitionName(one)) || 0) + one.ended_us - one.began_us);
  }
  return still;
}

function phaseTable(tables, group) {
  return asTable("Members and states as a table", `Stretches in the lives of group ${group} and its members`, [
    { title: "who", cell: (one) => one.host || one.group_id, head: true },
    { title: "phase or state", cell: (one) => one.phase || one.state },
    { title: "from", cell: (one) => clock(one.began_us), number: true },
    { title: "to", cell: (one) => clock(one.ended_us), number: true },
    { title: "length", cell: (one) => span(one.ended_us - one.began_us), number: true },
    { title: "why", cell: (one) => one.reason || "", class: "text" },
  ], () => [...tables.states.filter((one) => one.group_id === group), ...tables.phases.filter((one) => one.group_id === null || one.group_id === group)]);
}

function stopTable(tables, group) {
  const stops = tables.stops.filter((one) => one.group_id === group);
  if (!stops.length) return el("p", { class: "note" }, "No partition stood still.");
  return asTable(`Standstills as a table (${stops.length})`, "Partitions that stood still, longest first", [
    { title: "partition", cell: partitionName, head: true },
    { title: "length", cell: (one) => span(one.ended_us - one.began_us), number: true, class: "still" },
    { title: "from", cell: (one) => clock(one.began_us), number: true },
    { title: "to", cell: (one) => (one.open ? "the end" : clock(one.ended_us)), number: true },
    { title: "between", cell: handedOver },
    { title: "counted", cell: (one) => BASIS[one.basis] || one.basis, class: "text" },
    { title: "generation", cell: (one) => (one.generation === null ? "–" : String(one.generation)), number: true },
  ], () => [...stops].sort((a, b) => b.ended_us - b.began_us - (a.ended_us - a.began_us)));
}

function spanTable(tables, group) {
  return asTable("Owners as a table", "Who owned which partition, and when", [
    { title: "partition", cell: partitionName, head: true },
    { title: "owner", cell: (one) => one.host },
    { title: "generation", cell: (one) => (one.generation === null ? "–" : String(one.generation)), number: true },
    { title: "from", cell: (one) => clock(one.owned_us), number: true },
    { title: "fetching from", cell: (one) => (one.fetchable_us === null ? "–" : clock(one.fetchable_us)), number: true },
    { title: "to", cell: (one) => (one.released_us === null ? "the end" : clock(one.released_us)), number: true },
    { title: "given up", cell: (one) => one.release || "–" },
  ], () => tables.spans.filter((one) => one.group_id === group));
}

function messagesSection(run, generations, level, view, first) {
  const holder = el("div", {});
  let chosen = first;
  const options = generations.map((one, index) => [index, generationLabel(one)]);
  const draw = () => holder.replaceChildren(sequenceDiagram(run, chosen));
  const pick = (index) => {
    chosen = generations[index];
    select.querySelector("select").value = String(index);
    view.mark(chosen);
    draw();
  };
  const select = chooser("Rebalance", options, generations.indexOf(first), (value) => pick(Number(value)));
  const step = (by) => pick((generations.indexOf(chosen) + by + generations.length) % generations.length);
  const button = (text, label, act) => el("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
  view.marked = first;
  draw();
  const redraw = () => {
    if (holder.isConnected) draw();
    else window.removeEventListener("widthchange", redraw);
  };
  window.addEventListener("widthchange", redraw);
  const found = section(level, "One rebalance in messages",
    el("div", { class: "controls" }, select, button("‹", "The rebalance before", () => step(-1)), button("›", "The next rebalance", () => step(1)),
      button("Zoom the lanes to it", "Zoom the lanes above to this rebalance", () => view.showGeneration(chosen))),
    el("p", { class: "note" }, "Time runs downwards and is not to scale. ⇄ is a request answered at once; a bar on a lifeline is a request that the coordinator parked, or a callback."),
    holder);
  found.classList.add("messages");
  return found;
}

function generationLabel(generation) {
  const length = generation.outcome === "stable" ? span(generation.ended_us - generation.began_us) : generation.outcome;
  return `${generation.generation} · ${clock(generation.began_us)} · ${generation.cause} · ${length}`;
}

// --- what else -----------------------------------------------------------------------------------------------------

function doingsSection(run, level) {
  if (!run.doings.length) return section(level, "What was done", el("p", {}, "Nothing: no action, no fault."));
  return section(level, "What was done and noted", tableOf("Actions, faults and things to note", [
    { title: "#", cell: (one) => String(one.number), number: true, head: true },
    { title: "when", cell: (one) => clock(one.began_us), number: true },
    { title: "until", cell: (one) => (one.ended_us === null ? "" : clock(one.ended_us)), number: true },
    { title: "kind", cell: (one) => one.kind },
    { title: "where", cell: (one) => one.host || "" },
    { title: "what", cell: (one) => one.what, class: "text" },
  ], run.doings.slice(0, MANY_ROWS)));
}

function membersSection(run, level) {
  const failed = new Map();
  for (const one of run.tables.commits.filter((row) => row.error)) {
    failed.set(one.host, [...(failed.get(one.host) || []), `${one.n} × ${one.error}`]);
  }
  const shown = run.tables.members.filter((one) => one.group_id === null || run.told.has(one.group_id));
  const columns = [
    { title: "process", cell: (one) => one.host, head: true },
    ...(run.groups.length > 1 ? [{ title: "group", cell: (one) => one.group_id }] : []),
    { title: "client", cell: (one) => one.profile },
    { title: "records", cell: (one) => figure(one.delivered), number: true },
    { title: "of them twice", cell: (one) => figure(one.duplicates), number: true },
    { title: "commits", cell: (one) => figure(one.commits), number: true },
    { title: "commits failed", cell: (one) => (failed.get(one.host) || []).join(", ") || figure(one.commits_failed), class: "text" },
    { title: "quiet heartbeats", cell: (one) => figure(one.heartbeats), number: true },
    ...(run.tables.members.some((one) => one.fetches !== null) ? [
      { title: "fetches", cell: (one) => (one.fetches === null ? "–" : figure(one.fetches)), number: true },
      { title: "of them empty", cell: (one) => (one.fetches === null ? "–" : figure(one.fetches_empty)), number: true },
    ] : []),
    { title: "ended by", cell: (one) => one.failed || "", class: "text" },
  ];
  return section(level, "Members", tableOf(`${run.fleets.length ? "The processes of the groups above" : "Every process that was a member"}, and every producer`, columns, shown.slice(0, MANY_ROWS)),
    shown.length < run.tables.members.length ? asTable(`All ${figure(run.tables.members.length)} processes`, "Every process that was a member, and every producer", columns, () => run.tables.members) : null);
}

function partitionsSection(run, level) {
  const rows = run.tables.deliveries;
  if (!rows.length) return el("div", {});
  const found = section(level, "Records", asTable(`Records of ${count(rows.length, "partition")}`, "What became of the records of each partition", [
    ...(run.groups.length > 1 ? [{ title: "group", cell: (one) => one.group_id }] : []),
    { title: "partition", cell: partitionName, head: true },
    { title: "delivered", cell: (one) => figure(one.delivered), number: true },
    { title: "twice", cell: (one) => figure(one.duplicates), number: true },
    { title: "passed over", cell: (one) => figure(one.lost), number: true },
    ...(rows.some((one) => one.lost_acknowledged) ? [{ title: "acknowledged, lost", cell: (one) => figure(one.lost_acknowledged), number: true }] : []),
    { title: "waiting", cell: (one) => figure(one.waiting), number: true },
    { title: "committed", cell: (one) => figure(one.committed), number: true },
    { title: "largest lag", cell: (one) => figure(one.lag_max), number: true },
    { title: "lag at the end", cell: (one) => figure(one.lag_end), number: true },
  ], () => [...rows].sort((a, b) => byName(partitionName(a), partitionName(b)))));
  found.classList.add("screen"); // closed on paper
  return found;
}

/** What was assumed: [what, value, note] in groups of [title, list]. */
function assumptions(groups, level) {
  return section(level, "What was assumed, and limits", el("div", { class: "columns" }, groups.map(([title, list]) => el("div", { class: "assumed" },
    el(`h${level + 1}`, {}, title),
    list.every(([what]) => !what)
      ? el("ul", {}, list.map(([, value]) => el("li", {}, value)))
      : el("dl", { class: "words" }, list.flatMap(([what, value]) => [el("dt", {}, what), el("dd", {}, value)]))))));
}

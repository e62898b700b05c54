// Fleets: groups that one specification made, shown as one; the rule is that of `fleets` in scenarios/story/many_groups.py.

const MANY_GROUPS = 9;
const FEW_GROUPS = 8;

/** [name, groups] of each fleet: MANY_GROUPS or more groups whose names differ in one number. */
function fleetsOf(names) {
  const patterns = new Map(names.map((name) => [name, [...name.matchAll(/\d+/g)].map((at) => `${name.slice(0, at.index)}{n}${name.slice(at.index + at[0].length)}`)]));
  const sizes = new Map();
  for (const pattern of [...patterns.values()].flat()) sizes.set(pattern, (sizes.get(pattern) || 0) + 1);
  const found = new Map();
  for (const [name, mine] of patterns) {
    const best = mine.reduce((most, one) => (most === null || sizes.get(one) > sizes.get(most) ? one : most), null);
    if (best !== null && sizes.get(best) >= MANY_GROUPS) found.set(best, [...(found.get(best) || []), name]);
  }
  return [...found].filter(([, groups]) => groups.length >= MANY_GROUPS).map(([pattern, groups]) => ({ name: pattern.replace(/-\{n\}$/, ""), groups }));
}

/** What befell each group of a fleet, the one that was hit hardest first. */
function faresOf(tables, groups) {
  const fares = new Map(groups.map((group) => [group, { group, rebalances: 0, stopped: 0, removed: 0, failed: 0, again: 0, lag: 0 }]));
  const add = (rows, put) => rows.forEach((one) => fares.has(one.group_id) && put(fares.get(one.group_id), one));
  add(tables.changes.filter((one) => !one.first_start), (fare, one) => { fare.rebalances += 1; fare.stopped += one.stopped_us; });
  add(tables.evictions, (fare) => { fare.removed += 1; });
  add(tables.commits.filter((one) => one.error), (fare, one) => { fare.failed += one.n; });
  add(tables.deliveries, (fare, one) => { fare.again += one.duplicates; fare.lag = Math.max(fare.lag, one.lag_max || 0); });
  return [...fares.values()].sort((a, b) => b.stopped - a.stopped || b.rebalances - a.rebalances || byName(a.group, b.group));
}

/** The groups of a fleet that had another number of rebalances or removals than most of them; at most FEW_GROUPS. */
function exceptional(fares) {
  const kind = (fare) => `${fare.rebalances} ${fare.removed} ${fare.stopped > 0}`;
  const numbers = new Map();
  for (const fare of fares) numbers.set(kind(fare), (numbers.get(kind(fare)) || 0) + 1);
  const usual = [...numbers].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
  return fares.filter((fare) => kind(fare) !== usual);
}

/** The groups that are shown by themselves: those of no fleet, of a fleet the hardest hit and the exceptional. */
function toldAlone(run) {
  const told = new Set(run.groups);
  for (const { groups } of run.fleets) {
    const fares = faresOf(run.tables, groups);
    const kept = new Set([fares[0], ...exceptional(fares).slice(0, FEW_GROUPS)].map((fare) => fare.group));
    groups.filter((group) => !kept.has(group)).forEach((group) => told.delete(group));
  }
  return told;
}

const FARES = [
  ["rebalances", "rebalances", figure], ["stood still", "stopped", spanOr], ["members removed", "removed", figure],
  ["commits failed", "failed", figure], ["records again", "again", figure], ["largest lag of a partition", "lag", figure],
];

/** A collapsed part for each fleet: its figures over all groups, and the groups that fared differently. */
function fleetsSection(run, level, choose) {
  if (!run.fleets.length) return null;
  return section(level, run.fleets.length === 1 ? "The fleet" : "Fleets", run.fleets.map(({ name, groups }) => {
    const fares = faresOf(run.tables, groups);
    const hit = fares.filter((fare) => fare.rebalances).length;
    const rebalances = fares.reduce((sum, fare) => sum + fare.rebalances, 0);
    const others = exceptional(fares);
    const worst = hit || fares[0].stopped ? `; hit hardest: ${fares[0].group}` : "";
    const summary = `${name}: ${groups.length} groups, ${count(rebalances, "rebalance")}${hit ? ` in ${figure(hit)} of them` : ""}${worst}`;
    return el("details", { class: "equivalent fleet" }, el("summary", {}, summary),
      tableOf(`What befell the ${groups.length} groups of ${name}`, [
        { title: "", cell: ([title]) => title, head: true },
        { title: "groups", cell: ([, key]) => figure(fares.filter((fare) => fare[key]).length), number: true },
        { title: "most", cell: ([, key, words]) => words(Math.max(...fares.map((fare) => fare[key]))), number: true },
        { title: "of", cell: ([, key]) => fares.reduce((most, fare) => (fare[key] > most[key] ? fare : most)).group },
        { title: "in all", cell: ([, key, words]) => (key === "lag" ? "" : words(fares.reduce((sum, fare) => sum + fare[key], 0))), number: true },
      ], FARES.filter(([, key]) => fares.some((fare) => fare[key]))),
      others.length ? tableOf(`The ${others.length > FEW_GROUPS ? `first ${FEW_GROUPS} of ` : ""}${count(others.length, "group")} that fared differently from most`, [
        { title: "group", cell: (fare) => el("button", { type: "button", class: "link", onclick: () => choose(fare.group) }, fare.group), head: true },
        ...FARES.map(([title, key, words]) => ({ title, cell: (fare) => words(fare[key]), number: true })),
      ], others.slice(0, FEW_GROUPS)) : el("p", { class: "note" }, "All groups had as many rebalances and removals."));
  }));
}

// One rebalance as a sequence diagram: lifelines of the members and of the coordinator, one line for each event.
//
// The time axis is not to scale: a request answered at once is one line, one that was parked is two with a bar between
// them, and where nothing happened for a while the gap says how long.

const QUICK_US = 50000; // answered within this: request and answer are one line
const GAP_US = 200000; // silence from which on it is written out
const MANY_ACTORS = 14;
const MANY_EVENTS = 240;
const ROW = 24;
const NOTICES = new Set(["REBALANCE_IN_PROGRESS", "MEMBER_ID_REQUIRED"]); // errors that are how the protocol works

/** Requests of the group that were under way while the rebalance went on. */
function messagesOf(tables, generation, hosts) {
  return withHandshakes(tables.messages, tables.messages.filter((message) => {
    if (message.group_id !== generation.group_id && !(message.group_id === null && hosts.includes(message.host))) return false;
    const over = message.returned_us ?? message.answered_us ?? beginOf(message);
    return beginOf(message) <= generation.ended_us && over >= generation.began_us;
  }));
}

/** With each JoinGroup the one before that was answered with the id to join with (KIP-394): it may be earlier. */
function withHandshakes(all, chosen) {
  const found = new Set(chosen);
  const before = new Map();
  for (const join of all.filter((message) => message.api === "JoinGroup")) {
    const first = before.get(join.host);
    if (found.has(join) && first && first.error === "MEMBER_ID_REQUIRED") found.add(first);
    before.set(join.host, join);
  }
  return all.filter((message) => found.has(message));
}

/** When a message begins as far as is known: heartbeats are only seen where they arrive, or where their end is noticed. */
function beginOf(message) {
  return message.sent_us ?? message.received_us ?? message.answered_us ?? message.returned_us;
}

/** What happened, in order; each event is one line of the diagram. */
function sequenceEvents(run, generation, messages) {
  const { tables } = run;
  const first = Math.min(generation.began_us, ...messages.map(beginOf));
  const within = (us) => us >= first && us <= generation.ended_us;
  const events = messages.flatMap(messageEvents);
  for (const state of tables.states.filter((one) => one.group_id === generation.group_id && one.began_us >= generation.began_us && within(one.began_us))) {
    events.push({ at: state.began_us, kind: "state", text: state.state, aside: state.reason });
  }
  for (const one of tables.evictions.filter((row) => row.group_id === generation.group_id && within(row.removed_us))) {
    events.push({ at: one.removed_us, kind: "note", text: `${one.host} removed: ${one.reason}`, aside: one.alive ? "its process was alive" : `after ${one.cause}`, bad: true });
  }
  for (const doing of run.doings.filter((one) => within(one.began_us))) {
    events.push({ at: doing.began_us, kind: "note", text: doing.what, aside: doing.host });
  }
  for (const call of tables.callbacks.filter((one) => (one.group_id === null || one.group_id === generation.group_id) && within(one.began_us))) {
    events.push(...callbackEvents(call));
  }
  const order = { note: 0, begin: 1, request: 2, exchange: 2, state: 3, answer: 4, end: 5 };
  return events.map((event, index) => ({ ...event, index })).sort((a, b) => a.at - b.at || order[a.kind] - order[b.kind] || a.index - b.index);
}

function messageEvents(message) {
  const over = message.returned_us ?? message.answered_us;
  const common = { message, host: message.host, broker: message.broker };
  if (over === null) return [{ ...common, at: beginOf(message), kind: "request", text: `${message.api}${message.error ? ` · ${message.error}` : " · no answer"}`, bad: true, lost: true }];
  const outcome = message.error || outcomeWords(message);
  const bad = Boolean(message.error);
  if (over - beginOf(message) <= QUICK_US) {
    return [{ ...common, at: beginOf(message), kind: "exchange", text: `${message.api} ⇄ ${outcome}`, bad }];
  }
  const bar = { key: message, look: message.api === "SyncGroup" ? "lane-syncing" : "lane-joining" };
  return [
    { ...common, at: beginOf(message), kind: "request", text: message.api, aside: message.reason, opens: bar },
    { ...common, at: over, kind: "answer", text: `${message.api} answered after ${span(over - beginOf(message))}: ${outcome}`, bad, closes: bar },
  ];
}

function outcomeWords(message) {
  if (message.api === "JoinGroup") return message.generation === null ? "joined" : `generation ${message.generation}${subscriptionWords(message)}`;
  if (message.api === "SyncGroup") return message.assignments ? `plan for ${message.assignments} stored, own part` : "assignment";
  return message.api === "LeaveGroup" ? "left" : "ok";
}

/** The leader's answer alone holds subscriptions. */
function subscriptionWords(message) {
  return message.subscriptions ? `, ${count(message.subscriptions, "subscription")}: it leads` : "";
}

function callbackEvents(call) {
  const name = `${callbackName(call.callback)}(${call.partitions})`;
  const length = call.ended_us === null ? null : call.ended_us - call.began_us;
  if (length !== null && length <= QUICK_US) {
    return call.partitions || call.error ? [{ at: call.began_us, kind: "begin", host: call.host, text: `${name}${call.error ? `: ${call.error}` : ""}`, bad: Boolean(call.error) }] : [];
  }
  const bar = { key: call, look: "lane-callback" };
  const begin = { at: call.began_us, kind: "begin", host: call.host, text: `${name} begins`, opens: bar };
  return length === null ? [begin] : [begin, { at: call.ended_us, kind: "end", host: call.host, text: `${name} returned after ${span(length)}${call.error ? `: ${call.error}` : ""}`, bad: Boolean(call.error), closes: bar }];
}

/** Heartbeats that say the same again and again: of each process the first and the last are drawn, the rest counted. */
function withoutRepetition(events) {
  const shown = [];
  for (let index = 0; index < events.length; ) {
    let end = index;
    while (end < events.length && isBeat(events[end])) end += 1;
    shown.push(...(end > index ? fewerBeats(events.slice(index, end)) : [events[end]]));
    index = Math.max(end, index + 1);
  }
  return shown;
}

function isBeat(event) {
  return event.kind === "exchange" && event.message.api === "Heartbeat";
}

function fewerBeats(beats) {
  const last = new Map(beats.map((beat) => [`${beat.host} ${beat.text}`, beat]));
  const first = new Map([...beats].reverse().map((beat) => [`${beat.host} ${beat.text}`, beat]));
  const kept = new Set([...first.values(), ...last.values()]);
  const rest = beats.filter((beat) => !kept.has(beat));
  if (rest.length < 3) return beats;
  const more = { at: rest[0].at, kind: "more", text: `${figure(rest.length)} more heartbeats alike, until ${clock(rest[rest.length - 1].at)}` };
  return [...first.values(), more, ...last.values()].sort((a, b) => a.at - b.at).filter((beat, place, all) => all.indexOf(beat) === place);
}

/** Whose lifelines are drawn: those the generation names first, the others in order, up to a number one can read. */
function actorsOf(events, generation) {
  const hosts = [...new Set(events.filter((one) => one.host).map((one) => one.host))];
  const troubled = events.filter((one) => one.bad && one.message && !NOTICES.has(one.message.error)).map((one) => one.host);
  const named = [generation.culprit, generation.held_by, generation.leader, ...troubled].filter((host) => host && hosts.includes(host));
  const chosen = new Set([...new Set([...named, ...[...hosts].sort(byName)])].slice(0, MANY_ACTORS));
  return { drawn: [...hosts].sort(byName).filter((host) => chosen.has(host)), all: hosts };
}

/** The diagram of one rebalance, what it leaves out, and the same as a table. */
function sequenceDiagram(run, generation) {
  const hosts = [...new Set(run.tables.phases.filter((one) => one.group_id === generation.group_id).map((one) => one.host))];
  const events = sequenceEvents(run, generation, messagesOf(run.tables, generation, hosts));
  const actors = actorsOf(events, generation);
  const seen = events.filter((one) => !one.host || actors.drawn.includes(one.host));
  const fewer = withoutRepetition(seen);
  const shown = fewer.slice(0, MANY_EVENTS);
  const notes = [];
  if (actors.drawn.length < actors.all.length) notes.push(`${actors.all.length - actors.drawn.length} of ${actors.all.length} members are not drawn; the table has them.`);
  if (shown.length < fewer.length) notes.push(`The first ${shown.length} of ${figure(fewer.length)} events are drawn; the table has them all.`);
  if (!events.length) return el("p", { class: "note" }, "No message of this rebalance is known.");
  const brokers = [...new Set(events.filter((one) => one.broker !== undefined).map((one) => one.broker || "coordinator"))].sort(byName);
  return el("div", {},
    el("div", { class: "frame wide sequence", tabindex: "0", role: "region", "aria-label": `Sequence diagram of generation ${generation.generation}; scrolls sideways` },
      new Drawing(brokers.length ? brokers : ["coordinator"], actors.drawn, generation, run).draw(shown)),
    notes.map((note) => el("p", { class: "note" }, note)),
    asTable("The messages as a table", `Events of generation ${generation.generation}`, [
      { title: "when", cell: (one) => clock(one.at), number: true },
      { title: "who", cell: (one) => one.host || generation.group_id },
      { title: "what", cell: (one) => one.text, class: "text" },
      { title: "more", cell: (one) => one.aside || (one.message && one.message.reason) || "", class: "text" },
    ], () => events));
}

const LEAST_WIDTH = 480; // px, for what is written on arrows and bands

/** The SVG: columns for time, brokers and members; rows for events. */
class Drawing {
  constructor(brokers, hosts, generation, run) {
    this.run = run;
    this.generation = generation;
    this.names = [...brokers, ...hosts];
    this.brokers = brokers.length;
    const room = (onPaper ? PAPER_WIDTH : Math.min(1160, document.documentElement.clientWidth - 40)) - 90;
    const least = (LEAST_WIDTH - 90) / this.names.length; // on a telephone it scrolls rather than cuts what is said
    this.step = Math.max(onPaper ? 44 : 78, least, Math.min(320, room / this.names.length));
    this.width = 90 + this.step * this.names.length;
    this.back = svg("g");
    this.front = svg("g");
    this.open = new Map();
    this.y = 0;
  }

  x(name) {
    return 90 + this.step * (this.names.indexOf(name) + 0.5);
  }

  draw(events) {
    this.heading();
    let last = null;
    events.forEach((event, index) => {
      if (index && index % 30 === 0 && events.length - index > 8) this.heading();
      if (last !== null && event.at - last > GAP_US) this.gap(event.at - last);
      this.y += ROW;
      if (last === null || clock(event.at) !== clock(last)) this.label(6, this.y + 4, clock(event.at), "time");
      this.event(event);
      last = event.at;
    });
    for (const [bar, from] of this.open) this.bar(bar, from, this.y + ROW / 2);
    this.y += ROW / 2;
    this.heading();
    const lines = this.names.map((name, index) => svg("line", { x1: this.x(name), x2: this.x(name), y1: 24, y2: this.y - 14, class: index < this.brokers ? "lifeline broker" : "lifeline" }));
    const { generation } = this;
    return svg("svg", { viewBox: `0 0 ${this.width} ${this.y + 10}`, width: this.width, height: this.y + 10, role: "img", "aria-label": `Messages of generation ${generation.generation} of ${generation.group_id}, from ${clock(generation.began_us)} to ${clock(generation.ended_us)}: ${count(events.length, "event")}. The table below says the same.` },
      arrowHeads(), lines, this.back, this.front);
  }

  heading() {
    this.y += 20;
    const fits = Math.max(5, Math.floor((this.step - 10) / 7.3));
    this.names.forEach((name, index) => {
      const width = this.step - 6;
      this.front.append(svg("rect", { x: this.x(name) - width / 2, y: this.y - 15, width, height: 20, rx: 3, class: index < this.brokers ? "actor broker" : "actor" }),
        svg("text", { x: this.x(name), y: this.y, class: "name", "text-anchor": "middle" }, short(nickname(this.run, name), fits), svg("title", {}, name)));
    });
    this.y += 4;
  }

  gap(us) {
    this.y += 16;
    this.label(6, this.y + 4, `⋮ ${span(us)}`, "gap");
  }

  label(x, y, text, kind, title) {
    this.front.append(svg("text", { x, y, class: kind }, text, title ? svg("title", {}, title) : null));
  }

  event(event) {
    if (event.kind === "more") this.label(this.x(this.names[this.brokers - 1]) + 8, this.y + 4, `⋮ ${event.text}`, "gap");
    else if (event.kind === "state" || event.kind === "note") this.band(event);
    else if (event.broker !== undefined) this.arrow(event);
    else this.atLifeline(event);
    if (event.opens && !event.lost) this.open.set(event.opens.key, { ...event.opens, host: event.host, y: this.y });
    if (event.closes) {
      const begun = this.open.get(event.closes.key);
      this.open.delete(event.closes.key);
      this.bar(event.closes, begun || { host: event.host, y: 26 }, this.y);
    }
  }

  bar(bar, begun, y) {
    this.back.append(svg("rect", { x: this.x(begun.host) - 4, y: begun.y, width: 8, height: Math.max(2, y - begun.y), class: "parked", style: `fill: var(--${bar.look || begun.look})` }));
  }

  band(event) {
    const text = event.aside ? `${event.text}: ${event.aside}` : event.text;
    const fits = Math.floor((this.width - 110) / 7.4);
    this.back.append(svg("rect", { x: 84, y: this.y - 10, width: this.width - 88, height: 20, rx: 2, class: `band ${event.kind}${event.bad ? " bad" : ""}` }));
    this.label(92, this.y + 4, text.length > fits ? `${text.slice(0, fits - 1)}…` : text, `band-text${event.bad ? " bad" : ""}`, text);
  }

  arrow(event) {
    const host = this.x(event.host);
    const broker = this.x(event.broker || this.names[0]);
    const answer = event.kind === "answer";
    const looks = event.bad ? (NOTICES.has(event.message.error) ? " notice" : " bad") : "";
    const y = this.y + 6;
    const [from, to] = answer ? [broker, host] : [host, broker];
    const gap = from < to ? 2 : -2;
    this.front.append(svg("line", {
      x1: from + gap, x2: to - gap - (event.lost ? (to - from) * 0.4 : 0), y1: y, y2: y, class: `arrow${answer ? " answer" : ""}${looks}`,
      "marker-end": event.lost ? "url(#lost)" : "url(#head)", "marker-start": event.kind === "exchange" ? "url(#head)" : null,
    }, svg("title", {}, messageTitle(event))));
    const right = this.x(this.names[this.brokers - 1]) + 8;
    this.label(right, this.y, event.aside ? `${event.text} (${short(event.aside, 60)})` : event.text, `message${looks}`, messageTitle(event));
  }

  atLifeline(event) {
    const x = this.x(event.host);
    const onLeft = x > this.width / 2;
    this.front.append(svg("circle", { cx: x, cy: this.y, r: 4, class: event.bad ? "dot bad" : "dot" }),
      svg("text", { x: x + (onLeft ? -9 : 9), y: this.y + 4, "text-anchor": onLeft ? "end" : "start", class: event.bad ? "message bad" : "message" }, event.text));
  }
}

function messageTitle(event) {
  const { message } = event;
  const times = [["sent", message.sent_us], ["received", message.received_us], ["answered", message.answered_us], ["returned", message.returned_us]];
  return [`${message.host} → ${message.broker || "coordinator"}: ${message.api}`, ...times.filter(([, us]) => us !== null).map(([what, us]) => `${what} ${clock(us)}`),
    message.member_id ? `member ${message.member_id}` : "", message.error || "", message.reason || ""].filter((line) => line).join("\n");
}

function arrowHeads() {
  const head = svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, svg("path", { d: "M0,0.5 L8,4 L0,7.5 z", class: "tip" }));
  const lost = svg("marker", { id: "lost", viewBox: "0 0 8 8", refX: 4, refY: 4, markerWidth: 9, markerHeight: 9, orient: "auto" }, svg("path", { d: "M1,1 L7,7 M7,1 L1,7", class: "cross" }));
  return svg("defs", {}, head, lost);
}

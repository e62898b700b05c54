// Plays the runs of rebalance-data.js: SVG, no library. A player is <div class="rebalance" data-runs="NAME …">; several
// runs of one player share its clock. Virtual time is stretched: every event gets room, long waits are short.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 400, HEIGHT = 332, TOP = 96, MEMBERS = 178;
  const DOING = {
    UNJOINED: "outside", PREPARING_REBALANCE: "waits: JoinGroup", COMPLETING_REBALANCE: "waits: SyncGroup", STABLE: "works",
  };

  const make = (parent, tag, attributes = {}, text = "") => {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text) made.textContent = text;
    parent.append(made);
    return made;
  };
  const html = (parent, tag, attributes = {}, text = "") => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    parent.append(made);
    return made;
  };
  const clock = (us) => `${Math.floor(us / 6e7)}:${((us / 1e6) % 60).toFixed(3).padStart(6, "0")}`;

  // The instants at which anything happens, and where each stands in stretched time (milliseconds at normal speed).
  class Time {
    constructor(runs) {
      const seen = new Set([0, ...runs.map((run) => run.end)]);
      for (const run of runs) {
        for (const event of run.events) {
          seen.add(event[0]);
          if ((event[1] === "ask" || event[1] === "answer") && event[4] !== null) seen.add(event[4]);
        }
        for (const [t] of run.words) seen.add(t);
      }
      this.us = [...seen].sort((a, b) => a - b);
      this.ms = [0];
      for (let i = 1; i < this.us.length; i += 1) {
        const gap = (this.us[i] - this.us[i - 1]) / 1000;
        this.ms.push(this.ms[i - 1] + 150 + 320 * Math.log10(1 + gap));
      }
    }

    get end() { return this.ms[this.ms.length - 1]; }

    static between(from, to, value) {
      let low = 0, high = from.length - 1;
      if (value >= from[high]) return to[high];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (from[middle] <= value) low = middle; else high = middle;
      }
      return to[low] + (to[high] - to[low]) * (value - from[low]) / (from[high] - from[low]);
    }

    at(us) { return Time.between(this.us, this.ms, us); }

    shown(ms) { return Time.between(this.ms, this.us, ms); }
  }

  // What a run looks like at an instant: every event up to it, in order.
  const stateAt = (run, us) => {
    const state = {group: "Empty", generation: 0, leader: null, owned: false, members: {}, owner: {}, parked: {}, flying: []};
    for (const name of run.members) state.members[name] = {life: "absent", client: "UNJOINED", callback: false};
    for (const event of run.events) {
      const [t, kind, who] = event;
      if (t > us) break;
      const member = state.members[who];
      if (kind === "start" && member) member.life = "alive";
      else if (kind === "crash") member.life = "dead";
      else if (kind === "stop") member.life = "ended";
      else if (kind === "client" && member) member.client = event[3];
      else if (kind === "callback" && member) member.callback = event[3];
      else if (kind === "removed") delete state.parked[who];
      else if (kind === "group") {
        state.group = who;
        state.generation = event[3] ?? state.generation;
        state.leader = event[4] ?? state.leader;
      } else if (kind === "own") { state.owner[event[3]] = who; state.owned = true; }
      else if (kind === "free" && state.owner[event[3]] === who) delete state.owner[event[3]];
      else if (kind === "park") state.parked[who] = event[3];
      else if (kind === "ask" || kind === "answer") {
        if (kind === "answer" && state.parked[who] === event[3]) delete state.parked[who];
        const until = event[4] ?? t + 500000;
        if (us <= until) state.flying.push({kind, who, api: event[3], from: t, until, error: event[5], lost: event[4] === null});
      }
    }
    return state;
  };

  class Panel {
    constructor(parent, run) {
      this.run = run;
      this.figure = html(parent, "figure");
      html(this.figure, "figcaption", {}, run.title);
      this.svg = make(this.figure, "svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": run.title});
      this.wide = (WIDTH - 10) / run.members.length;
      this.lines = run.members.map((name, i) => {
        const x = this.x(i);
        return make(this.svg, "line", {x1: x, y1: TOP, x2: x, y2: MEMBERS, class: "rb-line"});
      });
      this.coordinator = make(this.svg, "rect", {x: 5, y: 4, width: WIDTH - 10, height: TOP - 4, rx: 8, class: "rb-box"});
      make(this.svg, "text", {x: 16, y: 24, class: "rb-quiet"}, "coordinator");
      this.generation = make(this.svg, "text", {x: WIDTH - 16, y: 24, class: "rb-quiet", "text-anchor": "end"});
      this.state = make(this.svg, "text", {x: WIDTH / 2, y: 50, class: "rb-state", "text-anchor": "middle"});
      this.members = run.members.map((name, i) => this.member(name, i));
      make(this.svg, "text", {x: 8, y: HEIGHT - 32, class: "rb-quiet"}, "without a consumer");
      this.squares = new Map(run.partitions.map((name) => {
        const group = make(this.svg, "g", {class: "rb-partition"});
        make(group, "rect", {x: -10, y: -10, width: 20, height: 20, rx: 3});
        make(group, "text", {x: 0, y: 4, "text-anchor": "middle"}, name.split("-").pop());
        return [name, group];
      }));
      this.layer = make(this.svg, "g");
      this.caption = html(this.figure, "p", {class: "rb-caption"});
    }

    x(i) { return 5 + this.wide * (i + 0.5); }

    member(name, i) {
      const left = 5 + this.wide * i + 3, width = this.wide - 6;
      const box = make(this.svg, "rect", {x: left, y: MEMBERS, width, height: 108, rx: 8, class: "rb-box"});
      const title = make(this.svg, "text", {x: this.x(i), y: MEMBERS + 19, class: "rb-name", "text-anchor": "middle"}, name);
      const doing = make(this.svg, "text", {x: this.x(i), y: MEMBERS + 37, class: "rb-quiet", "text-anchor": "middle"});
      const parked = make(this.svg, "text", {x: this.x(i), y: TOP - 12, class: "rb-parked", "text-anchor": "middle"});
      return {name, box, title, doing, parked};
    }

    show(us, time, ms) {
      const state = stateAt(this.run, us);
      this.state.textContent = state.group;
      this.coordinator.setAttribute("class", `rb-box rb-${state.group}`);
      this.generation.textContent = `generation ${state.generation}`;
      for (const one of this.members) {
        const member = state.members[one.name];
        const doing = {absent: "not started", dead: "crashed", ended: "has left"}[member.life]
          ?? (member.callback ? "in its callback" : DOING[member.client]);
        one.doing.textContent = doing;
        one.title.textContent = one.name + (state.leader === one.name && member.life === "alive" ? " ★" : "");
        one.box.setAttribute("class", `rb-box rb-member-${member.life === "alive" ? member.client : member.life}`);
        one.parked.textContent = state.parked[one.name] ? `parked: ${state.parked[one.name]}` : "";
      }
      const rows = new Map();
      let free = 0;
      for (const [name, square] of this.squares) {
        const owner = state.owner[name];
        const at = owner === undefined ? -1 : this.run.members.indexOf(owner);
        if (at < 0) {
          this.place(square, 160 + 25 * free, HEIGHT - 36, state.owned ? "rb-free" : "rb-unassigned");
          free += 1;
        } else {
          const n = rows.get(at) ?? 0;
          rows.set(at, n + 1);
          const stopped = state.members[owner].callback ? "rb-stopping" : "rb-owned";
          this.place(square, this.x(at) - 26 + 26 * (n % 3), MEMBERS + 60 + 26 * Math.floor(n / 3), stopped);
        }
      }
      this.layer.replaceChildren();
      for (const message of state.flying) this.fly(message, time, ms);
      this.say(us);
    }

    place(square, x, y, look) {
      square.setAttribute("transform", `translate(${x} ${y})`);
      square.setAttribute("class", `rb-partition ${look}`);
    }

    fly(message, time, ms) {
      const at = this.run.members.indexOf(message.who);
      if (at < 0) return;
      const begin = time.at(message.from), end = time.at(message.until);
      const part = end > begin ? Math.min(1, (ms - begin) / (end - begin)) : 1;
      const up = message.kind === "ask";
      const y = up ? MEMBERS - (MEMBERS - TOP) * part : TOP + (MEMBERS - TOP) * part;
      const group = make(this.layer, "g", {class: message.error ? "rb-message rb-error" : "rb-message"});
      const text = `${up ? "↑" : "↓"} ${message.error ?? message.api}`;
      const width = Math.min(this.wide + 44, 7 * text.length + 10);
      const x = Math.min(Math.max(this.x(at), width / 2 + 2), WIDTH - width / 2 - 2);
      make(group, "rect", {x: x - width / 2, y: y - 10, width, height: 20, rx: 10});
      make(group, "text", {
        x, y: y + 4, "text-anchor": "middle", textLength: width - 12, lengthAdjust: "spacingAndGlyphs",
      }, text);
    }

    say(us) {
      let text = "Nothing has happened yet.";
      for (const [t, words] of this.run.words) {
        if (t > us) break;
        text = `${clock(t)}  ${words}`;
      }
      if (this.caption.textContent !== text) this.caption.textContent = text;
    }
  }

  class Player {
    constructor(root, runs) {
      this.runs = runs;
      this.time = new Time(runs);
      this.steps = [...new Set(runs.flatMap((run) => run.words.map(([t]) => t)))].sort((a, b) => a - b);
      this.calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
      this.ms = 0;
      this.speed = 1;
      this.playing = false;
      root.replaceChildren();
      root.tabIndex = 0;
      root.setAttribute("role", "group");
      root.setAttribute("aria-label", "Animation. Space plays and stops, the arrow keys step, Home and End go to the ends.");
      const scenes = runs[0].scenes;
      if (scenes.length) {
        const bar = html(root, "div", {class: "rb-bar"});
        scenes.forEach(([t, name], i) => {
          html(bar, "button", {type: "button"}, `${i + 1} ${name}`).addEventListener("click", () => this.scene(t));
        });
      }
      const panels = html(root, "div", {class: "rb-panels"});
      this.panels = runs.map((run) => new Panel(panels, run));
      const bar = html(root, "div", {class: "rb-bar"});
      this.button(bar, "|◀", "To the begin", () => this.go(0));
      this.button(bar, "◀", "One step back", () => this.step(-1));
      this.play = this.button(bar, "▶ Play", "Play or stop", () => this.toggle());
      this.button(bar, "▶|", "One step on", () => this.step(1));
      const speed = html(bar, "select", {"aria-label": "Speed"});
      for (const [value, name] of [[0.5, "½×"], [1, "1×"], [2, "2×"], [4, "4×"]]) html(speed, "option", {value}, name);
      speed.value = "1";
      speed.addEventListener("change", () => { this.speed = Number(speed.value); });
      this.clock = html(bar, "output", {class: "rb-clock"});
      this.range = html(root, "input", {type: "range", min: 0, max: Math.ceil(this.time.end), value: 0, "aria-label": "Time"});
      this.range.addEventListener("input", () => { this.stop(); this.go(Number(this.range.value)); });
      root.addEventListener("keydown", (event) => this.key(event));
      this.list(root);
      this.scene(scenes.length ? scenes[0][0] : this.opening());
    }

    // A player without scenes opens where its runs begin to differ.
    opening() {
      const [first, ...others] = this.runs.map((run) => run.words);
      const at = first.findIndex(([t, words], i) => others.some((other) => other[i]?.[0] !== t));
      const before = first.slice(0, Math.max(0, at)).map(([t]) => t).reverse();
      return before.find((t, i) => i + 1 === before.length || t - before[i + 1] > 1e6) ?? 0;
    }

    button(parent, text, name, act) {
      const made = html(parent, "button", {type: "button", "aria-label": name, title: name}, text);
      made.addEventListener("click", act);
      return made;
    }

    list(root) {
      const details = html(root, "details");
      html(details, "summary", {}, "All steps, as text");
      for (const run of this.runs) {
        if (this.runs.length > 1) html(details, "p", {}, run.title);
        const list = html(details, "ol");
        for (const [t, words] of run.words) {
          const item = html(list, "li");
          html(item, "button", {type: "button", class: "rb-link"}, clock(t)).addEventListener("click", () => this.scene(t));
          item.append(` ${words}`);
        }
      }
    }

    go(ms) {
      this.ms = Math.min(Math.max(0, ms), this.time.end);
      const us = this.time.shown(this.ms);
      for (const panel of this.panels) panel.show(us, this.time, this.ms);
      this.range.value = String(Math.round(this.ms));
      this.range.setAttribute("aria-valuetext", clock(us));
      this.clock.textContent = clock(us);
    }

    scene(t) { this.stop(); this.go(this.time.at(t)); }

    step(by) {
      this.stop();
      const us = this.time.shown(this.ms);
      const next = by > 0
        ? this.steps.find((t) => t > us + 1)
        : [...this.steps].reverse().find((t) => t < us - 1);
      this.go(next === undefined ? (by > 0 ? this.time.end : 0) : this.time.at(next));
      for (const panel of this.panels) panel.caption.setAttribute("aria-live", "polite");
    }

    toggle() { if (this.playing) this.stop(); else this.start(); }

    start() {
      if (this.ms >= this.time.end) this.go(0);
      this.playing = true;
      this.play.textContent = "■ Stop";
      for (const panel of this.panels) panel.caption.setAttribute("aria-live", "off");
      let last = performance.now();
      let waited = 0;
      const frame = (now) => {
        if (!this.playing) return;
        const passed = (now - last) * this.speed;
        last = now;
        if (this.calm) {  // in steps, where motion is not wanted
          waited += passed;
          if (waited > 1500) {
            waited = 0;
            const next = this.steps.find((t) => t > this.time.shown(this.ms) + 1);
            this.go(next === undefined ? this.time.end : this.time.at(next));
          }
        } else this.go(this.ms + passed);
        if (this.ms >= this.time.end) this.stop(); else requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    }

    stop() { this.playing = false; if (this.play) this.play.textContent = "▶ Play"; }

    key(event) {
      if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches("select, input")) return;
      const scenes = this.runs[0].scenes;
      const acts = {
        ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1), Home: () => this.go(0), End: () => this.go(this.time.end),
      };
      if (!event.target.matches("button, summary")) acts[" "] = () => this.toggle();
      scenes.forEach(([t], i) => { acts[String(i + 1)] = () => this.scene(t); });
      const act = acts[event.key];
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    }
  }

  const begin = () => {
    for (const root of document.querySelectorAll("div.rebalance[data-runs]")) {
      root.player = new Player(root, root.dataset.runs.split(" ").map((name) => window.groupsimRuns[name]));
    }
    document.documentElement.dataset.rebalance = "ready";
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin); else begin();
})();

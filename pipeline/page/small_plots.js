// The plots of a page of one run: the part of plotly's interface that lanes and the lag use, drawn as SVG in a few
// kilobytes. Bars, marks and lines over an axis of time that is zoomed with the mouse; words where the mouse rests.

const Plotly = (() => {
  const NS = "http://www.w3.org/2000/svg";
  const TICKS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1.5e4, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 144e5, 432e5, 864e5]; // ms
  const LETTER = 0.58; // of its size, about
  let hint = null; // the words beside the mouse

  function svg(name, attributes = {}, ...children) {
    const node = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) if (value !== undefined && value !== null) node.setAttribute(key, value);
    node.append(...children.filter((one) => one !== null));
    return node;
  }

  const ms = (value) => dateUs(value) / 1000;
  const at = (list, index) => (Array.isArray(list) ? list[index] : list);
  const text = (words) => String(words).replaceAll(/<br>/g, "\n").replaceAll(/&(lt|gt|amp|#38|quot);/g, (_, name) => ({ lt: "<", gt: ">", amp: "&", "#38": "&", quot: '"' })[name]);

  /** What a drawing needs to know: where the plot is in its frame, and how values become pixels. */
  function frameOf(data, layout) {
    const { l, r, t, b } = layout.margin;
    const [width, height] = [layout.width, layout.height];
    const range = layout.xaxis.range.map(ms);
    const rows = layout.yaxis.range || yRange(data);
    const x = (value) => l + ((value - range[0]) / (range[1] - range[0])) * (width - l - r);
    const y = (value) => t + ((value - rows[1]) / (rows[0] - rows[1])) * (height - t - b);
    return { l, r, t, b, width, height, range, rows, x, y, row: (height - t - b) / Math.abs(rows[0] - rows[1]) };
  }

  function yRange(data) {
    return [0, Math.max(1, ...data.flatMap((trace) => trace.y)) * 1.05];
  }

  function tickStep(length, most, steps) {
    const fitting = steps.find((step) => length / step <= most);
    return fitting || steps[steps.length - 1] * Math.ceil(length / steps[steps.length - 1] / most);
  }

  function timeTicks(frame, axis, layout) {
    const [from, to] = frame.range;
    const step = tickStep(to - from, axis.nticks, TICKS);
    const hours = axis.tickformatstops[1].value.includes("%H");
    const long = hours || axis.tickformatstops[1].value.startsWith("%-H");
    const parts = [];
    for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
      const x = frame.x(tick);
      parts.push(svg("line", { x1: x, x2: x, y1: frame.t - 5, y2: frame.height - frame.b, stroke: axis.gridcolor }));
      const label = svg("text", { x, y: frame.t - 9, "text-anchor": "middle" }, clockOf(tick, step < 1000, long));
      parts.push(svg("g", { class: "xtick", "font-size": layout.font.size, fill: layout.font.color }, label));
    }
    return parts;
  }

  function clockOf(tick, fractions, hours) {
    const whole = Math.floor(tick / 1000);
    const two = (number) => String(number).padStart(2, "0");
    const minutes = Math.floor(whole / 60);
    const words = hours ? `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
    return fractions ? `${words}.${String(Math.round(tick % 1000)).padStart(3, "0")}` : words;
  }

  function rowTicks(frame, axis, layout) {
    if (axis.tickvals) {
      return axis.tickvals.map((value, index) => label(frame.l - 8, frame.y(value) + axis.tickfont.size * 0.35, text(axis.ticktext[index]), axis.tickfont.size, layout));
    }
    const most = frame.rows[1];
    const scale = 10 ** Math.floor(Math.log10(most));
    const step = axis.dtick || Math.max(1, tickStep(most, axis.nticks, [scale / 10, scale / 5, scale / 2, scale, scale * 2, scale * 5]));
    const parts = [];
    for (let tick = 0; tick <= most; tick += step) {
      parts.push(svg("line", { x1: frame.l, x2: frame.width - frame.r, y1: frame.y(tick), y2: frame.y(tick), stroke: axis.gridcolor }),
        label(frame.l - 8, frame.y(tick) + layout.font.size * 0.35, Math.round(tick).toLocaleString("en-US"), layout.font.size, layout));
    }
    if (axis.title) {
      const middle = (frame.t + frame.height - frame.b) / 2;
      parts.push(svg("text", { class: "ytitle", x: 12, y: middle, transform: `rotate(-90 12 ${middle})`, "text-anchor": "middle", "font-size": layout.font.size, fill: layout.font.color }, text(axis.title.text)));
    }
    return parts;
  }

  function label(x, y, words, size, layout) {
    return svg("g", { class: "ytick", "font-size": size, fill: layout.font.color }, svg("text", { x, y, "text-anchor": "end" }, words));
  }

  // --- what is drawn -------------------------------------------------------------------------------------------

  function bars(trace, frame, patterns) {
    const { marker } = trace;
    const fill = marker.pattern ? patterns.of(marker.pattern) : marker.color;
    const high = frame.row * trace.width;
    return trace.y.flatMap((row, index) => {
      const from = ms(trace.base[index]);
      const to = from + trace.x[index];
      if (to < frame.range[0] || from > frame.range[1]) return [];
      const [left, right] = [Math.max(frame.x(from), frame.l), Math.min(frame.x(to), frame.width - frame.r)];
      const y = frame.y(row) - high / 2;
      const wide = Math.max(right - left, marker.line.color === marker.color ? 1.5 : 0.5);
      const parts = [hinted(svg("rect", { x: left, y, width: wide, height: high, fill, stroke: marker.line.color, "stroke-width": marker.line.width }), trace, index)];
      const words = text(at(trace.text, index) || "");
      const size = trace.textfont.size;
      if (words && wide > words.length * size * LETTER + 4 && high > size) {
        const halo = marker.pattern ? { stroke: marker.pattern.bgcolor, "stroke-width": 3, "paint-order": "stroke" } : {};
        parts.push(svg("text", { x: (left + right) / 2, y: y + high / 2 + size * 0.35, "text-anchor": "middle", "font-size": size, fill: trace.textfont.color, "pointer-events": "none", ...halo }, words));
      }
      return parts;
    });
  }

  const SHAPES = {
    circle: (s) => `M${-s} 0a${s} ${s} 0 1 0 ${2 * s} 0a${s} ${s} 0 1 0 ${-2 * s} 0z`,
    diamond: (s) => `M0 ${-1.3 * s}L${1.3 * s} 0L0 ${1.3 * s}L${-1.3 * s} 0z`,
    x: (s) => `M${-s} ${-0.5 * s}L${-0.5 * s} ${-s}L0 ${-0.5 * s}L${0.5 * s} ${-s}L${s} ${-0.5 * s}L${0.5 * s} 0L${s} ${0.5 * s}L${0.5 * s} ${s}L0 ${0.5 * s}L${-0.5 * s} ${s}L${-s} ${0.5 * s}L${-0.5 * s} 0z`,
    "triangle-up": (s) => `M0 ${-1.1 * s}L${1.1 * s} ${0.8 * s}L${-1.1 * s} ${0.8 * s}z`,
    "triangle-down": (s) => `M0 ${1.1 * s}L${1.1 * s} ${-0.8 * s}L${-1.1 * s} ${-0.8 * s}z`,
    "triangle-right": (s) => `M${1.1 * s} 0L${-0.8 * s} ${1.1 * s}L${-0.8 * s} ${-1.1 * s}z`,
  };

  function marks(trace, frame) {
    return trace.x.flatMap((when, index) => {
      const x = frame.x(ms(when));
      if (x < frame.l - 1 || x > frame.width - frame.r + 1) return [];
      const y = frame.y(trace.y[index]);
      const size = trace.marker.size / 2;
      const line = trace.marker.line || {};
      const mark = svg("path", { d: SHAPES[at(trace.marker.symbol, index)](size), transform: `translate(${x} ${y})`, fill: at(trace.marker.color, index), stroke: line.color, "stroke-width": line.width });
      const words = trace.mode.includes("text") ? svg("text", { x: x + size + 4, y: y + 4, "font-size": trace.textfont.size, fill: trace.textfont.color, "pointer-events": "none" }, text(trace.text[index])) : null;
      return [hinted(mark, trace, index), words];
    });
  }

  function line(trace, frame) {
    const points = trace.x.map((when, index) => [frame.x(ms(when)), frame.y(trace.y[index])]);
    const path = points.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    const floor = frame.y(0).toFixed(1);
    const parts = [svg("path", { d: path, fill: "none", stroke: trace.line.color, "stroke-width": trace.line.width })];
    if (trace.fill) parts.unshift(svg("path", { d: `${path}L${points[points.length - 1][0].toFixed(1)} ${floor}L${points[0][0].toFixed(1)} ${floor}z`, fill: trace.line.color, opacity: 0.25 }));
    return parts;
  }

  function shape(one, frame, layout) {
    const [x0, x1] = [frame.x(ms(one.x0)), frame.x(ms(one.x1))];
    const [y0, y1] = [frame.t, frame.height - frame.b];
    if (one.type === "line") {
      return svg("line", { x1: x0, x2: x1, y1: y0, y2: y1, stroke: one.line.color, "stroke-width": one.line.width, "stroke-dasharray": "2 3" });
    }
    return svg("rect", { x: x0, y: y0, width: Math.max(x1 - x0, 1), height: y1 - y0, fill: one.fillcolor, opacity: one.opacity, stroke: one.line.color, "stroke-width": one.line.width });
  }

  /** Hatchings, each once; ids are the page's. */
  const patternIds = { last: 0 };
  function patternsOf(defs) {
    const known = new Map();
    return {
      of(pattern) {
        const key = JSON.stringify(pattern);
        if (!known.has(key)) {
          const id = `hatch-${(patternIds.last += 1)}`;
          const s = pattern.size;
          const paths = { "/": `M0 ${s}L${s} 0M${-s / 4} ${s / 4}L${s / 4} ${-s / 4}M${s * 0.75} ${s * 1.25}L${s * 1.25} ${s * 0.75}`, "\\": `M0 0L${s} ${s}M${-s / 4} ${s * 0.75}L${s / 4} ${s * 1.25}M${s * 0.75} ${-s / 4}L${s * 1.25} ${s / 4}` };
          const path = pattern.shape === "x" ? paths["/"] + paths["\\"] : paths[pattern.shape];
          defs.append(svg("pattern", { id, width: s, height: s, patternUnits: "userSpaceOnUse" },
            svg("rect", { width: s, height: s, fill: pattern.bgcolor }), svg("path", { d: path, stroke: pattern.fgcolor, "stroke-width": s * pattern.solidity * 0.6 })));
          known.set(key, id);
        }
        return `url(#${known.get(key)})`;
      },
    };
  }

  // --- the mouse -----------------------------------------------------------------------------------------------

  function hinted(node, trace, index) {
    node.words = text(at(trace.hovertext, index) || "");
    return node;
  }

  function showHint(event, words, look) {
    if (!hint) {
      hint = document.createElement("div");
      hint.className = "hint";
      hint.setAttribute("aria-hidden", "true");
      document.body.append(hint);
    }
    hint.hidden = !words;
    if (!words) return;
    hint.textContent = words;
    Object.assign(hint.style, { background: look.bgcolor, borderColor: look.bordercolor, color: look.font.color });
    const room = document.documentElement.clientWidth - hint.offsetWidth - 12;
    hint.style.left = `${Math.max(4, Math.min(event.clientX + 14, room))}px`;
    hint.style.top = `${event.clientY + 18 + hint.offsetHeight > innerHeight ? event.clientY - hint.offsetHeight - 10 : event.clientY + 18}px`;
  }

  function nearest(trace, frame, x) {
    const when = frame.range[0] + ((x - frame.l) / (frame.width - frame.l - frame.r)) * (frame.range[1] - frame.range[0]);
    let index = trace.x.findIndex((one) => ms(one) > when);
    index = index < 0 ? trace.x.length - 1 : Math.max(0, index - 1);
    return text(trace.hovertext[index]);
  }

  function emit(holder, event, value) {
    (holder.listeners[event] || []).forEach((act) => act(value));
  }

  function watchMouse(holder) {
    let begun = null;
    const place = (event) => event.clientX - holder.getBoundingClientRect().left;
    const frame = () => holder.frame;
    const inside = (event) => {
      const box = holder.getBoundingClientRect();
      const { l, r, t, b, width, height } = frame();
      return place(event) >= l && place(event) <= width - r && event.clientY - box.top >= t && event.clientY - box.top <= height - b;
    };
    holder.addEventListener("mousedown", (event) => {
      if (event.button !== 0 || holder._fullLayout.dragmode === false || !inside(event)) return;
      begun = place(event);
      event.preventDefault();
    });
    addEventListener("mousemove", (event) => {
      if (begun === null) return;
      const [left, right] = [Math.min(begun, place(event)), Math.max(begun, place(event))];
      const { l, r, t, b, width, height } = frame();
      const mark = holder.querySelector(".zoombox");
      mark.setAttribute("x", Math.max(left, l));
      mark.setAttribute("width", Math.max(0, Math.min(right, width - r) - Math.max(left, l)));
      mark.setAttribute("y", t);
      mark.setAttribute("height", height - t - b);
    });
    addEventListener("mouseup", (event) => {
      if (begun === null) return;
      const { l, r, width, range } = frame();
      const value = (x) => range[0] + ((Math.max(l, Math.min(x, width - r)) - l) / (width - l - r)) * (range[1] - range[0]);
      const [from, to] = [value(Math.min(begun, place(event))), value(Math.max(begun, place(event)))];
      const far = Math.abs(place(event) - begun) > 4;
      begun = null;
      holder.querySelector(".zoombox").setAttribute("width", 0);
      if (far) emit(holder, "plotly_relayout", { "xaxis.range[0]": from, "xaxis.range[1]": to });
    });
    holder.addEventListener("dblclick", (event) => inside(event) && emit(holder, "plotly_doubleclick"));
    holder.addEventListener("mousemove", (event) => {
      const lines = holder.data.filter((trace) => trace.mode === "lines");
      const words = event.target.words || (lines.length && inside(event) ? nearest(lines[0], frame(), place(event)) : "");
      showHint(event, begun === null ? words : "", holder._fullLayout.hoverlabel);
    });
    holder.addEventListener("mouseleave", (event) => showHint(event, "", null));
  }

  // --- the interface -------------------------------------------------------------------------------------------

  function react(holder, data, layout) {
    if (!holder.listeners) {
      holder.listeners = {};
      holder.on = (event, act) => (holder.listeners[event] ||= []).push(act);
      watchMouse(holder);
    }
    const frame = frameOf(data, layout);
    Object.assign(holder, { data, frame, _fullLayout: { ...layout, xaxis: { ...layout.xaxis, range: layout.xaxis.range } } });
    const defs = svg("defs");
    const patterns = patternsOf(defs);
    const clip = `clip-${(patternIds.last += 1)}`;
    defs.append(svg("clipPath", { id: clip }, svg("rect", { x: frame.l, y: frame.t - 4, width: frame.width - frame.l - frame.r, height: frame.height - frame.t - frame.b + 8 })));
    const draw = { bar: (trace) => bars(trace, frame, patterns), scatter: (trace) => (trace.mode === "lines" ? line(trace, frame) : marks(trace, frame)) };
    const drawn = data.flatMap((trace) => draw[trace.type](trace)).filter((one) => one);
    holder.replaceChildren(svg("svg", { class: "main-svg", width: frame.width, height: frame.height, viewBox: `0 0 ${frame.width} ${frame.height}`, "font-family": layout.font.family },
      defs,
      svg("rect", { class: "nsewdrag", x: frame.l, y: frame.t, width: frame.width - frame.l - frame.r, height: frame.height - frame.t - frame.b, fill: layout.plot_bgcolor }),
      ...timeTicks(frame, layout.xaxis, layout),
      ...rowTicks(frame, layout.yaxis, layout),
      svg("g", { "clip-path": `url(#${clip})` }, ...(layout.shapes || []).map((one) => shape(one, frame, layout)), ...drawn),
      svg("rect", { class: "zoombox", width: 0, height: 0, fill: layout.font.color, opacity: 0.15 })));
  }

  return { react, purge: (holder) => holder.replaceChildren(), small: true };
})();

// What every part of the page uses: elements, words for times and numbers, tables, the rows of a run.

/** An element with attributes and children. Text is always set as text, never read as markup. */
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

/** Text whose parts between backticks are code. */
function withCode(text) {
  return text.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element. */
function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

let idsGiven = 0;

/** A fresh id, for labels and the like. */
function freshId(prefix) {
  idsGiven += 1;
  return `${prefix}-${idsGiven}`;
}

// --- words: the same as in the terminal ------------------------------------------------------------------------

/** A point of virtual time: 0:31.204, with hours when there are any. */
function clock(us) {
  const all = Math.floor((us + 500) / 1000);
  const ms = String(all % 1000).padStart(3, "0");
  const seconds = String(Math.floor(all / 1000) % 60).padStart(2, "0");
  const minutes = Math.floor(all / 60000) % 60;
  const hours = Math.floor(all / 3600000);
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${seconds}.${ms}` : `${minutes}:${seconds}.${ms}`;
}

/** A length of time with three figures or so. */
function span(us) {
  if (us < 0) return `−${span(-us)}`;
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 999500) return `${Math.floor((us + 500) / 1000)} ms`;
  if (us < 119950000) return `${(Math.floor((us + 50000) / 100000) / 10).toFixed(1)} s`;
  const seconds = Math.floor((us + 500000) / 1000000);
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min${seconds % 60 ? ` ${seconds % 60} s` : ""}`;
  const minutes = Math.floor((seconds + 30) / 60);
  return `${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
}

/** A length, or a dash for none. */
function spanOr(us, none = "–") {
  return us ? span(us) : none;
}

/** A number with thousands set apart, and no more than three decimals. */
function figure(number) {
  if (number === null || number === undefined) return "–";
  return number.toLocaleString("en-US", { maximumFractionDigits: Math.abs(number) < 10 ? 3 : 1 });
}

/** 1 rebalance, 2 rebalances, no rebalances. */
function count(number, noun) {
  return `${number ? figure(number) : "no"} ${noun}${number === 1 ? "" : "s"}`;
}

/** A name that fits: what is cut out is cut in its middle, where pod names are least telling. */
function short(name, longest) {
  if (name.length <= longest) return name;
  if (longest < 10) return `…${name.slice(1 - longest)}`;
  const tail = Math.floor((longest - 1) / 2);
  return `${name.slice(0, longest - 1 - tail)}…${name.slice(name.length - tail)}`;
}

/** Text for plotly, which would read tags in it. */
function plain(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

// --- the rows of a run -----------------------------------------------------------------------------------------

/** Tables as the page carries them (columns; texts as numbers into `strings`) → lists of rows. */
function unpack(packed) {
  const tables = {};
  for (const [name, table] of Object.entries(packed.tables)) {
    const columns = Object.entries(table.columns).map(([column, cells]) => [
      column,
      table.texts.includes(column) ? cells.map((cell) => (cell === null ? null : packed.strings[cell])) : cells,
    ]);
    tables[name] = Array.from({ length: table.rows }, (_, row) =>
      Object.fromEntries(columns.map(([column, cells]) => [column, cells[row]])),
    );
  }
  return tables;
}

// --- tables ----------------------------------------------------------------------------------------------------

/**
 * A table. A column is {title, cell(row) → text or node, number: bool, head: bool}; a wide table scrolls in a frame
 * that the keyboard reaches. `attributes.stack`: on a narrow screen each row becomes a list of its cells with their titles.
 */
function tableOf(caption, columns, rows, attributes = {}) {
  const head = el("tr", {}, columns.map((c) => el("th", { scope: "col", class: c.number ? "number" : null }, c.title)));
  const body = rows.map((row) =>
    el("tr", attributes.row ? attributes.row(row) : {}, columns.map((c) => tableCell(c, row, attributes.stack))),
  );
  const id = freshId("table");
  const table = el("table", { class: [attributes.class || "", attributes.stack ? "stack" : ""].join(" ").trim() || null }, el("caption", { id }, el("span", { class: "said" }, caption)), el("thead", {}, head), el("tbody", {}, body));
  return el("div", { class: "frame", role: "region", tabindex: "0", "aria-labelledby": id }, table);
}

function tableCell(column, row, stack) {
  const content = column.cell(row);
  const attributes = { "data-title": stack ? column.title : null, class: [column.number ? "number" : "", column.class || ""].join(" ").trim() || null };
  if (column.head) return el("th", { scope: "row", ...attributes }, content);
  return el("td", attributes, content === null || content === undefined ? "–" : content);
}

const MANY_ROWS = 1000;

/** What a plot shows, as a table that is made when somebody opens it. */
function asTable(summary, caption, columns, rows) {
  const details = el("details", { class: "equivalent" }, el("summary", {}, summary));
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const all = rows();
    if (all.length > MANY_ROWS) {
      details.append(el("p", { class: "note" }, `The first ${figure(MANY_ROWS)} of ${figure(all.length)} rows.`));
    }
    details.append(tableOf(caption, columns, all.slice(0, MANY_ROWS)));
  });
  return details;
}

/** A labelled native select. `options` are [value, text]. */
function chooser(label, options, chosen, change, attributes = {}) {
  const id = freshId("choose");
  const select = el("select", { id, ...attributes }, options.map(([value, text]) =>
    el("option", { value, selected: String(value) === String(chosen) }, text)));
  select.addEventListener("change", () => change(select.value));
  return el("span", { class: "chooser" }, el("label", { for: id }, label), select);
}

/** A section with a heading of its own, of the level given. */
function section(level, title, ...children) {
  const id = freshId("section");
  return el("section", { "aria-labelledby": id, class: `level-${level}` }, el(`h${level}`, { id, tabindex: "-1" }, title), children);
}

/** Links to the sections of level 2 that are in `container`. */
function contentsOf(container) {
  const links = [...container.querySelectorAll("h2")].map((heading) => el("a", { href: `#${heading.id}` }, heading.textContent.split(": ")[0]));
  return links.length > 2 ? el("nav", { class: "contents screen", "aria-label": "Contents" }, links) : null;
}

/** A row of key figures. A figure is [value, what it is, "bad" or nothing]. */
function keyFigures(figures) {
  return el("dl", { class: "figures" }, figures.map(([value, what, mood]) =>
    el("div", { class: mood || null }, el("dt", {}, what), el("dd", {}, value))));
}

// Plots: colours of the theme, drawing, drawing again for another theme or for paper.

const PAPER_WIDTH = 690; // px of an A4 page between its margins
const drawn = new Set(); // every plot on the page, to be drawn again when colours or sizes change
let onPaper = false;

/** A colour of the style sheet. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Fills that black text is readable on: the first eight are told apart with any colour vision (Paul Tol's "light" scheme),
// the others differ from them in lightness as well as in hue. Bars also carry their owner's name.
const OWNERS = [
  "#77aadd", "#eedd88", "#44bb99", "#ffaabb", "#99ddff", "#bbcc33", "#c9b6e4", "#aaaa00",
  "#ee8866", "#dddddd", "#b58863", "#d5f5c8", "#9a9ab8", "#ff77cc", "#e8c4a0", "#55ccdd",
];
const INK = "#111111"; // text on these fills, in either theme

/** The fill of the n-th owner. */
function ownerFill(index) {
  return OWNERS[index % OWNERS.length];
}

const TOUCH = matchMedia("(pointer: coarse)"); // no mouse: nothing hovers, and a bar of tools would always lie there
const TOOLS = 28; // px above a plot for plotly's tools, which would cover marks and the last tick of an axis otherwise

/** What all plots have in common. */
function layoutOf(own) {
  const room = onPaper || TOUCH.matches || Plotly.small ? 0 : TOOLS;
  const axis = { gridcolor: colour("grid"), zerolinecolor: colour("grid"), linecolor: colour("line"), tickcolor: colour("line") };
  const layout = {
    paper_bgcolor: colour("page"),
    plot_bgcolor: colour("page"),
    font: { family: getComputedStyle(document.body).fontFamily, size: onPaper ? 10 : 12, color: colour("text") },
    margin: { l: 60, r: 12, t: 8, b: 40 },
    hoverlabel: { bgcolor: colour("raised"), bordercolor: colour("line"), font: { color: colour("text") }, align: "left" },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("quiet"), activecolor: colour("text") },
    dragmode: TOUCH.matches ? false : "zoom",
    ...own,
  };
  layout.margin = { ...layout.margin, t: layout.margin.t + room };
  layout.height += room;
  for (const name of Object.keys(layout)) {
    if (/^[xy]axis/.test(name)) layout[name] = { ...axis, ...layout[name] };
  }
  return layout;
}

/** The title of an axis, broken into lines where the screen is narrow; `left` is the room (px) left of the plot. */
function axisTitle(text, left = 60) {
  const room = onPaper ? 90 : Math.max(18, Math.floor((document.documentElement.clientWidth - left - 50) / 7.4));
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines[lines.length - 1].length + word.length > room) lines.push("");
    lines[lines.length - 1] += `${lines[lines.length - 1] ? " " : ""}${word}`;
  }
  return { text: lines.map(plain).join("<br>"), standoff: 8 };
}

/** A label in lines of at most so many characters, broken between words; one with a longer word is longer. */
function inLines(text, longest) {
  const lines = [];
  for (const word of text.split(/(?<=[ ·])(?=[^ ·])/)) {
    const last = lines.length - 1;
    if (last >= 0 && (lines[last] + word).trimEnd().length <= longest) lines[last] += word;
    else lines.push(word);
  }
  return lines.map((line) => line.trimEnd());
}

const CONFIG = {
  displaylogo: false,
  displayModeBar: TOUCH.matches ? false : "hover",
  // A page is somebody's own: nothing of it goes to plotly's servers, not by a slip of the mouse either.
  plotlyServerURL: "",
  showSendToCloud: false,
  modeBarButtonsToRemove: ["sendChartToCloud", "sendDataToCloud", "select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
  scrollZoom: false,
  doubleClick: "reset",
};

/**
 * A plot in a frame. `build()` gives {data, layout} with the colours of the moment; `describe` says in words what is
 * to be seen. The plot draws itself once it is in the page; `redraw()` draws it anew.
 */
function plot(describe, build, classes = "") {
  const holder = el("div", { class: `plot ${classes}`, role: "img", "aria-label": describe });
  const self = {
    node: holder,
    redraw() {
      const { data, layout } = build();
      const width = onPaper ? PAPER_WIDTH : holder.clientWidth || 600;
      Plotly.react(holder, data, { ...layoutOf(layout), width }, CONFIG);
      if (!self.ready) {
        self.ready = true;
        (self.whenReady || []).forEach((act) => act(holder));
      }
    },
    whenReady: [],
    ready: false,
  };
  drawn.add(self);
  return self;
}

/** Draw what is new and forget what has left the page. Called after elements have been put into the page. */
function drawPlots({ again = false } = {}) {
  for (const one of drawn) {
    if (!one.node.isConnected) {
      if (one.ready) {
        Plotly.purge(one.node);
        drawn.delete(one);
      }
    } else if ((again || !one.ready) && one.node.closest("details:not([open])") === null) {
      one.redraw();
    }
  }
}

// --- theme, size, paper -----------------------------------------------------------------------------------------

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

let chosenTheme = ""; // by the button; until then the machine's preference counts

function isDark() {
  return chosenTheme ? chosenTheme === "dark" : prefersDark.matches;
}

function showTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  document.getElementById("theme").textContent = isDark() ? "Light theme" : "Dark theme";
}

function watchAppearance() {
  showTheme();
  document.getElementById("theme").addEventListener("click", () => {
    chosenTheme = isDark() ? "light" : "dark";
    showTheme();
    drawPlots({ again: true });
  });
  document.getElementById("print").addEventListener("click", () => window.print());
  prefersDark.addEventListener("change", () => {
    showTheme();
    drawPlots({ again: true });
  });
  let waiting = 0;
  let wide = document.documentElement.clientWidth;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (onPaper || document.documentElement.clientWidth === wide) return;
      wide = document.documentElement.clientWidth;
      drawPlots({ again: true });
      window.dispatchEvent(new Event("widthchange"));
    }, 150);
  });
  watchPaper();
}

/** For paper everything is drawn in light colours and as wide as a page; afterwards as before. */
function watchPaper() {
  const print = matchMedia("print");
  const turn = (paper) => {
    if (paper === onPaper) return;
    onPaper = paper;
    document.documentElement.toggleAttribute("data-paper", paper);
    drawPlots({ again: true });
    window.dispatchEvent(new Event("widthchange"));
  };
  window.addEventListener("beforeprint", () => turn(true));
  window.addEventListener("afterprint", () => turn(false));
  print.addEventListener("change", () => turn(print.matches));
}

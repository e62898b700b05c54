// The beginning: read the data, show the page.

const page = JSON.parse(document.getElementById("data").textContent);
watchAppearance();
if (page.kind === "run") {
  showRun(document.getElementById("main"), runOf(page.run, page), 2);
} else {
  showSweep(document.getElementById("main"), page);
}
document.getElementById("main").prepend(...[contentsOf(document.getElementById("main"))].filter((one) => one));
drawPlots();
document.documentElement.dataset.ready = "yes";

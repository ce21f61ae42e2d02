// What a page can do beyond being read: live charts, opened commits, coloured diffs, filters. Everything works without it.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);

  // Charts. Vega's interpreter (ast) needs no eval; text from runs only ever becomes textContent.
  const tip = byId("tip");
  function showTip(handler, event, item, value) {
    if (!value) { tip.hidden = true; return; }
    tip.replaceChildren();
    for (const text of typeof value === "object" ? Object.values(value) : [value]) {
      const line = document.createElement("div");
      line.textContent = String(text);
      tip.append(line);
    }
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(8, Math.min(event.clientX + 14, room)) + "px";
    const below = event.clientY + 16;
    const fits = below + tip.offsetHeight < window.innerHeight;
    tip.style.top = (fits ? below : event.clientY - tip.offsetHeight - 12) + "px";
  }

  async function draw(holder) {
    const spec = JSON.parse(byId("spec-" + holder.dataset.chart).textContent);
    const live = document.createElement("div");
    live.className = "live";
    holder.append(live);
    const options = { ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: showTip, logLevel: 1 };
    try {
      const { view } = await window.vegaEmbed(live, spec, options);
      view.addEventListener("click", (event, item) => {
        if (item && item.datum && byId("commit-" + item.datum.at)) location.hash = "commit-" + item.datum.at;
      });
      holder.classList.add("is-live");
    } catch (error) {
      live.remove(); // the static picture stays
      console.error("chart " + holder.dataset.chart + ": " + error);
    }
  }
  async function drawAll() {
    for (const holder of all("[data-chart]")) await draw(holder);
    document.documentElement.dataset.charts = "done";
  }
  if (window.vegaEmbed) drawAll(); else document.documentElement.dataset.charts = "none";

  // Diffs are coloured when they are first seen, so that a long run's page stays small.
  function colour(pre) {
    if (pre.dataset.done) return;
    pre.dataset.done = "1";
    const styles = { "+": "add", "-": "del", "@": "hunk", "[": "hunk" };
    const lines = pre.textContent.split("\n").map((text) => {
      const line = document.createElement("span");
      line.className = styles[text[0]] || "same";
      line.textContent = text + "\n";
      return line;
    });
    pre.replaceChildren(...lines);
  }
  const colourOpen = (root) => all("details.file[open] > pre.diff", root).forEach(colour);
  for (const details of all("details")) {
    details.addEventListener("toggle", () => { if (details.open) colourOpen(details.parentElement); });
  }

  // Links into a page open what they point at.
  function openTarget() {
    const target = byId(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    target.scrollIntoView({ block: "start" });
    const summary = target.querySelector(":scope > summary");
    if (summary) summary.focus({ preventScroll: true });
  }
  window.addEventListener("hashchange", openTarget);
  if (location.hash && !byId("runs")) openTarget();

  const expand = byId("expand");
  if (expand) {
    expand.hidden = false;
    expand.addEventListener("click", () => {
      const open = expand.textContent === "Open all";
      all("details.commit").forEach((details) => { details.open = open; });
      expand.textContent = open ? "Close all" : "Open all";
    });
  }

  // The list of runs: filters that live in the address, and sorting by column.
  const table = byId("runs");
  const form = byId("filters");
  if (!table || !form) return;
  form.hidden = false;
  const rows = all("tbody tr", table);
  const keys = ["task", "agent", "status"];

  function filter() {
    const wanted = keys.map((key) => [key, form.elements[key].value]).filter(([, value]) => value);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !wanted.every(([key, value]) => row.dataset[key] === value);
      shown += row.hidden ? 0 : 1;
    }
    byId("shown").textContent = shown === rows.length ? shown + " runs" : shown + " of " + rows.length + " runs";
    const hash = new URLSearchParams(wanted).toString();
    history.replaceState(null, "", hash ? "#" + hash : location.pathname);
  }
  function readAddress() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    for (const key of keys) {
      const value = wanted.get(key) || "";
      const options = [...form.elements[key].options];
      form.elements[key].value = options.some((option) => option.value === value) ? value : "";
    }
    filter();
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", readAddress);
  readAddress();

  function sortBy(head, button) {
    const column = [...head.parentElement.children].indexOf(head);
    const numeric = head.dataset.sort === "num";
    const down = head.getAttribute("aria-sort") === (numeric ? "descending" : "ascending") ? !numeric : numeric;
    all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.children[column];
      return numeric ? (cell.dataset.value === "" ? null : Number(cell.dataset.value)) : cell.textContent.trim();
    };
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null); // the missing last, either way
      const sign = numeric ? x - y : x.localeCompare(y);
      return down ? -sign : sign;
    };
    rows.sort(order);
    table.tBodies[0].append(...rows);
  }
  for (const head of all("th[data-sort]", table)) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => sortBy(head, button));
  }
})();

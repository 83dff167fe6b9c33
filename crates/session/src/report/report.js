
"use strict";
// The page is complete without this script. It adds selecting, sorting, searching and keys. Texts of agents
// only ever pass through `textContent`.
(() => {
  const root = document.documentElement;
  const table = document.getElementById("table");
  const body = table.tBodies[0];
  const make = (name, properties) => Object.assign(document.createElement(name), properties);
  const agents = [...body.rows].map((row) => {
    const content = document.getElementById("agent-" + row.dataset.agent);
    return { row, link: row.querySelector("a"), content, details: content.parentElement, text: null };
  });
  const agentOf = (element) => agents.find((agent) => agent.row === element.closest("tr"));
  const visible = () => [...body.rows].filter((row) => !row.hidden).map(agentOf);
  let opened = null;
  root.classList.add("js");
  // One agent has the whole width.
  root.classList.toggle("single", agents.length === 1);

  // The words for what is pointed at, or walked to with the keys. Browsers would show titles once more.
  const tip = document.body.appendChild(make("div", { id: "tip", role: "status" }));
  let current = null;
  const words = (bar) => {
    const title = bar.querySelector("title");
    if (title) {
      bar.words = title.textContent;
      title.remove();
    }
    return bar.words;
  };
  const tell = (bar) => {
    current?.classList.remove("current");
    current = bar;
    tip.textContent = bar ? words(bar) : "";
    if (!bar) return;
    bar.classList.add("current");
    const box = bar.getBoundingClientRect();
    const left = Math.min(box.left, innerWidth - tip.offsetWidth - 8);
    const below = box.bottom + 8;
    const fits = below + tip.offsetHeight < innerHeight;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (fits ? below : box.top - tip.offsetHeight - 8) + "px";
  };
  table.addEventListener("pointerover", (event) => tell(event.target.closest(".bar")));
  table.addEventListener("pointerleave", () => tell(null));
  addEventListener("scroll", () => tell(null), { passive: true });

  // One row at a time can be reached with Tab, and the arrows lead to the others.
  const reach = (agent) => agents.forEach((other) => (other.link.tabIndex = other === agent ? 0 : -1));
  const focus = (agent) => {
    if (!agent) return;
    reach(agent);
    agent.link.focus();
  };
  body.addEventListener("focusin", (event) => {
    tell(null);
    reach(agentOf(event.target));
  });

  const close = () => {
    if (!opened) return;
    const { row, details } = opened;
    opened = null;
    row.classList.remove("chosen");
    details.open = false;
    root.classList.remove("opened");
    highlight();
  };
  const open = (agent) => {
    if (opened !== agent) close();
    tell(null);
    opened = agent;
    agent.row.classList.add("chosen");
    agent.details.open = true;
    root.classList.add("opened");
    reach(agent);
    highlight();
  };
  body.addEventListener("click", (event) => {
    if (!event.target.closest("tr")) return;
    event.preventDefault();
    const agent = agentOf(event.target);
    focus(agent);
    if (opened === agent) close();
    else open(agent);
  });
  agents.forEach((agent) => agent.details.addEventListener("toggle", () => {
    if (opened === agent && !agent.details.open) {
      close();
      focus(agent);
    }
  }));

  // Headers become buttons that sort: names from A to Z, numbers from the largest, then the other way round, then
  // as it was.
  const value = (agent, key) => ({
    name: agent.link.textContent.slice(1).trim().toLowerCase(),
    model: agent.row.cells[1].textContent.toLowerCase(),
  })[key] ?? Number(agent.row.dataset[key]);
  const sort = (header) => {
    const key = header.dataset.sort;
    const orders = ["ascending", "descending"];
    if (key !== "name" && key !== "model") orders.reverse();
    const order = orders[orders.indexOf(header.getAttribute("aria-sort")) + 1];
    table.querySelectorAll("[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    const sign = order === "ascending" ? 1 : -1;
    const compare = (one, other) => (one < other ? -1 : one > other ? 1 : 0);
    const sorted = [...agents];
    if (order) {
      header.setAttribute("aria-sort", order);
      sorted.sort((one, other) => sign * compare(value(one, key), value(other, key)));
    }
    body.append(...sorted.map((agent) => agent.row));
  };
  table.querySelectorAll("th[data-sort]").forEach((header) => {
    const button = make("button", { type: "button", textContent: header.textContent });
    button.addEventListener("click", () => sort(header));
    header.replaceChildren(button);
  });

  // The search keeps the rows that contain the words, and marks them in what is opened.
  const bar = make("div", { className: "search" });
  const field = make("input", { type: "search", placeholder: "Search  /", ariaLabel: "Search all agents" });
  const count = make("output", {});
  bar.append(field, count);
  table.before(bar);
  let places = [];
  let place = -1;
  const textOf = (agent) =>
    (agent.text ??= (agent.row.cells[0].textContent + "\n" + agent.row.cells[1].textContent + "\n" + agent.content.textContent).toLowerCase());
  function highlight() {
    const query = field.value.toLowerCase();
    places = [];
    place = -1;
    globalThis.CSS?.highlights?.delete("found");
    if (!query || !opened) return;
    const nodes = document.createTreeWalker(opened.content, NodeFilter.SHOW_TEXT);
    while (nodes.nextNode() && places.length < 5000) {
      const text = nodes.currentNode.data.toLowerCase();
      for (let at = text.indexOf(query); at >= 0; at = text.indexOf(query, at + query.length)) {
        // Some letters have another length in lower case.
        if (at + query.length > nodes.currentNode.length) break;
        const range = document.createRange();
        range.setStart(nodes.currentNode, at);
        range.setEnd(nodes.currentNode, at + query.length);
        places.push(range);
      }
    }
    if (globalThis.Highlight) CSS.highlights.set("found", new Highlight(...places));
  }
  const search = () => {
    const query = field.value.toLowerCase();
    for (const agent of agents) agent.row.hidden = query !== "" && !textOf(agent).includes(query);
    const found = visible();
    count.textContent = query ? `${found.length} of ${agents.length} agents` : "";
    if (found.length) reach(found.find((agent) => agent.link.tabIndex === 0) ?? found[0]);
    highlight();
  };
  const next = () => {
    const found = visible();
    if (!found.length) return;
    const at = found.indexOf(opened);
    if (at < 0 || place + 1 >= places.length) open(found[(at + 1) % found.length]);
    if (!places.length) return;
    place += 1;
    for (let element = places[place].startContainer.parentElement; element; element = element.parentElement) {
      if (element.localName === "details") element.open = true;
    }
    getSelection().removeAllRanges();
    getSelection().addRange(places[place].cloneRange());
    places[place].startContainer.parentElement.scrollIntoView({ block: "center" });
    count.textContent = `${place + 1} of ${places.length} here, ${found.length} of ${agents.length} agents`;
  };
  field.addEventListener("input", search);

  const walk = (agent, step) => {
    const left = (bar) => bar.getBoundingClientRect().left;
    const bars = [...agent.row.querySelectorAll(".bar")].sort((one, other) => left(one) - left(other));
    const at = bars.indexOf(current);
    const to = at < 0 ? (step > 0 ? 0 : bars.length - 1) : at + step;
    if (bars[to]) tell(bars[to]);
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const inField = event.target === field;
    if (event.key === "/" && !inField) {
      event.preventDefault();
      field.select();
      field.focus();
    } else if (event.key === "Escape") {
      event.preventDefault();
      tell(null);
      if (inField && field.value) {
        field.value = "";
        search();
      } else if (opened && agents.length > 1) {
        const agent = opened;
        close();
        focus(agent);
      } else if (inField) focus(visible()[0]);
    } else if (inField && event.key === "Enter") {
      event.preventDefault();
      next();
    } else if (inField && event.key === "ArrowDown") {
      event.preventDefault();
      focus(visible()[0]);
    } else if (body.contains(event.target)) {
      const found = visible();
      const agent = agentOf(event.target);
      const at = found.indexOf(agent);
      const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: found.length - 1 }[event.key];
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (to === undefined && !step) return;
      event.preventDefault();
      if (step) return walk(agent, step);
      focus(found[to]);
      if (opened && found[to]) open(found[to]);
    }
  });
  const keys = [["↑↓", "select"], ["←→", "along its bars"], ["⏎", "open"], ["/", "search"], ["Esc", "close"]];
  document.querySelector(".keys").append(...keys.flatMap(([key, what]) => [make("kbd", { textContent: key }), ` ${what}  `]));

  if (agents.length) reach(agents[0]);
  const linked = agents.find((agent) => location.hash === "#" + agent.content.id);
  if (linked || agents.length === 1) open(linked ?? agents[0]);
})();

// Trees of groups: an icicle that zooms, archetypes of unions, and the order of their merges.

function hierarchyPanel() {
  const tree = D.hierarchy;
  if (!tree) return null;
  const n = tree.parent.length;
  const depth = Math.max(...tree.level);
  const children = Array.from({ length: n }, () => []);
  for (let z = 1; z < n; z++) children[tree.parent[z]].push(z);
  const rank = tree.number;
  const levelOf = (l) => D.level_names[l - 1];
  const nameOf = (z) => (z === 0 ? "all" : `${levelOf(tree.level[z])}, group ${rank[z]}`);
  const members = (z) => tree.names.slice(tree.first[z], tree.first[z] + tree.size[z]);
  let at = 0;
  const box = el("div");
  const crumbs = el("nav", { class: "crumbs", "aria-label": "Zoom" });
  const side = el("div", { "aria-live": "polite" });
  const under = (z) => { // all nodes at and below
    const found = [z];
    for (const y of found) found.push(...children[y]);
    return found;
  };
  function go(z, focus) {
    at = z;
    box.dataset.at = z;
    const way = [];
    for (let y = z; y >= 0; y = tree.parent[y]) way.unshift(y);
    crumbs.replaceChildren(...way.flatMap((y, i) => [i ? " \u203a " : "", el("button", { type: "button", "aria-current": y === z ? "true" : null, click: () => go(y, true) }, nameOf(y))]));
    const names = members(z);
    side.replaceChildren(el("h3", null, capital(nameOf(z))), el("p", { class: "soft" }, plural(tree.size[z], D.item)), el("ul", { class: "members", tabindex: "0", "aria-label": "Members" }, names.slice(0, 300).map((m) => el("li", null, m)), names.length > 300 ? el("li", null, `and ${names.length - 300} more`) : null));
    draw(box.clientWidth);
    if (focus) (box.querySelector(`[data-node="${z}"]`) || box).focus();
  }
  function draw(width) {
    if (!width) return;
    const start = tree.level[at];
    const room = tree.size[at];
    const names = room <= 60 && tree.names.length ? members(at) : [];
    const labelRoom = names.length ? Math.min(170, width * 0.3) : 0;
    const step = (width - labelRoom) / (depth - start + 1);
    const height = Math.max(names.length ? names.length * 17 : 300, 240);
    const Y = (row) => ((row - tree.first[at]) / room) * height;
    const art = svg("svg", { class: "chart ice", viewBox: `0 0 ${width} ${height + 20}`, height: height + 20, role: "group", "aria-label": `Hierarchy from ${nameOf(at)} down` });
    for (let l = start; l <= depth; l++) art.append(svg("text", { class: "tick", x: (l - start) * step + 4, y: 11 }, l ? levelOf(l) : "all"));
    for (const z of under(at)) {
      const [x, y, h] = [(tree.level[z] - start) * step, Y(tree.first[z]) + 18, (tree.size[z] / room) * height];
      const told = `${nameOf(z)}: ${plural(tree.size[z], D.item)}${children[z].length ? `, ${plural(children[z].length, "group")} below` : ""}`;
      const zoom = () => go(z === at && z ? tree.parent[z] : z, true);
      const text = h > 13 ? svg("text", { x: x + 7, y: y + h / 2 + 4 }, step > 74 && z ? `${rank[z]} \u00b7 ${tree.size[z]}` : String(tree.size[z])) : null;
      art.append(svg("g", { class: z ? groupClass(tree.group[z]) : "g6", role: "button", tabindex: h > 3 ? "0" : null, "aria-label": `${told}; zoom`, "data-node": z, click: zoom, keydown: (e) => {
        if (e.key === "Enter" || e.key === " ") { e.preventDefault(); zoom(); }
        if (e.key === "Escape" && at) go(tree.parent[at], true);
      }, ...tipped(told) }, svg("rect", { x, y, width: step, height: Math.max(h, 0.5), rx: 3, "--mix": z ? `${Math.max(22, 62 - 14 * (tree.level[z] - 1))}%` : "18%" }), text));
    }
    names.forEach((name, i) => art.append(svg("text", { class: "tick", x: width - labelRoom + 8, y: Y(tree.first[at] + i + 0.5) + 22 }, name.length > 24 ? `${name.slice(0, 23)}\u2026` : name)));
    box.replaceChildren(art);
  }
  responsive(box, draw);
  go(0, false);
  const list = el("details", null, el("summary", null, "As nested lists"), nested(tree, children, nameOf, members));
  return panel("hierarchy", "Hierarchy", `A column is a level, a bar a group, as high as it is large. Choose a bar to zoom in, the same again or Escape to zoom out.`, el("div", { class: "mapgrid" }, el("figure", { class: "card" }, crumbs, box), el("div", { class: "card" }, side)), list);
}

function nested(tree, children, nameOf, members) {
  const items = tree.parent.map((_, z) => el("li", null, `${capital(nameOf(z))}: ${plural(tree.size[z], D.item)}`, children[z].length ? "" : ` \u2014 ${members(z).slice(0, 40).join(", ")}${tree.size[z] > 40 ? ", \u2026" : ""}`));
  for (let z = tree.parent.length - 1; z >= 0; z--) if (children[z].length) items[z].append(el("ul", null, children[z].map((y) => items[y])));
  return el("ul", null, items[0]);
}

function archetypesPanel() {
  const a = D.archetypes;
  if (!a) return null;
  const draw = (union, c) => {
    const box = el("div");
    const wide = Math.max(...union.x, 0);
    const deep = Math.max(...union.depth, 1);
    responsive(box, (width) => {
      const height = Math.min(300, Math.max(150, 40 + 42 * deep));
      const X = (v) => 16 + (wide ? v / wide : 0.5) * (width - 32);
      const Y = (d) => 16 + (d / deep) * (height - 32);
      const art = svg("svg", { class: `chart ${groupClass(c)}`, viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `Archetype ${union.name}: ${plural(union.n_nodes, "node")}, ${union.p.filter((p) => p >= 0.5).length} of them in at least half of the trees` });
      union.parent.forEach((p, u) => { if (p >= 0) art.append(svg("line", { x1: X(union.x[u]), y1: Y(union.depth[u]), x2: X(union.x[p]), y2: Y(union.depth[p]), "stroke-width": (0.4 + 1.4 * union.p[u]).toFixed(2), opacity: (0.25 + 0.75 * union.p[u]).toFixed(2) })); });
      const most = Math.max(3.5, Math.min(9, (0.62 * (width - 32)) / Math.max(wide + 1, 4)));
      union.p.forEach((p, u) => art.append(svg("circle", { cx: X(union.x[u]), cy: Y(union.depth[u]), r: Math.max(1.2, most * Math.sqrt(p)).toFixed(2), ...tipped(`${union.labels && union.labels[u] ? `${union.labels[u]}: ` : ""}in ${percent(p)} of the trees`) })));
      box.replaceChildren(art);
    });
    const table = dataTable(`Nodes of archetype ${union.name}`, ["node", "parent", "share of the trees", ...(union.labels ? ["label"] : [])], union.p.map((p, u) => [String(u), union.parent[u] < 0 ? "root" : String(union.parent[u]), percent(p), ...(union.labels ? [union.labels[u]] : [])]));
    return el("figure", { class: "card" }, el("div", { class: "head" }, mark(c), el("h3", null, `Cluster ${union.name}`), el("span", { class: "soft" }, plural(union.n_trees, "tree"))), box,
      el("figcaption", null, `${plural(union.n_nodes, "node")}${union.hidden ? `, the ${union.hidden} rarest not drawn` : ""}`), el("details", null, el("summary", null, "As a table"), table));
  };
  return panel("archetypes", "Archetypes", `Every tree of a cluster is its archetype with nodes left out. The area of a node is the share of the trees that have it. ${a.note}`, el("div", { class: "arch" }, a.unions.map(draw)));
}

function mergesPanel() {
  const m = D.merges;
  if (!m) return null;
  const box = el("div");
  const total = m.gain.reduce((sum, g) => sum + g, 0);
  const height = [];
  let done = 0;
  m.pairs.forEach((pair, k) => { done += m.gain[k]; height[m.n + k] = done; });
  responsive(box, (width) => {
    const tall = 260;
    const X = (v) => 46 + (v / Math.max(m.n - 1, 1)) * (width - 58);
    const Y = (v) => tall - 30 - ((v || 0) / Math.max(total, 1e-9)) * (tall - 44);
    const art = svg("svg", { class: "chart dendro", viewBox: `0 0 ${width} ${tall}`, height: tall, role: "img", "aria-label": `${m.pairs.length} merges of ${m.n} distinct trees, which save ${number(total)} nats` });
    for (const v of ticks(0, total, 4)) art.append(svg("line", { class: "axis", x1: 40, x2: width - 8, y1: Y(v), y2: Y(v) }), svg("text", { class: "tick", x: 36, y: Y(v) + 4, "text-anchor": "end" }, v.toLocaleString("en")));
    m.pairs.forEach(([a, b], k) => {
      const top = Y(height[m.n + k]);
      art.append(svg("path", { d: `M${X(m.x[a])} ${Y(height[a])}V${top}H${X(m.x[b])}V${Y(height[b])}`, ...tipped(`merge ${k + 1} saves ${number(m.gain[k])} nats`) }));
    });
    art.append(svg("text", { class: "tick", x: width / 2, y: tall - 8, "text-anchor": "middle" }, `${m.n} distinct trees`));
    box.replaceChildren(art);
  });
  return panel("merges", "Merges", "Which distinct trees were merged, one pair after the other; the height is how many nats of description all merges up to this one have saved. Moves of single trees came after.", el("figure", { class: "card" }, box,
    el("details", null, el("summary", null, "As a table"), dataTable("Merges", ["merge", "first", "second", "nats saved"], m.pairs.slice(0, 300).map(([a, b], k) => [String(k + 1), a < m.n ? `tree ${a}` : `merge ${a - m.n + 1}`, b < m.n ? `tree ${b}` : `merge ${b - m.n + 1}`, number(m.gain[k])])), m.pairs.length > 300 ? el("p", { class: "soft" }, `The first 300 of ${m.pairs.length}.`) : null)));
}

// A tree as circles and lines, root at the left; a click or Enter folds and unfolds what is below a node.

const ROW = 25;
const OPEN_ROWS = 16; // rows to begin with

function drawTree(drawing, group, own, name) {
  const n = drawing.parent.length;
  const children = Array.from({ length: n }, () => []);
  for (let u = 1; u < n; u++) children[drawing.parent[u]].push(u); // siblings are in the order of their slots
  const hidden = (u) => (drawing.below && drawing.below[u]) || 0;
  const word = (u) => D.words[drawing.label[u]];
  const below = new Array(n).fill(0);
  for (let u = n - 1; u > 0; u--) below[drawing.parent[u]] += below[u] + 1; // parents come first
  // Equal leaves side by side are drawn once, with their number.
  const runs = children.map((list) => {
    const found = [];
    for (const v of list) {
      const last = found[found.length - 1];
      if (last && !children[v].length && !children[last[0]].length && !hidden(v) && !hidden(last[0]) && word(v) === word(last[0])) last.push(v);
      else found.push([v]);
    }
    return found;
  });
  const open = new Set();
  let rows = 1;
  for (let u = 0; u < n; u++) { // nodes are in the order of their levels
    if (!runs[u].length || (u && !open.has(drawing.parent[u]))) continue;
    if (u && rows + runs[u].length - 1 > OPEN_ROWS) continue;
    open.add(u);
    rows += runs[u].length - 1;
  }
  const box = el("div", { class: "treebox", tabindex: "0", role: "group", "aria-label": `Tree ${name}` });
  const short = (text) => (text.length > 22 ? `${text.slice(0, 21)}\u2026` : text);

  function layout() {
    const placed = [];
    const widths = [];
    let row = 0;
    const stack = [{ run: [0], depth: 0, parent: null, done: false }];
    while (stack.length) { // a loop, because trees may be deep
      const at = stack[stack.length - 1];
      const u = at.run[0];
      const inner = open.has(u) && runs[u].length > 0;
      if (!at.done) {
        at.done = true;
        placed.push(at);
        const label = short(word(u)).length + (at.run.length > 1 ? 4 : 0) + (!inner && (runs[u].length || hidden(u)) ? 5 : 0);
        widths[at.depth] = Math.max(widths[at.depth] || 0, inner ? label * (at.depth ? 0.7 : 1) : label);
        if (inner) {
          at.below = runs[u].map((run) => ({ run, depth: at.depth + 1, parent: at, done: false }));
          stack.push(...[...at.below].reverse());
          continue;
        }
        at.y = row++ * ROW;
      } else if (inner && at.y === undefined) at.y = (at.below[0].y + at.below[at.below.length - 1].y) / 2;
      stack.pop();
    }
    const x = [14];
    for (let d = 1; d < widths.length; d++) x[d] = x[d - 1] + Math.max(64, 26 + 7 * widths[d - 1]);
    // Room that is left is given to the links.
    const spare = box.clientWidth - x[widths.length - 1] - 40 - 7.4 * widths[widths.length - 1];
    if (spare > 0 && widths.length > 1) for (let d = 1; d < widths.length; d++) x[d] += Math.min(70, spare / (widths.length - 1)) * d;
    const width = x[widths.length - 1] + 24 + 7.4 * (widths[widths.length - 1] || 0);
    return { placed, x, width, height: row * ROW + 16 };
  }

  function draw(focus) {
    const { placed, x, width, height } = layout();
    const art = svg("svg", { class: `tree ${groupClass(group)}`, width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${name}, ${plural(n, "node")} drawn` });
    const links = svg("g", { "aria-hidden": "true" });
    const rings = svg("g", { "aria-hidden": "true" });
    art.append(links, rings);
    let again = null;
    for (const at of placed) {
      const u = at.run[0];
      const [cx, cy] = [x[at.depth], at.y + 20];
      if (at.parent) {
        const [px, py] = [x[at.parent.depth], at.parent.y + 20];
        const mid = (px + cx) / 2;
        links.append(svg("path", { d: `M${px} ${py}C${mid} ${py} ${mid} ${cy} ${cx} ${cy}` }));
      }
      const heat = drawing.heat && D.surprise ? Math.max(...at.run.map((v) => drawing.heat[v])) : null;
      if (heat > 0) rings.append(svg("circle", { class: "heat", cx, cy, r: 9.5, "fill-opacity": (0.75 * Math.min(1, heat / D.surprise.most)).toFixed(2) }));
      const folds = runs[u].length > 0;
      const isOpen = open.has(u);
      const more = hidden(u);
      const outer = folds && isOpen;
      const count = at.run.length > 1 ? ` \u00d7${at.run.length}` : "";
      const rest = !outer && (below[u] || more) ? ` +${below[u] + more}` : outer && more ? ` +${more}` : "";
      const told = [short(word(u)) + count + rest, short(word(u)) === word(u) ? "" : word(u), at.run.length > 1 ? `${at.run.length} times side by side` : "",
        drawing.slot[u] >= 0 ? `child ${drawing.slot[u] + 1}${at.run.length > 1 ? ` to ${drawing.slot[at.run[at.run.length - 1]] + 1}` : ""}` : "root",
        below[u] ? `${plural(below[u], "node")} below` : "", more ? `${more} more not drawn` : "", heat === null ? "" : `surprise ${number(heat, 2)}`].filter(Boolean).join(", ");
      const node = svg("g", {
        class: `${own.has(word(u)) ? "own" : ""} ${folds && !isOpen ? "shut" : ""}`, role: folds ? "button" : "img", tabindex: folds ? "0" : null,
        "aria-expanded": folds ? String(isOpen) : null, "aria-label": told, "data-node": u, ...tipped(told),
      }, svg("circle", { cx, cy, r: folds ? 5 : 3.6 }),
      folds ? svg("rect", { class: "hit", x: cx - 12, y: cy - 16, width: 24, height: 25 }) : null,
      svg("text", outer ? { x: cx, y: cy - 7.5, class: "inner", "text-anchor": at.depth ? "middle" : "start" } : { x: cx + 9, y: cy + 4 },
        short(word(u)), count || rest ? svg("tspan", { class: "count" }, count + rest) : null));
      if (folds) {
        const toggle = () => {
          if (isOpen) open.delete(u);
          else open.add(u);
          tip(null, "");
          draw(u);
        };
        fill(node, { click: toggle, keydown: (e) => {
          if (e.key === "Enter" || e.key === " ") { e.preventDefault(); toggle(); }
        } }, []);
      }
      if (focus === u) again = node;
      art.append(node);
    }
    box.replaceChildren(art, ...(drawing.hidden ? [el("p", { class: "soft" }, `${plural(drawing.hidden, "node")} farther down not drawn.`)] : []));
    if (again) again.focus();
  }
  responsive(box, () => draw(null));
  return box;
}

// Trees that are drawn somewhere on the page, by their place in the list.
const drawings = new Map([...(D.groups || []), ...(D.joined || [])].flatMap((g) => (g.typical || []).map((t) => [t.item, t])));
function drawnHere(i) {
  const found = drawings.get(i);
  return found && found.drawing ? drawTree(found.drawing, D.items.group[i], new Set(), found.name) : "";
}

// Several typical trees behind a row of buttons; drawn when first asked for.
function treeTabs(group) {
  if (!group.typical.length) return null;
  const own = new Set(group.labels.map((t) => t.what));
  const place = el("div");
  const head = el("p", { class: "soft" });
  const buttons = group.typical.map((t, i) => el("button", { type: "button", "aria-pressed": "false", "aria-label": `Typical tree ${i + 1}: ${t.name}`, click: () => show(i) }, String(i + 1)));
  function show(i) {
    buttons.forEach((b, j) => b.setAttribute("aria-pressed", String(i === j)));
    const one = group.typical[i];
    head.replaceChildren(documentLink(one.name, one.base));
    place.replaceChildren(drawTree(one.drawing, group.index, own, one.name));
  }
  show(0);
  return el("div", null, el("h4", null, "Typical trees"), D.surprise ? el("p", { class: "soft" }, D.surprise.about) : null, el("div", { class: "head" }, el("div", { class: "tools" }, buttons), head), place, saveButtons(`tree of ${titled(group.index)}`, () => place.querySelector("svg")));
}

// The sections of a page; each is left out where there is nothing to show.

const capital = (text) => text[0].toUpperCase() + text.slice(1);
const times = (t) => (t.elsewhere === 0 ? "only here" : t.lift > 100 ? ">100\u00d7" : `${number(t.lift, 2)}\u00d7`);

function traitBars(title, traits, group) {
  if (!traits || !traits.length) return null;
  const height = (t) => Math.log2(Math.min(t.elsewhere === 0 ? 200 : t.lift, 200));
  return el("div", null, el("h4", null, title), bars(title, traits.map((t) => ({
    label: t.what, value: height(t), text: times(t), group,
    title: `${t.what}\non ${plural(t.count, "node")} here, on ${t.elsewhere.toLocaleString("en")} elsewhere`,
  })), Math.log2(200)));
}

function shapeTable(shapes) {
  if (!shapes || !shapes.length) return null;
  return el("div", null, el("h4", null, "Shape"), dataTable("Shape", ["mean", "here", "elsewhere"], shapes.map(([what, here, there]) => [what, number(here), there === null ? "" : number(there)])));
}

function columnBars(columns, group) {
  if (!columns || !columns.length) return null;
  return el("div", null, el("h4", null, "Columns that differ most"), bars("Columns that differ most", columns.map(([what, here, there, gap]) => ({
    label: what, value: Math.abs(gap), text: `${gap > 0 ? "+" : "\u2212"}${number(Math.abs(gap), 2)} sd`, group,
    title: `${what}\nmean ${number(here)} here, ${number(there)} elsewhere`,
  })), Math.max(2, ...columns.map((c) => Math.abs(c[3])))));
}

// Rules that set a group apart, and how most of its trees are built.
function rulesBlock(group) {
  if (!group.rules || !group.rules.length) return null;
  const share = ([text, lift, coverage]) => [el("code", null, text), lift > 100 ? ">100\u00d7" : `${number(lift, 2)}\u00d7`, percent(coverage)];
  return el("div", { class: "rules" }, el("h4", null, "Rules"), dataTable(`Rules of ${titled(group.index)}`, ["rule", "as frequent as in all", "of its trees"], group.rules.map(share)),
    group.skeleton ? el("div", null, el("h4", null, "Skeleton"), el("p", { class: "skeleton" }, el("code", null, group.skeleton))) : null);
}

function memberList(group, inside = (i) => D.items.group[i] === group.index) {
  const mine = D.items.name.filter((_, i) => inside(i));
  const more = mine.length > 12 ? [el("li", null, `and ${(mine.length - 12).toLocaleString("en")} more`)] : [];
  return el("div", null, el("h4", null, "Members"), el("ul", { class: "members", tabindex: "0", "aria-label": "Members" }, mine.slice(0, 12).map((name) => el("li", null, name)), more));
}

function groupCard(group) {
  const facts = [`${plural(group.size, D.item)}, ${percent(group.share)}`, group.stability ? `${group.stability}` : null, group.folder ? `mostly below ${group.folder}` : null, group.main === null ? null : `mostly ${classNamed(group.main)}`,
    group.silhouette === null ? null : `silhouette ${group.silhouette.toFixed(2)}`].filter(Boolean).join(" \u00b7 ");
  return el("article", { class: `card ${groupClass(group.index)}`, "aria-label": titled(group.index), "data-group": group.index },
    el("div", { class: "head" }, mark(group.index), el("h3", null, capital(titled(group.index))), el("span", { class: "soft" }, facts)),
    rulesBlock(group),
    el("div", { class: "traits" }, el("div", null, traitBars("Labels", group.labels, group.index), columnBars(group.columns, group.index), shapeTable(group.shapes)),
      el("div", null, group.columns ? memberList(group) : null, traitBars("Parent > child", group.pairs, group.index), traitBars("Places", group.slots, group.index))),
    treeTabs(group), copyBlocks(group));
}

// Skeleton, paths and schema of a group, each with a button that copies it.
function copyBlocks(group) {
  if (!group.copy) return null;
  return el("details", { class: "copy" }, el("summary", null, `To copy: ${group.copy.map((one) => one.title).join(", ")}`), group.copy.map((one) => el("div", null,
    el("div", { class: "head" }, el("h4", null, one.title), one.text === null ? null : copyButton(`Copy ${one.title} of ${titled(group.index)}`, () => one.text)),
    el("p", { class: "soft" }, `${one.about}.`),
    one.text === null ? el("p", { class: "soft" }, "Too long for this page; arbora describe prints it.") : el("pre", { tabindex: "0", role: "group", "aria-label": `${one.title} of ${titled(group.index)}` }, one.text))));
}

// Groups of levels below the first, against the other rows of the group above.
function deeperCards(level, depth) {
  const card = (group) => el("article", { class: `card ${groupClass(group.index)}`, "aria-label": `Group ${group.number} of ${level.name}`, "data-group": group.index },
    el("div", { class: "head" }, mark(group.index), el("h3", null, `Group ${group.number}`), el("span", { class: "soft" }, [plural(group.size, D.item), `${percent(group.share)} of group ${group.above} of ${level.above}`, group.main === null ? null : `mostly ${classNamed(group.main)}`].filter(Boolean).join(" \u00b7 "))),
    el("div", { class: "traits" }, columnBars(group.columns, group.index) || el("p", { class: "soft" }, "No column differs by half a standard deviation."), memberList(group, (i) => D.items.levels[depth][i] === group.number)));
  return [el("h3", { class: "gap" }, capital(level.name)), el("p", { class: "soft" }, level.groups.length ? `Against the other rows of the group of ${level.above} that holds it. Groups that are whole there are left out.${level.hidden ? ` The largest are shown, ${level.hidden} are not.` : ""}` : `No group of ${level.above} is parted here.`),
    el("div", { class: "cards" }, level.groups.map(card))];
}

function groupsPanel() {
  if (!D.groups.length) return null;
  const about = D.item === "tree"
    ? "Bars: how many times as frequent as elsewhere, on a logarithmic scale. Typical trees are nearest to the mean of all: coloured nodes carry the labels listed above, filled ones unfold, +3 stands for three nodes below and \u00d73 for three equal leaves side by side."
    : "Bars: difference of the means inside and outside, in standard deviations.";
  const grid = el("div", null, D.deeper && D.deeper.length ? el("h3", { class: "gap" }, capital(D.level_names[0])) : null, el("div", { class: "cards" }, D.groups.map(groupCard)), (D.deeper || []).flatMap((level, l) => deeperCards(level, l + 1)));
  const all = el("button", { type: "button", hidden: true, click: () => setFocus(state.focus) }, `Show all ${D.noun}s`);
  on("focus", (g) => {
    grid.querySelectorAll("article").forEach((a) => { a.hidden = g !== null && +a.dataset.group !== g; });
    all.hidden = g === null;
  });
  return panel("groups", capital(D.noun === "class" ? "classes" : `${D.noun}s`), about, el("div", { class: "tools" }, all), grid);
}

function sizesPanel() {
  const rows = D.groups.map((g) => ({ label: el("span", null, mark(g.index), ` ${groupName(g.index)}${g.main === null ? "" : ` \u00b7 mostly ${classNamed(g.main)}`}`), value: g.size, text: `${g.size.toLocaleString("en")} \u00b7 ${percent(g.share)}`, group: g.index }));
  const sizes = el("div", { class: "card" }, D.silhouette ? el("h3", null, "Sizes") : null, bars("Sizes", rows, undefined, true));
  const knife = silhouetteChart();
  return panel("sizes", knife ? "Sizes and silhouettes" : "Sizes", null, knife ? el("div", { class: "two" }, sizes, knife) : sizes);
}

const shortName = (g) => groupName(g).split(" \u00b7 ")[0].slice(0, 14); // a number, where names stand behind numbers

function silhouetteChart() {
  const found = D.silhouette;
  if (!found) return null;
  const values = found.bars.flat();
  const box = el("div");
  const gap = 8;
  const sizes = found.sizes;
  const total = sizes.reduce((a, b) => a + b, 0);
  responsive(box, (width) => {
    const tall = sizes.map((n) => Math.max(12, (n / total) * 380));
    const height = tall.reduce((a, b) => a + b + gap, 0) + 26;
    const low = Math.min(0, ...values);
    const left = Math.min(96, 18 + 6.6 * Math.max(...D.group_names.map((_, g) => shortName(g).length)));
    const X = (v) => left + ((v - low) / (1 - low)) * (width - left - 12);
    const art = svg("svg", { class: "chart knife", viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `Silhouettes by ${D.noun}; mean ${found.mean}` });
    let y = 2;
    found.bars.forEach((bars, g) => {
      const step = tall[g] / Math.max(bars.length, 1);
      const edge = bars.map((v, i) => `H${X(v).toFixed(1)}V${(y + (i + 1) * step).toFixed(1)}`).join("");
      art.append(svg("text", { class: "tick", x: left - 8, y: y + tall[g] / 2 + 4, "text-anchor": "end" }, shortName(g)),
        svg("g", { class: groupClass(g), ...tipped(`${titled(g)}: ${bars.length ? `from ${bars[bars.length - 1]} to ${bars[0]}` : "none of those looked at"}`) }, svg("path", { d: `M${X(0)} ${y}${edge}H${X(0)}Z` })));
      y += tall[g] + gap;
    });
    art.append(svg("line", { class: "zero", x1: X(0), x2: X(0), y1: 0, y2: y }), svg("line", { x1: X(found.mean), x2: X(found.mean), y1: 0, y2: y, stroke: "var(--ink)", "stroke-dasharray": "4 3" }));
    for (const v of ticks(low, 1, 4)) art.append(svg("text", { class: "tick", x: X(v), y: y + 14, "text-anchor": "middle" }, String(+v.toFixed(2))));
    box.replaceChildren(art);
  });
  const rows = D.groups.filter((g) => g.silhouette !== null).map((g) => [titled(g.index), g.silhouette.toFixed(2)]);
  return el("figure", { class: "card" }, el("h3", null, `Silhouettes, mean ${found.mean}`), box, el("figcaption", null, `${found.about} The dashed line is the mean.`),
    el("details", null, el("summary", null, "As a table"), dataTable(`Mean silhouette by ${D.noun}`, [D.noun, "mean silhouette"], rows)));
}

function agreementPanel() {
  if (D.confusion) {
    const c = D.confusion;
    return panel("agreement", "Known classes", c.about, el("div", { class: "card" }, heatTable("Trees by known class and group", c.columns, c.rows, c.table, { byRow: true, corner: `class \\ ${D.noun}` })));
  }
  if (!D.agreement || !D.agreement.length) return null;
  return panel("agreement", "Known classes", null, el("div", { class: "cards" }, D.agreement.map((c) => el("div", { class: "card" }, el("h3", null, capital(c.level)), el("p", { class: "soft" }, c.about),
    heatTable(`Rows by known class and group of ${c.level}`, c.columns, c.rows, c.table, { byRow: true, corner: "class \\ group" })))));
}

function scoresPanel() {
  const s = D.scores;
  if (!s) return null;
  const mistaken = s.mistaken.length ? `Most often mistaken: ${s.mistaken.map(([a, b, n]) => `${a} for ${b} (${n})`).join(", ")}.` : "No tree was mistaken.";
  return panel("scores", "How well", mistaken, el("div", { class: "two" },
    el("div", { class: "card" }, el("h3", null, "Scores of each class"), dataTable("Scores of each class", ["class", "trees", "precision", "recall", "F1"], s.rows.map(([name, n, ...scores]) => [name, n, ...scores.map((x) => x.toFixed(3))]))),
    el("div", { class: "card" }, el("h3", null, "Confusion"), el("p", { class: "soft" }, "Rows: known; columns: given. Shade: share of the known class."), heatTable("Trees by known and given class", s.names, s.names, s.table, { byRow: true, corner: "known \\ given" }))));
}

function novelPanel() {
  if (!D.novel) return null;
  const share = percent(D.novel.share);
  const about = D.novel.n ? `${plural(D.novel.n, "tree")} more surprising than all but ${share} of the training trees; do not rely on their classes.` : `No tree is more surprising than all but ${share} of the training trees.`;
  const rows = D.novel.rows.map(([name, given, nats]) => [name, given, number(nats)]);
  return panel("novel", "Unlike any seen", about, rows.length ? el("div", { class: "card" }, dataTable("Novel trees", ["tree", "class given", "surprise, nats a node"], rows),
    rows.length < D.novel.n ? el("p", { class: "soft" }, `The ${rows.length} most surprising of ${D.novel.n}.`) : null) : el("p", { class: "soft" }, "Nothing to list."));
}

function borderPanel() {
  if (!D.border) return null;
  const { n, rows } = D.border;
  const about = n ? `${plural(n, D.item)} whose ${D.noun} has a probability below 99%${rows.length < n ? `; the ${rows.length} least certain` : ""}.` : `Every ${D.item} has a ${D.noun} with a probability of 99% or more.`;
  const bar = (p, text) => el("span", null, `${text} `, el("span", { class: "soft" }, percent(p)));
  const table = (caption, some) => dataTable(caption, [D.item, "most probable", "or"], some.map(([name, a, p, b, q]) => [name, bar(p, `${D.noun} ${a}`), bar(q, `${D.noun} ${b}`)]));
  const rest = rows.slice(12);
  return panel("border", "On the border", about, rows.length ? el("div", { class: "card" }, table("Least certain", rows.slice(0, 12)),
    rest.length ? el("details", null, el("summary", null, `${rest.length} more`), table("The next", rest)) : null) : el("p", { class: "soft" }, "Nothing to list."));
}

function historyPanel() {
  const h = D.history;
  if (!h) return null;
  return panel("fit", "Fit", null, el("div", { class: "card" }, lineChart(h.what, [h], { x: h.x, about: h.about, title: h.what })));
}

function chainsBlock(chains) {
  const mood = chains.agree === null ? "" : chains.agree ? "yes" : "no";
  return el("div", null, el("p", { class: `verdict ${mood}` }, chains.verdict), chains.rows ? el("div", null,
    dataTable("Convergence", ["", "R-hat", "effective draws, bulk", "tail"], chains.rows.map(([name, rhat, bulk, tail]) => [name, rhat === null ? "" : typeof rhat === "string" ? rhat : rhat.toFixed(3), bulk === null ? "" : Math.round(bulk), tail === null ? "" : Math.round(tail)])),
    el("p", { class: "soft" }, "R-hat near 1: chains tell the same; above 1.05 they do not; none where nothing changes. Effective draws: what the correlated draws are worth; a hundred or more are good.")) : null);
}

function posteriorPanel() {
  const p = D.posterior;
  if (!p) return null;
  const one = p.levels.length === 1;
  const blocks = p.levels.flatMap((level) => {
    const chains = [chainsBlock(level.chains), el("h3", { class: "cap" }, "Number of groups"), el("p", { class: "soft" }, `Mean ${number(level.count.mean)}, 95% of the draws have ${level.count.interval.join(" to ")}.`),
      columnChart("Posterior of the number of groups", level.count.number, level.count.probability)];
    const pairs = level.together ? [el("h3", { class: "cap" }, "How often two are together"), matrix(`Co-clustering ${level.name}`, level.together)] : [];
    if (one) return [el("div", { class: "card" }, chains), pairs.length ? el("div", { class: "card" }, pairs) : null];
    return [el("div", { class: "card" }, el("h3", null, capital(level.name)), chains, pairs)];
  });
  const lines = p.traces.map((t) => el("div", { class: "card" }, lineChart(t.what, t.chains.map((c, i) => ({ ...c, label: `chain ${i}` })), { x: "sweep", burnIn: p.burn_in, title: t.what })));
  return panel("posterior", "Posterior", "What the chains say: whether they agree, how many groups there are, and who is with whom.", el("div", { class: blocks.length > 2 ? "cards three" : "cards" }, blocks), el("h3", { class: "gap" }, "Traces"), el("div", { class: "cards" }, lines));
}

function parametersPanel() {
  const p = D.parameters;
  if (!p) return null;
  const place = el("div");
  const down = p.direction === "down";
  const moves = down ? "State of a child, given the parent's" : "State of the parent, given the child's";
  const root = down ? "State of a root" : "State of a root that is a leaf";
  const way = down ? "how states go down from parent to child" : "how states go up from child to parent (the switch says which child counts)";
  const states = Array.from({ length: p.n_states }, (_, i) => `state ${i}`);
  const show = (c) => {
    const k = p.components[c];
    const given = states.map((s) => `${down ? "parent" : "child"} ${s}`);
    if (p.absent) given.push("no child");
    const rows = Object.values(k.slots);
    const slots = rows.length ? rows[0].map((_, l) => String(l + 1)) : [];
    const share = (x) => (x >= 0.005 ? x.toFixed(2).replace(/^0/, "") : "");
    const held = k.average
      ? [el("h3", { class: "cap" }, "Average node of each hidden state"), dataTable("Average node of each hidden state", ["", ...k.columns], k.average.map((row, i) => [states[i], ...row]))]
      : [el("h3", { class: "cap" }, "Labels by hidden state"), heatTable("Labels by hidden state", k.labels, states, k.emission, { labels: true, format: share })];
    place.replaceChildren(...held,
      el("div", { class: "two" },
        el("div", null, el("h3", { class: "cap" }, moves), heatTable(moves, states, given, k.transition, { most: 1, format: share })),
        el("div", null, el("h3", { class: "cap" }, root), heatTable(root, states, ["share"], [k.root], { most: 1, format: share }),
          rows.length ? [el("h3", { class: "cap" }, "By place among siblings"), heatTable("By place among siblings", slots, Object.keys(k.slots), rows, { most: 1, format: share })] : null)));
  };
  const choice = el("select", { change: (e) => show(+e.target.value) }, p.components.map((k, c) => el("option", { value: c }, `${k.name}, weight ${percent(k.weight)}`)));
  show(0);
  return panel("parameters", "Parameters", `What a component has learnt: how it labels nodes in each hidden state, and ${way}. ${p.note}`,
    el("div", { class: "card" }, el("div", { class: "tools" }, el("label", null, "Component", choice)), place));
}

// The points of a plane, as they lie on it: the likeliest label of each, and how many trees are nearest to it.
function latticePanel() {
  if (!D.lattice) return null;
  const cell = ([word, trees]) => el("td", { class: trees ? "used" : null, ...tipped(`${word}\n${plural(trees, "tree")}`) }, word.length > 12 ? `${word.slice(0, 11)}\u2026` : word, trees ? el("b", null, ` ${trees.toLocaleString("en")}`) : null);
  const about = `Every point of the lattice with its likeliest label, as it lies on the model's plane. Bold: trees whose root is likeliest there; ${plural(D.lattice.used, "point")} of ${D.lattice.rows.length ** 2} have some. Roots say little: nodes use the other points.`;
  return panel("lattice", "Labels on the plane", about, el("div", { class: "card wide", tabindex: "0", role: "group", "aria-label": "Labels on the plane" },
    el("table", { class: "lattice" }, el("caption", { class: "hide" }, "Likeliest label and number of trees of each point"), el("tbody", null, D.lattice.rows.map((row) => el("tr", null, row.map(cell)))))));
}

// ---- all trees or rows ------------------------------------------------------------------------------------------------

const PAGE = 20;
const tellsAll = (table, rows) => Object.assign(table, { rowsToCopy: rows }); // more than it shows
const plainCell = (column, i) => { const cell = column.cell(i); return cell instanceof Node ? cell.textContent.trim() || String(+column.value(i).toFixed(4)) : String(cell); };
function listPanel() {
  const items = D.items;
  const n = items.name.length;
  const bar = (x) => (x === null || x === undefined ? "" : percent(x));
  const spec = [{ head: D.item, value: (i) => items.name[i], cell: itemLink }, { head: D.noun, value: (i) => items.group[i], cell: (i) => el("span", null, mark(items.group[i]), ` ${groupName(items.group[i])}`) }];
  if (items.levels) items.levels.slice(1).forEach((level, l) => spec.push({ head: D.level_names[l + 1], value: (i) => level[i], cell: (i) => level[i] }));
  if (items.path) spec.push({ head: "path", value: (i) => items.path.reduce((a, row) => a * (row[i] ?? 0), 1), cell: (i) => el("span", { class: "path", role: "img", "aria-label": items.path.map((row) => bar(row[i])).join(", "), ...tipped(items.path.map((row, l) => `level ${l + 1}: ${bar(row[i])}`).join("\n")) }, items.path.map((row) => el("i", { "--w": row[i] ?? 0 }))) });
  else if (items.p) spec.push({ head: "probability", value: (i) => items.p[i], cell: (i) => bar(items.p[i]) });
  if (items.silhouette) spec.push({ head: "silhouette", value: (i) => items.silhouette[i] ?? -2, cell: (i) => (items.silhouette[i] === null ? "" : items.silhouette[i].toFixed(2)) });
  if (items.known) spec.push({ head: "known class", value: (i) => D.classes[items.known[i]], cell: (i) => D.classes[items.known[i]] });
  if (items.size) spec.push({ head: "nodes", value: (i) => items.size[i], cell: (i) => items.size[i].toLocaleString("en") });
  if (items.novel) spec.push({ head: "novel", value: (i) => items.novel[i], cell: (i) => (items.novel[i] ? "novel" : "") });
  let shown = [];
  let page = 0;
  let sort = { by: -1, down: false };
  const search = el("input", { type: "search", placeholder: "part of a name", autocomplete: "off", input: () => { page = 0; filter(); } });
  const pickGroup = el("select", { change: () => { page = 0; filter(); } }, el("option", { value: "" }, "all"), [...new Set(items.group)].sort((a, b) => a - b).map((g) => el("option", { value: g }, groupName(g))));
  const pickClass = items.known ? el("select", { change: () => { page = 0; filter(); } }, el("option", { value: "" }, "all"), D.classes.map((name, g) => el("option", { value: g }, name))) : null;
  const count = el("p", { class: "soft", role: "status" });
  const body = el("tbody");
  const heads = spec.map((c, k) => el("th", { scope: "col" }, el("button", { type: "button", click: () => { sort = { by: k, down: sort.by === k && !sort.down }; filter(); } }, c.head)));
  const [back, next] = [["Back", -1], ["Next", 1]].map(([text, step]) => el("button", { type: "button", click: () => { page += step; draw(); } }, text));
  function filter() {
    const wanted = search.value.trim().toLowerCase();
    shown = [];
    for (let i = 0; i < n; i++) {
      if (wanted && !items.name[i].toLowerCase().includes(wanted)) continue;
      if (pickGroup.value !== "" && items.group[i] !== +pickGroup.value) continue;
      if (pickClass && pickClass.value !== "" && items.known[i] !== +pickClass.value) continue;
      shown.push(i);
    }
    if (sort.by >= 0) {
      const value = spec[sort.by].value;
      const order = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
      shown.sort((a, b) => (sort.down ? -1 : 1) * order(value(a), value(b)));
    }
    heads.forEach((h, k) => (k === sort.by ? h.setAttribute("aria-sort", sort.down ? "descending" : "ascending") : h.removeAttribute("aria-sort")));
    draw();
  }
  function draw() {
    const pages = Math.max(1, Math.ceil(shown.length / PAGE));
    page = Math.max(0, Math.min(page, pages - 1));
    back.disabled = page === 0;
    next.disabled = page === pages - 1;
    count.textContent = `${plural(shown.length, D.item)} of ${n.toLocaleString("en")}${pages > 1 ? `, page ${page + 1} of ${pages}` : ""}`;
    body.replaceChildren(...shown.slice(page * PAGE, (page + 1) * PAGE).map((i) => el("tr", null, spec.map((c, k) => (k === 0 ? el("th", { scope: "row", class: "name" }, c.cell(i)) : el("td", null, c.cell(i)))),
      D.map ? el("td", null, el("button", { type: "button", class: "ghost", "aria-label": `Show ${items.name[i]} on the map`, click: () => tell("pick", i) }, "map")) : null)));
  }
  on("focus", (g) => { pickGroup.value = g === null ? "" : String(g); page = 0; filter(); });
  filter();
  const where = items.folder ? ` Names are below ${items.folder}` : "";
  return panel("list", `All ${D.item}s`, `${D.path_about || ""}${where}`.trim() || null, el("div", { class: "card" },
    el("div", { class: "tools" }, el("label", { class: "grow" }, `Find a ${D.item} by name`, search), el("label", null, capital(D.noun), pickGroup), pickClass ? el("label", null, "Known class", pickClass) : null, el("span", { class: "push" }, back, " ", next)), count,
    el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `All ${D.item}s` }, tellsAll(el("table", { class: "full", "aria-label": `All ${D.item}s` }, el("thead", null, el("tr", null, heads, D.map ? el("th", null, el("span", { class: "hide" }, "on the map")) : null)), body), () => [spec.map((c) => c.head), ...shown.map((i) => spec.map((c) => plainCell(c, i)))]))));
}

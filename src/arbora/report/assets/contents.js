// Columns of content: which of them decides, and what each group holds.

function contentPanel() {
  const c = D.content;
  if (!c || !c.columns) return null;
  const scores = c.scores.length ? el("div", { class: "card" }, el("h3", null, "Which column decides"),
    el("p", { class: "soft" }, "Log-likelihood: expected log density of the values given the states, in nats. Gain: what the states add to one distribution for all nodes; units do not matter to it."),
    dataTable("Which column decides", ["column", "log-likelihood", "gain", "share"], c.scores.map(([name, nats, gain, share]) => [name, number(nats, 5), number(gain, 4), percent(share)]))) : null;
  const cards = c.columns.map((one) => el("div", { class: "card" }, el("h3", null, one.name), el("p", { class: "soft" }, one.kind),
    one.of_words ? wordTable(one, c.groups) : one.kind === "flags" ? flagTable(one, c.groups) : spreadTable(one, c.groups)));
  return panel("content", "Content", `What the nodes of each ${D.noun} hold beside their labels. ${c.note}`.trim(), el("div", { class: "cards" }, scores, cards));
}

function spreadTable(one, groups) {
  const lows = one.rows.map((row) => row[4]).filter((x) => x !== null);
  const highs = one.rows.map((row) => row[8]).filter((x) => x !== null);
  const low = Math.min(...lows), high = Math.max(...highs);
  const rows = one.rows.map((row, g) => [groups[g], boxOf(row.slice(4), low, high), number(row[2], 4), number(row[3], 3), ...row.slice(4).map((x) => number(x, 4)), row[0].toLocaleString("en"), percent(row[1])]);
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `${one.name} by ${D.noun}` }, dataTable(`${one.name} by ${D.noun}`, [D.noun, "", "mean", "deviation", "5%", "25%", "median", "75%", "95%", "nodes", "missing"], rows));
}

function flagTable(one, groups) {
  return dataTable(`${one.name} by ${D.noun}`, [D.noun, "true", "nodes", "missing"], one.rows.map((row, g) => [groups[g], percent(row[2]), row[0].toLocaleString("en"), percent(row[1])]));
}

// A line from 5% to 95%, a box from 25% to 75%, a tick at the median; all groups on one scale.
function boxOf(quantiles, low, high) {
  if (quantiles.some((x) => x === null)) return "";
  const [a, b, m, c, d] = quantiles.map((x) => (high > low ? 2 + (96 * (x - low)) / (high - low) : 50));
  return svg("svg", { class: "box", viewBox: "0 0 100 12", width: 100, height: 12, role: "img", "aria-label": `from ${number(quantiles[0])} to ${number(quantiles[4])}, median ${number(quantiles[2])}` },
    svg("path", { d: `M${a} 6H${b}M${c} 6H${d}M${b} 2H${c}V10H${b}ZM${m} 1V11`, fill: "none", stroke: "currentColor" }));
}

function wordTable(one, groups) {
  const rows = one.rows.map(([n, missing, words], g) => [groups[g], words.map(([word, share, lift]) => `${word} ${percent(share)} (lift ${number(lift, 2)})`).join(", "), n.toLocaleString("en"), percent(missing)]);
  return dataTable(`${one.name} by ${D.noun}`, [D.noun, "words that set it apart", "nodes", "missing"], rows);
}

// Bars, lines and heat maps; what can be a table is one, so that it can be read aloud, copied and printed.

function bars(caption, rows, most, wide) {
  const top = most || Math.max(...rows.map((r) => r.value), 1e-9);
  return el("table", { class: wide ? "bars wide" : "bars", "aria-label": caption },
    el("tbody", null, rows.map((r) => el("tr", r.title ? tipped(r.title) : null,
      el("th", { scope: "row" }, r.label),
      el("td", null, el("span", { class: `track ${r.group === undefined ? "" : groupClass(r.group)}`, "aria-hidden": "true" },
        el("i", { "--w": Math.max(0, Math.min(1, r.value / top)) }))),
      el("td", null, r.text)))));
}

function dataTable(caption, heads, rows, first) {
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption }, el("table", { "aria-label": caption },
    el("thead", null, el("tr", null, heads.map((h) => (h ? el("th", { scope: "col" }, h) : el("td"))))),
    el("tbody", null, rows.map((row) => el("tr", null, row.map((cell, c) =>
      c === 0 && first !== false ? el("th", { scope: "row", class: "name" }, cell) : el("td", null, cell)))))));
}

function heatTable(caption, heads, names, table, options = {}) {
  const flat = table.flat().filter((x) => x !== null);
  const most = options.most || Math.max(...flat, 1e-9);
  const shade = (row, x) => (options.byRow ? x / Math.max(row.reduce((a, b) => a + b, 0), 1e-9) : x / most);
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    el("table", { class: `heat ${options.labels ? "labels" : ""}`, "aria-label": caption },
      el("thead", null, el("tr", null, options.corner ? el("th", { scope: "col" }, options.corner) : el("td", { class: "corner" }), heads.map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", null, table.map((row, r) => el("tr", null, el("th", { scope: "row" }, names[r]), row.map((x) => {
        const a = Math.max(0, Math.min(1, shade(row, x || 0)));
        return el("td", { "--a": a.toFixed(3) }, options.format ? options.format(x) : x || "");
      }))))));
}

function ticks(low, high, n) {
  const raw = (high - low) / Math.max(n, 1) || 1;
  const base = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((f) => f * base).find((s) => s >= raw);
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-6; v += step) found.push(Math.abs(v) < step * 1e-6 ? 0 : v);
  return found;
}

// Lines over sweeps or iterations; a line is {label, step, n, y}.
function lineChart(about, lines, options = {}) {
  const box = el("div");
  const values = lines.flatMap((l) => l.y.filter((v) => v !== null));
  // The first steps climb from far below: the picture begins where most of it happens, and says so.
  const sorted = [...values].sort((a, b) => a - b);
  let [low, high] = [sorted[0], sorted[sorted.length - 1]];
  const body = sorted[Math.floor(sorted.length * 0.1)];
  const cut = sorted.length > 20 && high - low > 8 * (high - body) && high > body;
  if (cut) low = body - 0.5 * (high - body);
  if (low === high) [low, high] = [low - 1, high + 1];
  const longest = Math.max(...lines.map((l) => l.n));
  responsive(box, (width) => {
    const height = Math.round(Math.max(170, Math.min(260, width * 0.42)));
    const left = 12 + 6.6 * Math.max(...ticks(low, high, 4).map((v) => v.toLocaleString("en").length));
    const [right, top, bottom] = [12, 10, 38];
    const X = (s) => left + ((s - 1) / Math.max(longest - 1, 1)) * (width - left - right);
    const Y = (v) => top + (1 - (Math.max(v, low) - low) / (high - low)) * (height - top - bottom);
    const art = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": about });
    for (const v of ticks(low, high, 4)) art.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: Y(v), y2: Y(v) }),
      svg("text", { class: "tick", x: left - 6, y: Y(v) + 4, "text-anchor": "end" }, v.toLocaleString("en")));
    for (const s of ticks(1, longest, width / 120)) if (s >= 1 && s === Math.round(s)) art.append(
      svg("text", { class: "tick", x: X(s), y: height - bottom + 16, "text-anchor": "middle" }, s.toLocaleString("en")));
    art.append(svg("text", { class: "tick", x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, options.x || ""));
    if (options.burnIn) art.append(svg("rect", { x: left, y: top, width: X(options.burnIn) - left, height: height - top - bottom, fill: "var(--sunk)", opacity: 0.7 }),
      svg("text", { class: "tick", x: left + 6, y: height - bottom - 6 }, "not kept"));
    lines.forEach((l, c) => {
      const points = l.y.map((v, i) => (v === null ? null : `${X(1 + i * l.step).toFixed(1)} ${Y(v).toFixed(1)}`)).filter(Boolean);
      art.append(svg("path", { class: `line ${groupClass(c)} ${lines.length > 1 ? `d${c % 4}` : ""}`, d: `M${points.join("L")}` }));
    });
    fill(art, {
      pointermove: (e) => {
        const s = Math.round(1 + ((e.offsetX - left) / (width - left - right)) * (longest - 1));
        const told = lines.map((l) => [l.label, l.y[Math.min(l.y.length - 1, Math.max(0, Math.round((s - 1) / l.step)))]]);
        tip(e, `${options.x || ""} ${Math.max(1, Math.min(longest, s))}\n${told.map(([n, v]) => `${n ? `${n}: ` : ""}${number(v, 7)}`).join("\n")}`);
      },
      pointerleave: () => tip(null, ""),
    }, []);
    box.replaceChildren(art);
  });
  const last = lines.map((l) => [l.label || "value", number(l.y[0], 7), number(l.y[l.y.length - 1], 7)]);
  return el("figure", null, options.title ? el("h3", { class: "cap" }, options.title) : null, box,
    el("figcaption", null, [options.about, cut ? "Steep first steps lie below the picture." : null].filter(Boolean).join(" ")),
    el("div", { class: "hide" }, dataTable(`${about}: first and last`, ["line", "first", "last"], last)));
}

// Columns for a distribution over whole numbers.
function columnChart(about, numbers, shares) {
  const most = Math.max(...shares);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const box = el("div");
  responsive(box, (width) => {
    const height = 130;
    const step = Math.min(64, width / (high - low + 1));
    const art = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": about });
    const every = Math.ceil(22 / step);
    numbers.forEach((n, i) => {
      const tall = (shares[i] / most) * (height - 42);
      const x = (n - low) * step;
      art.append(svg("rect", { x: x + step * 0.1, y: height - 20 - tall, width: step * 0.8, height: tall, rx: 2, fill: "var(--accent)", ...tipped(`${plural(n, "group")}: ${percent(shares[i])}`) }));
      if ((n - low) % every === 0) art.append(svg("text", { class: "tick", x: x + step / 2, y: height - 5, "text-anchor": "middle" }, String(n)));
      if (step > 34) art.append(svg("text", { class: "tick", x: x + step / 2, y: height - 25 - tall, "text-anchor": "middle" }, percent(shares[i])));
    });
    box.replaceChildren(art);
  });
  return el("figure", null, box, el("div", { class: "hide" }, dataTable(about, ["groups", "share of the draws"], numbers.map((n, i) => [String(n), percent(shares[i])]))));
}

// A square of shares, one byte each, with its groups along the edges.
function matrix(about, cells) {
  const n = cells.n;
  const bytes = Uint8Array.from(atob(cells.cells), (c) => c.charCodeAt(0));
  const canvas = el("canvas", { class: "matrix", width: n, height: n, role: "img", "aria-label": about });
  const paint = () => {
    const [low, high] = [rgb(colour("--sunk")), rgb(colour("--accent"))];
    const context = canvas.getContext("2d");
    const image = context.createImageData(n, n);
    bytes.forEach((b, i) => {
      for (let c = 0; c < 3; c++) image.data[4 * i + c] = low[c] + ((high[c] - low[c]) * b) / 255;
      image.data[4 * i + 3] = 255;
    });
    context.putImageData(image, 0, 0);
  };
  redraws.add(paint);
  paint();
  fill(canvas, {
    pointermove: (e) => {
      const at = (x, size) => Math.max(0, Math.min(n - 1, Math.floor((x / size) * n)));
      const [c, r] = [at(e.offsetX, canvas.clientWidth), at(e.offsetY, canvas.clientHeight)];
      tip(e, `${cells.names[r]}\n${cells.names[c]}\ntogether in ${percent(bytes[r * n + c] / 255)} of the draws`);
    },
    pointerleave: () => tip(null, ""),
  }, []);
  return el("figure", null, canvas, el("figcaption", null, `${cells.note}Sorted by group; `, "never together ",
    el("span", { class: "ramp", "aria-hidden": "true" }), " always."), el("details", null, el("summary", null, "Means by group"), meansByGroup(about, cells, bytes)));
}

function meansByGroup(about, cells, bytes) {
  const groups = [...new Set(cells.group)];
  const sums = groups.map(() => groups.map(() => [0, 0]));
  const rank = new Map(groups.map((g, i) => [g, i]));
  for (let r = 0; r < cells.n; r++) for (let c = 0; c < cells.n; c++) {
    if (r === c) continue;
    const cell = sums[rank.get(cells.group[r])][rank.get(cells.group[c])];
    cell[0] += bytes[r * cells.n + c] / 255;
    cell[1] += 1;
  }
  const names = groups.map(String);
  return heatTable(`${about}, means by group`, names, names, sums.map((row) => row.map(([s, k]) => (k ? s / k : 1))), { most: 1, format: (x) => x.toFixed(2) });
}

// All trees on a plane: a canvas that zooms, moves and tells; the list of all trees says the same in words.

function drawMap() {
  const maps = [D.map, ...(D.map.others || [])];
  let { x, y, frame, axes, points } = D.map;
  const items = D.items;
  const count = x.length;
  const levels = items.levels || [items.group];
  const modes = [];
  levels.forEach((groups, l) => modes.push({ name: levels.length > 1 ? D.level_names[l] : D.noun, value: (i) => groups[i], label: (g) => (l ? `group ${g}` : titled(g)), n: new Set(groups).size }));
  if (items.known) modes.push({ name: "known class", value: (i) => items.known[i], label: (g) => D.classes[g], n: D.classes.length });
  const groupsFound = D.group_names;
  let mode = modes[0];
  let view = null;
  let picked = null;
  let spots = [];
  const canvas = el("canvas", { class: "plane", tabindex: "0", role: "img", "aria-label": `Map of ${plural(count, D.item)}; plus and minus zoom, arrows move. All of them are in the list below.` });
  const home = () => {
    const room = frame.map(([a, b]) => Math.max(b - a, 20) * 0.06);
    view = { x0: frame[0][0] - room[0], x1: Math.max(frame[0][1], frame[0][0] + 20) + room[0], y0: frame[1][0] - room[1], y1: Math.max(frame[1][1], frame[1][0] + 20) + room[1] };
  };

  function gather() { // items of one place and one value are one mark
    const found = new Map();
    for (let i = 0; i < count; i++) {
      const key = `${x[i]},${y[i]},${mode.value(i)}`;
      const spot = found.get(key);
      if (spot) spot.items.push(i);
      else found.set(key, { x: x[i], y: y[i], g: mode.value(i), items: [i] });
    }
    spots = [...found.values()].sort((a, b) => b.items.length - a.items.length); // small ones on top
  }
  const least = Math.max(3.4, Math.min(6, 9 - 2 * Math.log10(count))); // few marks have room to be large
  const radius = (spot) => least + 1.1 * Math.log2(spot.items.length);
  const X = (v) => ((v - view.x0) / (view.x1 - view.x0)) * canvas.clientWidth;
  const Y = (v) => (1 - (v - view.y0) / (view.y1 - view.y0)) * canvas.clientHeight;
  const dimmed = (spot) => state.focus !== null && !spot.items.some((i) => items.group[i] === state.focus);

  function paintNames(context, w, h) { // of few items that have names, as many as do not run into others
    if (count > 60 || items.name.every((name) => /^\d*$/.test(name))) return;
    const taken = spots.map((spot) => [X(spot.x) - 5, Y(spot.y) - 5, X(spot.x) + 5, Y(spot.y) + 5]);
    for (const spot of spots.filter((s) => !dimmed(s))) {
      const name = items.name[spot.items[0]];
      const text = (name.length > 18 ? `${name.slice(0, 17)}\u2026` : name) + (spot.items.length > 1 ? ` +${spot.items.length - 1}` : "");
      const [wide, off, low] = [context.measureText(text).width, radius(spot) + 3, Y(spot.y) + 4];
      const boxes = [X(spot.x) + off, X(spot.x) - off - wide].map((left) => [left, low - 10, left + wide, low + 2]); // right, or left
      const box = boxes.find((b) => b[0] > 0 && b[2] < w && b[1] > 0 && b[3] < h && !taken.some((t) => b[0] < t[2] && t[0] < b[2] && b[1] < t[3] && t[1] < b[3]));
      if (!box) continue;
      taken.push(box);
      context.fillText(text, box[0], low);
    }
  }
  function paintGroups(context, w, h, ink, edge) { // what each group is called, above most of its marks; the largest first
    const inside = new Map();
    for (let i = 0; i < count; i++) inside.set(mode.value(i), [...(inside.get(mode.value(i)) || []), i].slice(-4000));
    const quantile = (members, of, q) => members.map((i) => of[i]).sort((a, b) => a - b)[Math.floor(members.length * q)];
    const taken = [];
    context.font = "600 12px system-ui, sans-serif";
    context.lineJoin = "round";
    for (const [g, members] of [...inside].sort((a, b) => b[1].length - a[1].length)) {
      if (state.focus !== null && !members.some((i) => items.group[i] === state.focus)) continue;
      const full = mode.label(g).replace(/^(cluster|group|class) /, "");
      if (/^[\d.]*$/.test(full)) continue; // the legend has the numbers
      const text = full.length > 26 ? `${full.slice(0, 25)}\u2026` : full;
      const wide = context.measureText(text).width;
      const left = Math.min(Math.max(X(quantile(members, x, 0.5)) - wide / 2, 4), w - wide - 4);
      const low = Math.max(Y(quantile(members, y, 0.9)) - 9, 14);
      const box = [left - 3, low - 13, left + wide + 3, low + 5];
      if (box[1] < 0 || box[3] > h || taken.some((t) => box[0] < t[2] && t[0] < box[2] && box[1] < t[3] && t[1] < box[3])) continue;
      taken.push(box);
      context.lineWidth = 4;
      context.strokeStyle = edge;
      context.strokeText(text, left, low);
      context.fillStyle = ink;
      context.fillText(text, left, low);
    }
  }
  function paintPoints(context, w, h) { // words of the points of a lattice, as many as do not run into others
    const taken = [];
    for (const [px, py, word] of points || []) {
      const text = word.length > 14 ? `${word.slice(0, 13)}\u2026` : word;
      const wide = context.measureText(text).width;
      const [cx, cy] = [X(px), Y(py)];
      const box = [cx - wide / 2, cy - 6, cx + wide / 2, cy + 6];
      if (box[2] < 0 || box[0] > w || cy < 0 || cy > h || taken.some((t) => box[0] < t[2] && t[0] < box[2] && box[1] < t[3] && t[1] < box[3])) continue;
      taken.push(box);
      context.fillText(text, box[0], cy + 4);
    }
  }
  function paint() {
    const scale = window.devicePixelRatio || 1;
    const [w, h] = [canvas.clientWidth, canvas.clientHeight];
    if (!w || !h) return;
    canvas.width = Math.round(w * scale);
    canvas.height = Math.round(h * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    paintOn(context, w, h);
  }
  canvas.vector = () => {
    const drawn = new SvgContext(canvas.clientWidth, canvas.clientHeight);
    paintOn(drawn, canvas.clientWidth, canvas.clientHeight);
    return drawn.art;
  };
  function paintOn(context, w, h) {
    const colours = Array.from({ length: 8 }, (_, c) => colour(`--c${c}`));
    const [edge, ink, soft] = ["--card", "--ink", "--soft"].map(colour);
    const paths = SHAPES.map((d) => Object.assign(new Path2D(d), { d }));
    context.fillStyle = soft;
    context.font = "11px system-ui, sans-serif";
    paintPoints(context, w, h);
    for (const faint of [true, false]) for (const spot of spots) {
      if (dimmed(spot) !== faint) continue;
      const [cx, cy] = [X(spot.x), Y(spot.y)];
      if (cx < -30 || cy < -30 || cx > w + 30 || cy > h + 30) continue;
      const grow = radius(spot) / 5;
      context.save();
      context.translate(cx, cy);
      context.scale(grow, grow);
      context.globalAlpha = faint ? 0.13 : 0.78;
      context.fillStyle = colours[spot.g % 8];
      context.fill(paths[spot.g % SHAPES.length]);
      context.globalAlpha = faint ? 0.1 : 1;
      context.lineWidth = 0.8 / grow;
      context.strokeStyle = edge;
      context.stroke(paths[spot.g % SHAPES.length]);
      context.restore();
    }
    if (picked !== null) {
      context.strokeStyle = ink;
      context.lineWidth = 2.5;
      context.beginPath();
      context.arc(X(x[picked]), Y(y[picked]), 12, 0, 7);
      context.stroke();
    }
    context.fillStyle = soft;
    context.font = "11px system-ui, sans-serif";
    paintNames(context, w, h);
    paintGroups(context, w, h, ink, edge);
    context.fillStyle = soft;
    context.font = "11px system-ui, sans-serif";
    context.fillText(axes[0], 10, h - 8);
    context.save();
    context.translate(16, h - 26);
    context.rotate(-Math.PI / 2);
    context.fillText(axes[1], 0, 0);
    context.restore();
  }
  function zoom(factor, px = canvas.clientWidth / 2, py = canvas.clientHeight / 2) {
    const cx = view.x0 + (px / canvas.clientWidth) * (view.x1 - view.x0);
    const cy = view.y1 - (py / canvas.clientHeight) * (view.y1 - view.y0);
    const span = (view.x1 - view.x0) * factor;
    if (span < 4 || span > 20000) return;
    for (const [a, b, c] of [["x0", "x1", cx], ["y0", "y1", cy]]) {
      view[a] = c + (view[a] - c) * factor;
      view[b] = c + (view[b] - c) * factor;
    }
    canvas.dataset.span = span.toFixed(1);
    paint();
  }
  function move(dx, dy) {
    const [kx, ky] = [(view.x1 - view.x0) / canvas.clientWidth, (view.y1 - view.y0) / canvas.clientHeight];
    view.x0 -= dx * kx; view.x1 -= dx * kx; view.y0 += dy * ky; view.y1 += dy * ky;
    paint();
  }
  function under(px, py) {
    let best = null;
    let least = 14;
    for (const spot of spots) {
      const away = Math.hypot(X(spot.x) - px, Y(spot.y) - py) - radius(spot) * 0.6;
      if (away < least && !dimmed(spot)) [least, best] = [away, spot];
    }
    return best;
  }
  const told = (i) => [D.items.name[i], titled(items.group[i]) + (items.p ? `, ${percent(items.p[i])}` : ""), items.known ? `known: ${D.classes[items.known[i]]}` : ""].filter(Boolean).join("\n");

  const hint = () => el("p", { class: "soft" }, `Choose a mark to see which ${D.item} it is.`);
  const details = el("div", { class: "card unpicked", "aria-live": "polite" }, hint());
  function nearest(i, n) { // other places on this map, the nearest first
    const far = (j) => Math.hypot(x[j] - x[i], y[j] - y[i]);
    return Array.from({ length: count }, (_, j) => j).filter((j) => far(j) > 0).sort((a, b) => far(a) - far(b)).slice(0, n);
  }
  function nearList(i) {
    const near = nearest(i, 5);
    if (!near.length) return "";
    return el("div", { class: "near" }, el("h4", null, "Nearest on this map"), el("ul", { class: "members" }, near.map((j) => el("li", null, el("button", { type: "button", class: "ghost", click: () => pick(j) }, mark(items.group[j]), ` ${items.name[j]}`)))));
  }
  function likelyTable(i) {
    const found = items.likely && items.likely[i];
    if (!found || D.group_names !== groupsFound) return ""; // known of the groups of the fit alone
    return dataTable("Probabilities", [D.noun, "probability"], found.map(([name, p]) => [name, percent(p)]));
  }
  function pick(i, others) {
    picked = i;
    remember("pick", i);
    details.classList.remove("unpicked");
    const more = (others || []).filter((j) => j !== i);
    details.replaceChildren(el("h3", null, itemLink(i)), el("p", null, mark(items.group[i]), ` ${titled(items.group[i])}`, items.p ? `, probability ${percent(items.p[i])}` : ""),
      items.known ? el("p", { class: "soft" }, `known class: ${D.classes[items.known[i]]}`) : "",
      more.length ? el("details", null, el("summary", null, `${plural(more.length, `more ${D.item}`)} here`), el("ul", { class: "members", tabindex: "0", "aria-label": "Others in this place" }, more.slice(0, 100).map((j) => el("li", null, itemLink(j))), more.length > 100 ? el("li", null, "\u2026") : null)) : "", drawnHere(i), likelyTable(i), nearList(i));
    paint();
  }
  on("pick", (i) => {
    if (X(x[i]) < 0 || X(x[i]) > canvas.clientWidth || Y(y[i]) < 0 || Y(y[i]) > canvas.clientHeight) home();
    pick(i);
    canvas.scrollIntoView({ block: "center" });
    canvas.focus({ preventScroll: true });
  }, true);

  let drag = null;
  const fingers = new Map();
  function pinch(e) { // two fingers zoom about the point between them
    const before = [...fingers.values()];
    fingers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    const now = [...fingers.values()];
    const apart = ([a, b]) => Math.max(Math.hypot(a.x - b.x, a.y - b.y), 1);
    drag = null;
    zoom(apart(before) / apart(now), (now[0].x + now[1].x) / 2, (now[0].y + now[1].y) / 2);
  }
  const lift = (e) => fingers.delete(e.pointerId);
  fill(canvas, {
    pointerdown: (e) => {
      drag = { x: e.offsetX, y: e.offsetY, moved: 0 };
      if (e.pointerType === "touch") fingers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    },
    pointercancel: lift,
    pointermove: (e) => {
      if (fingers.size === 2 && fingers.has(e.pointerId)) return pinch(e);
      if (drag && e.buttons) {
        drag.moved += Math.abs(e.offsetX - drag.x) + Math.abs(e.offsetY - drag.y);
        move(e.offsetX - drag.x, e.offsetY - drag.y);
        [drag.x, drag.y] = [e.offsetX, e.offsetY];
        return;
      }
      const spot = under(e.offsetX, e.offsetY);
      tip(e, spot ? told(spot.items[0]) + (spot.items.length > 1 ? `\nand ${spot.items.length - 1} more here` : "") : "");
    },
    pointerup: (e) => {
      lift(e);
      const spot = drag && drag.moved < 5 ? under(e.offsetX, e.offsetY) : null;
      drag = null;
      if (spot) pick(spot.items[0], spot.items);
    },
    pointerleave: (e) => { lift(e); drag = null; tip(null, ""); },
    keydown: (e) => {
      const step = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[e.key];
      if (step) move(...step);
      else if (e.key === "+" || e.key === "=") zoom(0.8);
      else if (e.key === "-") zoom(1.25);
      else if (e.key === "0") { home(); paint(); }
      else return;
      e.preventDefault();
    },
  }, []);
  // The wheel scrolls the page unless Ctrl is held, as on other maps.
  canvas.addEventListener("wheel", (e) => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    zoom(e.deltaY > 0 ? 1.15 : 0.87, e.offsetX, e.offsetY);
  }, { passive: false });

  const list = el("ul", { class: "legend" });
  function legend() {
    const size = new Map();
    for (let i = 0; i < count; i++) size.set(mode.value(i), (size.get(mode.value(i)) || 0) + 1);
    const clusters = mode === modes[0];
    list.replaceChildren(...[...size.keys()].sort((a, b) => a - b).map((g) => {
      const row = [mark(g), el("span", { class: "what" }, mode.label(g)), el("span", { class: "n" }, size.get(g).toLocaleString("en"))];
      if (!clusters) return el("li", { class: `row ${groupClass(g)}` }, row);
      return el("li", null, el("button", { type: "button", class: groupClass(g), "aria-pressed": String(state.focus === g), "data-group": g, click: () => setFocus(g) }, row));
    }));
  }
  on("focus", () => { legend(); paint(); }, true);
  on("level", () => {
    details.replaceChildren(hint());
    details.classList.add("unpicked");
    picked = null;
    remember("pick", null);
    gather();
    legend();
    paint();
  }, true);
  const choice = el("select", { "aria-label": "Colour by", change: (e) => colourBy(+e.target.value) }, modes.map((m, i) => el("option", { value: i }, m.name)));
  function colourBy(at) {
    mode = modes[at];
    choice.value = at;
    remember("colour", at || null);
    gather();
    legend();
    paint();
  }
  const lead = el("p", { class: "lead", id: "map-about" }, D.map.about);
  function show(map) {
    ({ x, y, frame, axes, points } = map);
    lead.textContent = map.about;
    home();
    gather();
    paint();
  }
  function placeBy(at) {
    places.value = at;
    remember("places", at || null);
    show(maps[at]);
  }
  const places = el("select", { "aria-label": "Places by", change: (e) => placeBy(+e.target.value) }, maps.map((m, i) => el("option", { value: i }, m.name)));
  knobs.places = (at) => maps[at] && placeBy(at);
  knobs.colour = (at) => modes[at] && colourBy(at);
  knobs.pick = (i) => i >= 0 && i < count && pick(i);
  home();
  gather();
  legend();
  responsive(canvas, paint);
  const zoomButton = (text, label, act) => el("button", { type: "button", "aria-label": label, title: label, click: act }, text);
  return panel("map", "Map", null, lead, el("div", { class: "mapgrid" },
    el("figure", { class: "card" }, el("div", { class: "tools" }, maps.length > 1 ? el("label", null, "Places by", places) : null, modes.length > 1 ? el("label", null, "Colour by", choice) : null,
      zoomButton("+", "Zoom in", () => zoom(0.7)), zoomButton("\u2212", "Zoom out", () => zoom(1.4)), zoomButton("Reset", "Reset to the whole map", () => { home(); paint(); })), canvas,
    el("figcaption", null, "Drag to move, Ctrl and wheel or two fingers to zoom; larger marks are several in one place.")),
    el("div", { class: "stack" }, el("div", { class: "card" }, el("h3", null, modes.length > 1 ? "Legend" : `${D.noun}s`[0].toUpperCase() + `${D.noun}s`.slice(1)), list), details)));
}

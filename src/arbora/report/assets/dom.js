"use strict";
// Elements are made by hand and text only ever becomes text: nothing here parses markup.
const D = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attrs, children) {
  for (const [key, value] of Object.entries(attrs || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key, value);
    else if (key.startsWith("--")) node.style.setProperty(key, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}
const el = (tag, attrs, ...children) => fill(document.createElement(tag), attrs, children);
const svg = (tag, attrs, ...children) => fill(document.createElementNS(SVG, tag), attrs, children);

const plural = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : what.endsWith("s") ? "es" : "s"}`;
const percent = (x) => (x === null || x === undefined ? "" : x >= 0.9995 ? "100%" : `${(100 * x).toFixed(x < 0.1 ? 1 : 0)}%`);
const number = (x, digits = 3) =>
  x === null || x === undefined ? "" : Math.abs(x) >= 1e4 ? Math.round(x).toLocaleString("en") : String(+x.toPrecision(digits));
const groupClass = (g) => `g${((g % 8) + 8) % 8}`;
const groupName = (g) => D.group_names[g];
const classNamed = (name) => (/^[\d.]+$/.test(name) ? `class ${name}` : name); // a number alone could be anything
const titled = (g) => `${D.noun} ${groupName(g)}`;

// Marks differ in shape as well as in colour.
const SHAPES = ["M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0", "M0-5.6L5.6 4.4H-5.6Z", "M-4.6-4.6H4.6V4.6H-4.6Z", "M0-6.2L5.6 0L0 6.2L-5.6 0Z",
  "M0 5.6L5.6-4.4H-5.6Z"];
const shapeOf = (g) => SHAPES[g % SHAPES.length];
const mark = (g) => svg("svg", { class: `mark ${groupClass(g)}`, viewBox: "-6 -6 12 12", "aria-hidden": "true" }, svg("path", { d: shapeOf(g) }));

// Colours as a canvas wants them, in the theme of the moment.
const probe = el("i", { hidden: true });
function colour(name) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}
function rgb(text) {
  const found = text.replace(/^color\(\S+/, "").match(/[\d.]+/g).slice(0, 3).map(Number);
  return text.startsWith("color(") ? found.map((x) => 255 * x) : found;
}

// What is drawn for a width is drawn again when the width, or the theme, changes.
const redraws = new Set();
function responsive(box, draw) {
  let width = 0;
  const again = (force) => {
    if (force && !box.isConnected) redraws.delete(redraw); // replaced by another
    const now = Math.floor(box.clientWidth);
    if (now && (force || now !== width)) draw((width = now));
  };
  const redraw = () => again(true);
  redraws.add(redraw);
  new ResizeObserver(() => again(false)).observe(box);
  return box;
}

const tipBox = document.getElementById("tip");
function tip(event, text) {
  tipBox.hidden = !text;
  if (!text) return;
  tipBox.textContent = text;
  const { innerWidth: w, innerHeight: h } = window;
  const box = tipBox.getBoundingClientRect();
  tipBox.style.left = `${Math.max(4, Math.min(event.clientX + 14, w - box.width - 4))}px`;
  tipBox.style.top = `${Math.max(4, event.clientY + 18 + box.height > h ? event.clientY - box.height - 10 : event.clientY + 18)}px`;
}
const tipped = (text) => ({ pointermove: (e) => tip(e, text), pointerleave: () => tip(null, "") });

// One group, or none, is in focus; whoever shows groups listens.
const listeners = { focus: [], pick: [], level: [] };
const state = { focus: null };
const on = (what, hear, lasts = false) => listeners[what].push({ hear, lasts }); // what does not last is made again with the level
const tell = (what, value) => [...listeners[what]].forEach((one) => one.hear(value));
function setFocus(g) {
  state.focus = state.focus === g ? null : g;
  remember("focus", state.focus);
  tell("focus", state.focus);
}

// What is chosen stands behind the # of the address, so that a link leads to what one sees.
const knobs = { focus: (g) => g >= 0 && g < D.group_names.length && setFocus(g) }; // name -> set it to a number
const chosen = new Map();
let section = "";
function remember(name, value) {
  if (value === null) chosen.delete(name);
  else chosen.set(name, value);
  const said = [section, ...[...chosen].map(([key, number]) => `${key}=${number}`)].join("&");
  try {
    history.replaceState(null, "", said ? `#${said}` : "#");
  } catch { /* a page inside another may not */ }
}
function recall() {
  const [first, ...rest] = location.hash.slice(1).split("&");
  section = first;
  const wanted = new Map(rest.map((part) => part.split("=")).filter((pair) => pair.length === 2 && /^\d+$/.test(pair[1])));
  for (const name of ["groups", "places", "colour", "focus", "pick"]) if (wanted.has(name) && knobs[name]) knobs[name](+wanted.get(name));
  const at = section && document.getElementById(section);
  if (at && rest.length) at.scrollIntoView();
}

function panel(id, title, lead, ...content) {
  const inside = content.flat().filter(Boolean);
  if (!inside.length) return null;
  return el("section", { id, "aria-labelledby": `h-${id}`, "data-title": title }, el("h2", { id: `h-${id}` }, title),
    lead ? el("p", { class: "lead" }, lead) : null, inside);
}

const linkTo = (base, name) => `${base}${name.split("/").map(encodeURIComponent).join("/")}`;
function documentLink(name, base) {
  if (!base || !/^\.\//.test(base)) return document.createTextNode(name);
  return el("a", { href: linkTo(base, name), rel: "noopener noreferrer", target: "_blank" }, name);
}
const unlinked = new Set((D.items && D.items.unlinked) || []);
const itemLink = (i) => documentLink(D.items.name[i], unlinked.has(i) ? null : D.items.base);

// Pictures as files, tables and texts to the clipboard.

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin", "opacity", "font-size", "font-weight", "paint-order", "display"];

// A copy of a picture that looks the same without the style of the page.
function standalone(picture) {
  const copy = picture.cloneNode(true);
  const [from, to] = [picture, copy].map((art) => [art, ...art.querySelectorAll("*")]);
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const name of KEPT) {
      const value = style.getPropertyValue(name);
      to[i].setAttribute(name, /^(rgb|color)/.test(value) ? `rgb(${rgb(value).map(Math.round).join(" ")})` : value);
      const alpha = /^(rgba|color)/.test(value) && value.match(/(?:,|\/) *([\d.]+)\)$/);
      if (alpha) to[i].setAttribute(`${name}-opacity`, alpha[1]);
    }
    for (const name of ["class", "style", "tabindex", "role", "aria-label", "aria-expanded", "data-node"]) to[i].removeAttribute(name);
  });
  const { width, height } = picture.getBoundingClientRect();
  return framed(copy, width || 640, height || 400);
}

function framed(art, width, height) {
  if (!art.getAttribute("viewBox")) art.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const [x, y, w, h] = art.getAttribute("viewBox").split(/[ ,]+/).map(Number);
  fill(art, { width: Math.round(width), height: Math.round(height), "font-family": "system-ui, sans-serif", xmlns: SVG }, []);
  art.prepend(svg("rect", { x, y, width: w, height: h, fill: colour("--card") }));
  return art;
}

// What a canvas draws, as elements: as much of its interface as maps use.
class SvgContext {
  constructor(width, height) {
    this.art = svg("svg", { viewBox: `0 0 ${width} ${height}` });
    this.ruler = document.createElement("canvas").getContext("2d");
    this.way = [];
    this.kept = [];
    Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, globalAlpha: 1, font: "12px sans-serif", circle: null });
  }
  save() { this.kept.push([this.way.length, this.globalAlpha, this.lineWidth]); }
  restore() { [this.way.length, this.globalAlpha, this.lineWidth] = this.kept.pop(); }
  translate(x, y) { this.way.push(`translate(${x.toFixed(2)} ${y.toFixed(2)})`); }
  scale(x, y) { this.way.push(`scale(${x.toFixed(4)} ${y.toFixed(4)})`); }
  rotate(angle) { this.way.push(`rotate(${((180 * angle) / Math.PI).toFixed(2)})`); }
  add(tag, attrs, text) { this.art.append(svg(tag, { transform: this.way.join(" ") || null, opacity: this.globalAlpha === 1 ? null : this.globalAlpha, ...attrs }, text === undefined ? [] : text)); }
  get outline() { return { fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth.toFixed(2) }; }
  fill(path) { this.add("path", { d: path.d, fill: this.fillStyle }); }
  stroke(path) { this.add(path ? "path" : "circle", { ...(path ? { d: path.d } : this.circle), ...this.outline }); }
  beginPath() { this.circle = null; }
  arc(cx, cy, r) { this.circle = { cx, cy, r }; }
  get letters() { const [, weight, size] = this.font.match(/^(?:(\d+) )?(\d+)px/); return { "font-size": size, "font-weight": weight || null }; }
  fillText(text, x, y) { if (text) this.add("text", { x: x.toFixed(1), y: y.toFixed(1), fill: this.fillStyle, ...this.letters }, text); }
  strokeText(text, x, y) { this.add("text", { x: x.toFixed(1), y: y.toFixed(1), "stroke-linejoin": "round", ...this.outline, ...this.letters }, text); }
  measureText(text) { this.ruler.font = this.font; return this.ruler.measureText(text); }
}

function asSvg(picture) {
  if (picture.tagName !== "CANVAS") return standalone(picture);
  const [width, height] = [picture.clientWidth, picture.clientHeight];
  if (picture.vector) return framed(picture.vector(), width, height);
  return framed(svg("svg", null, svg("image", { href: picture.toDataURL("image/png"), width, height, "image-rendering": "pixelated" })), width, height);
}

const svgText = (picture) => new XMLSerializer().serializeToString(asSvg(picture));
const svgUrl = (picture) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(picture))}`;

function pngUrl(picture) { // twice as fine as the screen
  const scale = 2;
  const { width, height } = picture.getBoundingClientRect();
  const sheet = el("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
  const image = new Image();
  image.src = svgUrl(picture);
  return image.decode().then(() => {
    sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
    return sheet.toDataURL("image/png");
  });
}

function download(url, name) {
  el("a", { href: url, download: name.toLowerCase().replace(/[^\p{L}\d.]+/gu, "-") }).click();
}

function saveButtons(name, find) {
  const save = (kind, url) => el("button", { type: "button", class: "ghost", "aria-label": `Save ${name} as ${kind}`, click: async () => {
    const picture = find();
    if (picture) download(await url(picture), `${name}.${kind.toLowerCase()}`);
  } }, kind);
  return el("div", { class: "saves" }, save("SVG", svgUrl), save("PNG", pngUrl));
}

function toClipboard(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = el("textarea", { readonly: true, class: "hide", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done ? Promise.resolve() : Promise.reject(new Error("the browser refuses"));
}

function copyButton(label, text, shown = "Copy") {
  const button = el("button", { type: "button", class: "ghost", "aria-label": label, click: () => {
    const say = (word) => { button.textContent = word; setTimeout(() => { button.textContent = shown; }, 1500); };
    toClipboard(text()).then(() => say("Copied"), () => say("Not allowed"));
  } }, shown);
  return button;
}

// Rows and columns as spreadsheets take them.
function tableText(table) {
  const cell = (text) => text.replace(/\s+/g, " ").trim();
  if (table.rowsToCopy) return table.rowsToCopy().map((row) => row.map(cell).join("\t")).join("\n");
  return [...table.rows].map((row) => [...row.cells].map((one) => cell(one.textContent)).join("\t")).join("\n");
}

// Buttons for the pictures and tables of a section; cards of groups have their own.
function offerSaves(part) {
  for (const figure of part.querySelectorAll("figure")) {
    const title = figure.querySelector("h3");
    const name = title ? title.textContent : part.dataset.title || part.id;
    if (!figure.querySelector(".saves")) figure.append(saveButtons(name, () => figure.querySelector("canvas, svg.chart")));
  }
  if (part.id === "groups") return;
  for (const table of part.querySelectorAll(".scroll > table, table.wide, table.lattice")) {
    const name = table.getAttribute("aria-label") || part.dataset.title;
    const after = table.closest(".scroll") || table;
    after.after(el("div", { class: "saves" }, copyButton(`Copy table: ${name}`, () => tableText(table), "Copy table")));
  }
}

// Put the sections onto the page, and a way to each of them into the bar.

document.getElementById("tiles").append(el("ul", { class: "tiles" }, D.tiles.map(([value, what]) => el("li", null, el("b", null, value), el("span", null, what)))));
const panels = document.getElementById("panels");
for (const make of [hierarchyPanel, scoresPanel, () => (D.map ? drawMap() : null), latticePanel, archetypesPanel, mergesPanel, novelPanel, ...REGROUPED, contentPanel, historyPanel, posteriorPanel, parametersPanel]) {
  const made = make();
  if (made) {
    panels.append(made);
    offerSaves(made);
  }
}
const control = levelControl();
if (control) document.getElementById("tiles").after(control);

const nav = document.getElementById("nav");
const sections = [...panels.children, document.getElementById("manifest")];
const links = sections.map((s) => el("a", { href: `#${s.id}` }, s.dataset.title || "How it was made"));
nav.append(...links);
regrouped.watch = (old, now) => {
  near.unobserve(old);
  near.observe(now);
  sections[sections.indexOf(old)] = now;
};
const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    links.forEach((a, i) => (sections[i] === entry.target ? a.setAttribute("aria-current", "true") : a.removeAttribute("aria-current")));
  }
}, { rootMargin: "-20% 0px -70% 0px" });
sections.forEach((s) => near.observe(s));

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const theme = document.getElementById("theme");
const root = document.documentElement;
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
function themed() {
  theme.textContent = isDark() ? "Light" : "Dark";
  theme.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  redraws.forEach((draw) => draw());
}
theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; themed(); });
dark.addEventListener("change", themed);
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = d.closest("#manifest") !== null; }));
window.addEventListener("hashchange", () => {
  if (location.hash.includes("&")) return recall();
  section = location.hash.slice(1); // by a link of the bar: what was chosen stays
  if (chosen.size) remember("focus", state.focus);
});
themed();
recall();
document.body.dataset.ready = "true";

// Groups within groups: a slider over the coarser and finer groupings.  The sections below are made again; the map recolours.

const REGROUPED = [sizesPanel, agreementPanel, groupsPanel, borderPanel, listPanel];
const regrouped = { watch: () => {} };
const finest = { groups: D.groups, names: D.group_names, group: D.items && D.items.group.slice(), p: D.items && D.items.p, silhouettes: D.items && D.items.silhouette, silhouette: D.silhouette, confusion: D.confusion, border: D.border };

function joinedConfusion(level) { // columns of one group are added up
  const c = finest.confusion;
  if (!c) return null;
  const places = [...new Set(c.places.map((p) => level.place[p]))];
  const inside = places.map((place) => c.places.map((p, k) => (level.place[p] === place ? k : -1)).filter((k) => k >= 0));
  return { ...c, about: level.agreement || c.about, columns: inside.map((ks) => ks.map((k) => c.columns[k]).join(" + ")), table: c.table.map((row) => inside.map((ks) => ks.reduce((sum, k) => sum + row[k], 0))) };
}

function placeOf(level, i) { // joined groups share a place; the second part of a group has one of its own
  const found = finest.group[i];
  if (!level) return found;
  if (level.place) return level.place[found];
  const split = D.side[i] ? level.parted.indexOf(found) : -1;
  return split < 0 ? found : finest.names.length + split;
}

function setLevel(level) { // null is the level of the fit
  const items = D.items;
  for (let i = 0; i < finest.group.length; i++) items.group[i] = placeOf(level, i); // in place, because the map holds it
  D.group_names = level ? level.names : finest.names;
  D.groups = level ? level.cards.map((k) => ({ ...(k < 0 ? D.joined[-k - 1] : finest.groups[k]), silhouette: null })) : finest.groups;
  items.p = level ? undefined : finest.p; // known of the groups of the fit alone
  items.silhouette = level ? undefined : finest.silhouettes;
  D.silhouette = level ? null : finest.silhouette;
  D.confusion = !level ? finest.confusion : level.place ? joinedConfusion(level) : level.confusion;
  D.border = level && level.place ? level.border : finest.border; // parts have no probabilities
  state.focus = null;
  for (const what of Object.keys(listeners)) listeners[what] = listeners[what].filter((one) => one.lasts);
  for (const make of REGROUPED) {
    const now = make();
    const old = now && document.getElementById(now.id);
    if (!old) continue;
    old.replaceWith(now);
    offerSaves(now);
    regrouped.watch(old, now);
  }
  tell("level", level);
}

function levelControl() {
  const [coarser, finer] = [D.levels || [], D.finer || []];
  const levels = [...[...coarser].reverse(), null, ...finer]; // few groups to many
  if (levels.length < 2) return null;
  const all = finest.names.length;
  const said = el("output", { class: "soft" });
  const last = levels.length - 1;
  const slider = el("input", { type: "range", min: 0, max: last, step: 1, value: coarser.length, input: () => show(+slider.value) });
  const [fewer, more] = [["\u2212", "Fewer", -1], ["+", "More", 1]].map(([text, label, step]) => el("button", { type: "button", "aria-label": `${label} ${D.noun}s`, click: () => { slider.value = +slider.value + step; show(+slider.value); } }, text));
  function tellLevel(step) {
    const level = levels[step];
    const n = level ? level.n : all;
    said.textContent = level ? `${plural(n, D.noun)}: the last step ${level.about}. Probabilities in the list and silhouettes are of the ${all} found, and left out here.${level.place ? "" : ` The border is that of the ${all} found.`}` : `${plural(n, D.noun)}, as found.${coarser.length ? " Each step to the left joins the two that cost least to join." : ""}${finer.length ? " Each step to the right parts the one that costs least to part." : ""}`;
    slider.setAttribute("aria-valuetext", plural(n, D.noun));
    fewer.disabled = step === 0;
    more.disabled = step === last;
  }
  function show(step) {
    setLevel(levels[step]);
    tellLevel(step);
    remember("groups", levels[step] ? levels[step].n : null);
  }
  knobs.groups = (n) => {
    const step = levels.findIndex((level) => level && level.n === n);
    if (step < 0) return;
    slider.value = step;
    show(step);
  };
  tellLevel(coarser.length);
  return el("div", { class: "levels card", id: "levels", role: "group", "aria-label": "Groups within groups" }, el("div", { class: "tools" }, fewer, el("label", { class: "grow" }, `Fewer or more ${D.noun}s`, slider), more), said);
}

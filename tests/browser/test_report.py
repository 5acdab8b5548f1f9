"""Reports in a real browser: they load, filter, fold, zoom, change colours, fit a phone, and no document harms them.

Screenshots are left in tests/browser/screenshots for a person to look at.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arbora as ab
from arbora.datasets import make_documents
from arbora.evaluate.hierarchy import Hierarchy
from arbora.report import Context, gather, render, write_report

pytestmark = pytest.mark.compiled

SCREENSHOTS = Path(__file__).parent / "screenshots"
EVIL = "</script><img src=x onerror=alert(1)>"
PAGES = {  # and some of the panels of each
    "clusters": {"map", "sizes", "agreement", "groups", "border", "list", "fit", "parameters"},
    "chains": {"map", "posterior", "parameters"},
    "hierarchy": {"hierarchy", "map", "agreement", "posterior", "list"},
    "unions": {"archetypes", "merges", "map", "groups", "fit"},
    "classes": {"scores", "map", "groups", "novel", "list"},
}
Open = Callable[..., Any]


def find_browser() -> str | None:
    """The browser of $ARBORA_BROWSER, or a chromium or chrome on the path."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("ARBORA_BROWSER") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser; it is not installed")
    path = find_browser()
    if path is None:
        pytest.skip("no chromium or chrome on the path, and ARBORA_BROWSER names none")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


def three_levels() -> str:
    """The page of a hierarchy whose first two levels have the same groups."""
    rows = np.repeat([0.0, 1.0, 5.0, 6.0], 4)[:, None] + np.linspace(0, 0.1, 16)[:, None] * [1.0, -1.0]
    halves, quarters = np.repeat([0, 1], 8), np.repeat([0, 1, 2, 3], 4)
    tree = ab.BHMC(3, branching=2, n_iter=24, n_chains=2, random_state=0, n_projected=None).fit(rows)
    levels = [halves, halves, quarters]
    found = {"hierarchy_": Hierarchy.from_levels(levels), "level_labels_": np.array(levels)}
    tree.__dict__.pop("level_labels_", None)
    tree.__class__ = type("Found", (ab.BHMC,), found)
    return render(gather(tree, rows, Context(target=[f"class {n}" for n in halves])))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of each kind; the documents of the first have harmful names, labels and classes."""
    where = tmp_path_factory.mktemp("pages")
    trees = make_documents(8, random_state=0)
    words = [EVIL if word == "title" else word for word in trees.vocabulary]
    names = [f"<script>alert({t})</script>.xml" for t in range(trees.n_trees)]
    kinds = [f"{kind}{EVIL}" for kind in trees.target]
    evil = ab.Forest(*trees.arrays, tuple(words), np.array(kinds), np.array(names))
    ab.HiddenTreeMixture(5, 2, max_iter=15, tol=0, random_state=0).fit(evil).report(evil, where / "clusters.html")
    chains = ab.InfiniteHiddenTreeMixture(2, n_iter=16, n_start=4, n_chains=2, update="em", random_state=0).fit(trees)
    chains.report(trees, where / "chains.html")
    rows = np.random.default_rng(0).normal(size=(30, 3)) + 4.0 * (np.arange(30) % 3)[:, None]
    tree = ab.BHMC(2, branching=3, n_iter=24, n_chains=2, random_state=0, n_projected=None).fit(rows)
    tree.report(rows, where / "hierarchy.html", target=[f"class {n % 3}" for n in range(30)])
    (where / "levels.html").write_text(three_levels())
    patterns = ab.PatternMixture(3, n_chains=1, n_iter=2, random_state=0).fit(trees)
    patterns.report(trees, where / "patterns.html")
    few = trees[::4]
    ab.TreeUnionMixture(3, search="greedy").fit(few).report(few, where / "unions.html")
    classifier = ab.TreeClassifier(ab.HiddenTreeMixture(3, 2, max_iter=5, tol=0), "logistic", random_state=0)
    write_report(classifier.fit(trees), trees, where / "classes.html", warned=["Beware."])
    (where / "my docs").mkdir()
    for n in range(6):
        (where / "my docs" / f"a#{n}%.xml").write_text(f"<a>{'<b/>' * (n % 3)}</a>")
    files = ab.read_xml(where / "my docs")
    ab.HiddenTreeMixture(2, 2, max_iter=3, tol=0, random_state=0).fit(files).report(files, where / "files.html")
    return where


@pytest.fixture
def visit(browser: Any, folder: Path) -> Iterator[Open]:
    """Open a page; whatever it logs, asks for or throws must be nothing."""
    contexts, trouble = [], []

    def go(name: str, width: int = 1280, height: int = 900, dark: bool = False) -> Any:
        scheme = "dark" if dark else "light"
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        url = (folder / f"{name}.html").as_uri()
        page.on("console", lambda message: trouble.append(f"{name}: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"{name}: {error}"))
        page.on("dialog", lambda dialog: (trouble.append(f"{name}: a dialog"), dialog.dismiss()))
        page.on("request", lambda request: request.url == url or trouble.append(f"{name}: asks for {request.url}"))
        page.goto(url)
        page.wait_for_selector("body[data-ready=true]", timeout=20_000)
        return page

    yield go
    for context in contexts:
        context.close()
    assert trouble == []


# Whatever can be focused or is a picture, and says nothing to those who cannot see it.
NAMELESS = """() => [...document.querySelectorAll(
    'a, button, input, select, canvas, svg:not([aria-hidden]), [tabindex], [role=button], [role=img]')]
  .filter(e => !e.closest('[aria-hidden=true]') && e.id !== 'main')
  .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length)))
  .map(e => e.outerHTML.slice(0, 120))"""

# Ratio of luminances of text and what is behind it, the least of all, as WCAG has it.
CONTRAST = """() => {
  const rgba = t => { const f = t.match(/[\\d.]+/g).map(Number);
    const k = t.startsWith('color(') ? 255 : 1; return [f[0] * k, f[1] * k, f[2] * k, f.length > 3 ? f[3] : 1]; };
  const light = c => { const [r, g, b] = c.slice(0, 3).map(x => x / 255)
    .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { for (let p = e; p; p = p.parentElement) {
    const c = rgba(getComputedStyle(p).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
  let worst = [99, ''];
  for (const e of document.querySelectorAll('main *, header *, footer *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.disabled || e.closest('.hide, [hidden], details:not([open]) > :not(summary), option')) continue;
    const style = getComputedStyle(e);
    const [a, b] = [light(rgba(e.closest('svg') ? style.fill : style.color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (e.closest('.ice') && !e.classList.contains('tick')) continue;  // on its own bar
    if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 150)];
  }
  return worst; }"""


@pytest.mark.parametrize("name", PAGES)
def test_pages_load_stand_out_fit_a_phone_and_have_names_for_everything(visit: Open, name: str) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    for kind, width in (("light", 1280), ("dark", 1280), ("phone", 390)):
        page = visit(name, width, dark=kind == "dark")
        ratio, where = page.evaluate(CONTRAST)
        assert ratio >= 4.5, where
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.screenshot(path=SCREENSHOTS / f"{name}-{kind}.png", full_page=True)
    assert page.evaluate(NAMELESS) == []
    assert page.locator("main h1").count() == 1
    sections = page.eval_on_selector_all("main section", "found => found.map(s => s.id)")
    assert set(sections) >= PAGES[name]
    assert page.locator("header nav a").count() == len(sections) - 1


def test_the_slider_regroups_map_cards_and_tables(visit: Open) -> None:
    page = visit("unions")
    before = page.locator("#map .legend li").count()
    page.locator("#levels input").fill("0")
    assert "2 clusters: the last step joins" in page.locator("#levels output").inner_text()
    for found in ("#map .legend li", "#groups article", "#sizes tbody tr"):
        assert page.locator(found).count() == 2
    assert page.locator("#list select option").count() >= 3
    assert " + " in page.locator("#groups").inner_text()
    page.locator("#map .legend button").first.click()
    assert page.locator("#groups article:visible").count() == 1
    page.screenshot(path=SCREENSHOTS / "unions-coarser.png", full_page=True)
    while page.get_by_role("button", name="More clusters").is_enabled():
        page.get_by_role("button", name="More clusters").click()
    assert page.locator("#map .legend li").count() == before
    assert page.locator("#groups article").count() == before


def test_the_slider_parts_groups_and_goes_back(visit: Open) -> None:
    page = visit("patterns")
    found = page.locator("#groups article").count()
    page.get_by_role("button", name="More clusters").click()
    assert "the last step parts" in page.locator("#levels output").inner_text()
    for what in ("#map .legend li", "#groups article", "#sizes tbody tr"):
        assert page.locator(what).count() == found + 1
    page.screenshot(path=SCREENSHOTS / "patterns-finer.png", full_page=True)
    page.get_by_role("button", name="Fewer clusters").click()
    assert page.locator("#groups article").count() == found


def test_pictures_are_saved_as_svg_and_png(visit: Open, tmp_path: Path) -> None:
    from xml.etree import ElementTree as ET

    page = visit("clusters")
    for section, what in (("#map", "circle"), ("#sizes", "path"), ("#fit", "text"), ("#groups", "text")):
        for kind in ("SVG", "PNG"):
            with page.expect_download() as started:
                page.locator(f"{section} .saves").get_by_role("button", name=kind).first.click()
            path = tmp_path / started.value.suggested_filename
            started.value.save_as(path)
            if kind == "PNG":
                assert path.read_bytes().startswith(b"\x89PNG")
                assert path.stat().st_size > 2_000
                continue
            root = ET.parse(path).getroot()  # noqa: S314 (written by our own page)
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            found = [one for one in root.iter() if one.tag.rpartition("}")[2] in (what, "path")]
            assert len(found) >= 3
            assert not [one for one in root.iter() if "class" in one.attrib or "var(" in str(one.attrib)]


def test_what_is_chosen_stands_in_the_address_and_comes_back(visit: Open) -> None:
    page = visit("patterns")
    page.get_by_role("button", name="Fewer clusters").click()
    page.get_by_label("Places by").select_option("1")
    page.locator("#map .legend button").first.click()
    page.locator("nav a", has_text="All trees").click()
    page.wait_for_function("location.hash.startsWith('#list&')")
    address, shown = page.url, page.locator("#groups article:visible h3").all_inner_texts()
    assert {part.split("=")[0] for part in address.partition("#")[2].split("&")} == {
        "list",
        "groups",
        "places",
        "focus",
    }
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("body[data-ready=true]")
    assert page.url == address
    assert page.get_by_label("Places by").input_value() == "1"
    assert page.locator("#groups article:visible h3").all_inner_texts() == shown


def test_an_address_of_nonsense_does_no_harm(visit: Open) -> None:
    page = visit("clusters")
    page.evaluate("location.hash = 'map&focus=999&places=7&pick=-1&groups=x&other=1&colour=99'")
    assert page.locator("#groups article:visible").count() == 5


def test_tables_and_artefacts_are_copied(visit: Open) -> None:
    page = visit("clusters")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#list").get_by_role("button", name="Copy table").click()
    rows = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert len(rows) == 41  # every tree, not only those of the first page
    assert rows[0].startswith("tree\tcluster")
    card = page.locator("#groups article").first
    card.locator("details.copy summary").click()
    card.get_by_role("button", name="Copy Skeleton").click()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text == card.locator("details.copy pre").first.inner_text()
    assert text.splitlines()[0].endswith("1.00")


def test_controls_are_large_enough_for_a_finger(visit: Open) -> None:
    for name in PAGES:
        page = visit(name)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        small = page.evaluate("""() => [...document.querySelectorAll('button, select, input, summary, th a')]
            .filter(e => e.getClientRects().length).map(e => [e.outerHTML.slice(0, 90), e.getBoundingClientRect()])
            .filter(([, r]) => Math.min(r.width, r.height) < 23.9).map(([text]) => text)""")
        assert small == []


def test_every_level_is_described_and_equal_levels_are_one(visit: Open) -> None:
    page = visit("levels")
    assert "Levels 1 and 2" in page.locator("#agreement").inner_text()
    assert page.locator("#groups h3.gap").all_inner_texts() == ["Levels 1 and 2", "Level 3"]
    assert page.locator("#groups article").count() == 2 + 4
    assert "of group 1 of levels 1 and 2" in page.locator("#groups article").last.inner_text()
    assert page.locator("#hierarchy svg text.tick", has_text="level").all_text_contents() == [
        "levels 1 and 2",
        "level 3",
    ]
    assert page.get_by_label("Colour by").locator("option").count() == 3


def test_the_legend_shows_known_classes(visit: Open) -> None:
    page = visit("clusters")
    page.get_by_label("Colour by").select_option("1")
    rows = page.locator("#map .legend li.row")
    assert rows.count() == 5
    assert rows.first.evaluate("e => getComputedStyle(e).opacity") == "1"


def test_documents_cannot_harm(visit: Open) -> None:
    page = visit("clusters")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert "<script>alert(0)</script>.xml" in page.locator("#list tbody").inner_text()
    assert EVIL[:12] in page.locator("#groups").inner_text()
    assert EVIL in page.locator("#agreement").inner_text()


def test_the_policy_stops_other_scripts(browser: Any, folder: Path) -> None:
    page = browser.new_page()
    page.goto((folder / "clusters.html").as_uri())
    page.evaluate("""() => { const s = document.createElement('script'); s.textContent = 'window.harmed = true';
        document.body.append(s); document.body.insertAdjacentHTML('beforeend', '<b onclick="window.harmed=1">x</b>');
        document.body.lastElementChild.click(); }""")
    assert page.evaluate("window.harmed") is None
    page.close()


def test_finding_by_name_group_and_class(visit: Open) -> None:
    page = visit("clusters")
    rows, status = page.locator("#list tbody tr"), page.locator("#list [role=status]")
    assert rows.count() == 20
    assert status.inner_text() == "40 trees of 40, page 1 of 2"
    page.get_by_label("Find a tree by name").fill("ALERT(7)")
    assert rows.count() == 1
    assert status.inner_text() == "1 tree of 40"
    page.get_by_label("Find a tree by name").fill("")
    page.locator("#list select").first.select_option("0")
    shown = rows.count()
    assert 0 < shown < 20
    page.locator("#list").get_by_role("button", name="nodes").click()
    sizes = [int(text) for text in page.locator("#list tbody td:nth-child(6)").all_inner_texts()]
    assert len(sizes) == shown
    assert sizes == sorted(sizes)
    page.locator("#list").get_by_role("button", name="nodes").click()
    assert page.locator("#list th[aria-sort=descending]").count() == 1


def test_a_group_in_focus(visit: Open) -> None:
    page = visit("clusters")
    assert page.locator("#groups article:visible").count() == 5
    page.locator("#map .legend button").nth(2).click()
    assert page.locator("#groups article:visible").count() == 1
    assert page.locator("#groups article:visible h3").inner_text().startswith("Cluster 2 · ")
    page.get_by_role("button", name="Show all clusters").click()
    assert page.locator("#groups article:visible").count() == 5


def test_a_tree_folds_by_mouse_and_keyboard(visit: Open) -> None:
    page = visit("clusters")
    tree = page.locator("#groups svg.tree").first
    before = tree.locator("circle:not(.heat)").count()
    root = tree.locator("[data-node='0']")
    root.locator("circle:not(.heat)").click()
    assert tree.locator("circle:not(.heat)").count() == 1
    assert tree.locator("[data-node='0']").get_attribute("aria-expanded") == "false"
    page.keyboard.press("Enter")  # the node is in focus still
    assert tree.locator("circle:not(.heat)").count() == before
    page.locator("#groups article").first.get_by_role("button", name="Typical tree 2").click()
    assert page.locator("#groups article").first.locator("button[aria-pressed=true]").inner_text() == "2"


def test_the_map_zooms_and_tells(visit: Open) -> None:
    page = visit("clusters")
    canvas = page.locator("#map canvas")
    page.get_by_role("button", name="Zoom in").click()
    first = float(canvas.get_attribute("data-span"))
    canvas.focus()
    page.keyboard.press("+")
    assert float(canvas.get_attribute("data-span")) == pytest.approx(0.8 * first, rel=1e-2)
    page.locator("#list tbody button").nth(3).click()
    assert "alert(3)" in page.locator("#map [aria-live] h3").inner_text()


def test_a_dot_leads_to_its_document(visit: Open, folder: Path) -> None:
    page = visit("files")
    page.locator("#list tbody button").nth(2).click()
    link = page.locator("#map [aria-live] h3 a")
    assert link.inner_text() == "a#2%.xml"
    assert link.evaluate("a => a.href") == (folder / "my docs" / "a#2%.xml").as_uri()
    told = set()
    for x, y in page.locator("#map canvas").evaluate(MARKS):
        page.locator("#map canvas").click(position={"x": x, "y": y})
        told.add(link.inner_text())
    assert len(told) > 1
    assert link.evaluate("a => a.href").startswith((folder / "my docs").as_uri())


# A place on the map where something is drawn, far from the ring around what was chosen and from the words at the axes.
# Places of coloured pixels, which are marks, some way apart from each other.
MARKS = """canvas => {
  const scale = devicePixelRatio, wide = canvas.width;
  const data = canvas.getContext('2d').getImageData(0, 0, wide, canvas.height).data;
  const found = [];
  for (let y = 20; y < canvas.height - 40 * scale; y++) for (let x = Math.round(50 * scale); x < wide - 5; x++) {
    const [r, g, b, a] = data.slice(4 * (y * wide + x), 4 * (y * wide + x) + 4);
    const here = [x / scale, y / scale];
    const far = found.every(([p, q]) => Math.hypot(p - here[0], q - here[1]) > 25);
    if (a > 150 && Math.max(r, g, b) - Math.min(r, g, b) > 80 && far) found.push(here);
  }
  return found; }"""


def test_the_icicle_zooms_and_comes_back(visit: Open) -> None:
    page = visit("hierarchy")
    box = page.locator("#hierarchy [data-at]")
    bars = box.locator("g[role=button]").count()
    page.locator("#hierarchy g[data-node='1'] rect").click()
    assert box.get_attribute("data-at") == "1"
    assert 0 < box.locator("g[role=button]").count() < bars
    listed = page.locator("#hierarchy .members li").count()
    assert 0 < listed < 30
    page.keyboard.press("Escape")
    assert box.get_attribute("data-at") == "0"
    assert page.locator("#hierarchy .members li").count() == 30


def test_colours_follow_the_system_and_the_button(visit: Open) -> None:
    def ground(page: Any) -> int:
        return page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[1]")

    bright, dark = visit("unions"), visit("unions", dark=True)
    assert ground(bright) > 200
    assert ground(dark) < 60
    bright.get_by_role("button", name="Switch to dark colours").click()
    assert ground(bright) == ground(dark)
    bright.get_by_role("button", name="Switch to light colours").click()
    assert ground(bright) > 200


def test_on_paper_only_what_can_be_read(visit: Open) -> None:
    page = visit("classes", dark=True)
    assert page.locator(".warn").first.inner_text() == "Beware."
    page.emulate_media(media="print", color_scheme="light")
    assert not page.locator("header.top").is_visible()
    assert page.locator("main h1").is_visible()
    assert page.locator("#scores table").first.is_visible()


def test_the_map_switches_places_and_zooms_by_two_fingers(visit: Open) -> None:
    page = visit("clusters")
    before = page.locator("#map-about").inner_text()
    choice = page.get_by_label("Places by")
    names = choice.locator("option").all_inner_texts()
    assert names == ["neighbours", "what parts the clusters", "principal components"]
    choice.select_option("2")
    assert page.locator("#map-about").inner_text() != before
    assert "of the variance" in page.locator("#map-about").inner_text()
    page.evaluate(
        """() => {
        const canvas = document.querySelector("canvas.plane");
        const box = canvas.getBoundingClientRect();
        const send = (kind, id, x) => canvas.dispatchEvent(new PointerEvent(kind, {
            pointerId: id, pointerType: "touch", clientX: box.left + x, clientY: box.top + 100, buttons: 1 }));
        send("pointerdown", 1, 100); send("pointerdown", 2, 140);
        send("pointermove", 2, 220);
        send("pointerup", 1, 100); send("pointerup", 2, 220);
    }"""
    )
    frame = page.evaluate("() => { const f = D.map.others[1].frame[0]; return Math.max(f[1] - f[0], 20) * 1.12; }")
    assert float(page.locator("canvas.plane").get_attribute("data-span")) == pytest.approx(frame / 3, rel=0.02)


def test_the_verdict_is_the_first_thing_said(visit: Open) -> None:
    page = visit("chains")
    banner = page.locator("#verdict")
    assert banner.bounding_box()["y"] < page.locator("#tiles").bounding_box()["y"]
    assert banner.inner_text().startswith(("Sound", "Look again", "Do not trust"))


def test_a_mark_tells_its_neighbours_and_other_groups(visit: Open) -> None:
    page = visit("chains")
    page.locator("#list tbody button").first.click()
    card = page.locator("#map [aria-live]")
    name = card.locator("h3").inner_text()
    near = card.locator(".near button")
    assert near.count() == 5
    wanted = near.first.inner_text().strip()
    near.first.click()
    assert card.locator("h3").inner_text() == wanted != name

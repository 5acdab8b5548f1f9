"""Sitemaps: pages of a copy of a site, or of a server on this machine."""

import functools
import http.server
import threading

import pytest

import arbora as ab
from arbora.errors import SkippedFilesWarning
from arbora.io import read_sitemap

PAGES = {"index.html": "<h1>x", "a.html": "<p>x", "sub/index.html": "<ul><li>x", "b.html": "<b>x"}


@pytest.fixture
def site(tmp_path):
    for name, page in PAGES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(page)
    return tmp_path


def urlset(*addresses):
    entries = "".join(f"<url><loc> {address} </loc><priority>1</priority></url>" for address in addresses)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


def below_body(forest):
    return [tree["children"][0]["children"][0]["label"] for tree in forest]


def test_a_copy_of_a_site(site):
    path = site / "sitemap.xml"
    path.write_text(urlset(*(f"https://h/{x}" for x in ("", "a.html", "sub/", "sub", "a.html"))))
    forest = ab.read(path, "sitemap", mirror=str(site))
    assert below_body(forest) == ["h1", "p", "ul", "ul"]
    assert forest.name.tolist() == ["https://h/", "https://h/a.html", "https://h/sub/", "https://h/sub"]


def test_plain_text_and_a_folder_named_after_the_host(site, tmp_path):
    (tmp_path / "copy").mkdir()
    for name in ("a.html", "b.html"):
        (site / name).rename(tmp_path / "copy" / name)
    (tmp_path / "copy").rename(tmp_path / "h.org")
    path = site / "sitemap.txt"
    path.write_text("https://h.org/a.html\n\nhttps://h.org/b.html\n")
    assert below_body(read_sitemap(path, mirror=str(tmp_path))) == ["p", "b"]


def test_an_index_of_sitemaps(site):
    index = (
        urlset("https://h/one.xml", "https://h/two.txt").replace("urlset", "sitemapindex").replace("url>", "sitemap>")
    )
    (site / "sitemap.xml").write_text(index)
    (site / "one.xml").write_text(urlset("https://h/a.html"))
    (site / "two.txt").write_text("https://h/b.html")
    assert below_body(read_sitemap(site / "sitemap.xml", mirror=str(site))) == ["p", "b"]
    (site / "one.xml").write_text(index)
    with pytest.raises(ab.ReadError, match=r"the sitemap 'https://h/one\.xml' lists sitemaps itself"):
        read_sitemap(site / "sitemap.xml", mirror=str(site))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<urlset><url>", "not well-formed XML"),
        ("<html/>", "its element is 'html', wanted urlset or sitemapindex"),
        ("<urlset><url/></urlset>", "an entry 'url' has 0 elements loc, wanted one"),
        ("file:///etc/passwd", "wanted an address that begins with http"),
        ("https://h/../../x", "whose path leads out of the mirror"),
        ("https://h/%2e%2e/x", "whose path leads out of the mirror"),
        ("https://h/a.html\nhttps://other/a.html", "wanted addresses of 'h' only"),
        ("https://h/a.html\nhttps://h/b.html\nhttps://h/c.html", "it lists more than 2 pages; raise max_pages"),
        ("https://h/none.html", "the page 'https://h/none.html': the file cannot be opened"),
        ("https://h:x]/", "wanted"),
    ],
)
def test_faults(text, said, site):
    (site / "sitemap.txt").write_text(text)
    with pytest.raises(ab.ReadError) as caught:
        read_sitemap(site / "sitemap.txt", mirror=str(site), max_pages=2)
    assert said in str(caught.value)


def test_bad_pages_are_left_out_when_asked(site):
    (site / "sitemap.txt").write_text("https://h/none.html\nhttps://h/a.html")
    with pytest.warns(SkippedFilesWarning, match="none.html"):
        assert read_sitemap(site / "sitemap.txt", mirror=str(site), on_error="skip").n_trees == 1


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.mark.filterwarnings("ignore")  # aiohttp closes its loops late
def test_pages_of_a_server(site):
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        host = f"http://127.0.0.1:{server.server_port}"
        (site / "sitemap.xml").write_text(urlset(f"{host}/a.html", f"{host}/b.html"))
        try:
            assert below_body(read_sitemap(f"{host}/sitemap.xml")) == ["p", "b"]
        finally:
            server.shutdown()
            thread.join()

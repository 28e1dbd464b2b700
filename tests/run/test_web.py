"""Documents of the web, where that is allowed: a real server on the loopback."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from command import xcast

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query
from xstreamcast.scan import web

LARGE = b"<r>" + b"<v>1</v>" * 800_000 + b"</r>"


class Site:
    """What a server has, and what it was asked."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.pages: dict[str, list[bytes]] = {}
        self.moved: dict[str, str] = {}
        self.asked: list[tuple[str, str, str]] = []

    def url(self, path: str) -> str:
        return f"http://{self.address}{path}"


@pytest.fixture
def site() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            etag = self.headers.get("If-None-Match", "")
            found.asked.append((self.path, etag, self.headers.get("Authorization", "")))
            if self.path in found.moved:
                self.send_response(302)
                self.send_header("Location", found.moved[self.path])
                self.end_headers()
            elif self.path not in found.pages:
                self.send_error(404)
            else:
                several = found.pages[self.path]
                page = several.pop(0) if len(several) > 1 else several[0]
                own = f'"{hash(page)}"'
                self.send_response(304 if etag == own else 200)
                if etag != own:
                    self.send_header("ETag", own)
                    self.send_header("Content-Length", str(len(page) + 9 * (self.path == "/torn.xml")))
                self.end_headers()
                if etag != own:
                    self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Site(f"127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield found
    server.shutdown()
    server.server_close()


def refused(url: str) -> XStreamError:
    with pytest.raises(XStreamError) as caught:
        query("count(//v)", context=url, allow_http=True).to_list()
    return caught.value


def test_a_url_is_asked_once_if_that_is_allowed(site: Site) -> None:
    site.pages = {"/a.xml": [b"<r><v>1</v><v>2</v></r>"], "/large.xml": [LARGE]}
    assert query("sum(//v)", context=site.url("/a.xml"), allow_http=True).to_list() == [3]
    assert query("sum(//v)", context=site.url("/large.xml"), allow_http=True).to_list() == [800_000]
    assert query("sum(doc('x')//v)", docs={"x": site.url("/a.xml")}, allow_http=True).to_list() == [3]
    assert [path for path, *_ in site.asked] == ["/a.xml", "/large.xml", "/a.xml"]
    done = xcast("query", "sum(//v)", "--allow-http", site.url("/a.xml"))
    assert (done.code, done.out) == (0, b"3\n")
    assert xcast("query", "sum(//v)", "--allow-http", site.url("/a.xml"), "--engine", "spark").code == 2
    count = len(site.asked)
    with pytest.raises(XStreamError) as caught:
        query("sum(//v)", context=site.url("/a.xml"))
    assert ("allow_http=True" in caught.value.hint, len(site.asked)) == (True, count)
    done = xcast("query", "sum(//v)", site.url("/a.xml"))
    assert (done.code, "--allow-http" in done.err, len(site.asked)) == (1, True, count)
    assert query(f"doc-available('{site.url('/a.xml')}')", allow_http=True).to_list() == [False]
    assert len(site.asked) == count


def test_redirects_stay_on_the_host(site: Site) -> None:
    site.pages = {"/a.xml": [b"<v>1</v>"]}
    site.moved = {"/old.xml": "/a.xml", "/round.xml": "/round.xml", "/away.xml": "http://localhost:1/a.xml",
                  "/port.xml": "http://127.0.0.1:1/a.xml", "/file.xml": "file:///etc/passwd"}  # fmt: skip
    assert query("count(//v)", context=site.url("/old.xml"), allow_http=True).to_list() == [1]
    with_user = site.url("/old.xml").replace("//", "//me:secret@")
    assert query("count(//v)", context=with_user, allow_http=True).to_list() == [1]
    assert site.asked[-1][2] == "Basic bWU6c2VjcmV0"
    for path in ("/away.xml", "/port.xml", "/file.xml"):
        assert "the server sends to" in refused(site.url(path)).message
    assert "more than 5 redirects" in refused(site.url("/round.xml")).message
    assert "secret" not in str(refused(with_user.replace("old", "away")))


def test_limits_and_faults_have_a_code(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.pages = {"/a.xml": [b"<r>" + b"<v>1</v>" * 500 + b"</r>"], "/torn.xml": [b"<v>1</v>"]}
    assert (refused(site.url("/none.xml")).code, "404" in refused(site.url("/none.xml")).message) == ("XSC0008", True)
    assert "9 bytes early" in refused(site.url("/torn.xml")).message
    assert refused("http://127.0.0.1:1/a.xml").code == "XSC0008"
    assert str(refused(site.url("/none.xml")).place) == site.url("/none.xml")
    monkeypatch.setattr(web, "TIME", -1.0)
    assert "takes longer" in refused(site.url("/a.xml")).message
    monkeypatch.setattr(web, "SIZE", 100)
    assert "more than" in refused(site.url("/a.xml")).message


def test_a_feed_asks_again_for_what_has_changed(site: Site, tmp_path: Path) -> None:
    first, second = b'<l><b id="1">a</b><b id="2">b</b></l>', b'<l><b id="2">c</b></l>'
    site.pages = {"/l.xml": [first, first, b"<l><b", second]}
    url, out = site.url("/l.xml"), tmp_path / "out"
    again = [
        "feed",
        "/l/b",
        url,
        "--key",
        "@id",
        "--whole",
        "-o",
        f"{out}/",
        "--state",
        tmp_path / "state",
        "--every",
        "0.05s",
    ]
    done = xcast(*again, "--until-idle", "0.4")
    told = done.err.splitlines()
    assert done.code == 0
    assert [line for line in told if line.startswith(url)] == [
        f"{url}: 2 new",
        f"{url}: nothing",
        f"{url}: 1 changed, 1 removed",
    ]
    assert sum("XSC0001" in line for line in told) == 1
    assert len(list(out.iterdir())) == 2
    assert site.asked[0][1] == ""
    assert all(etag for _, etag, _ in site.asked[1:])
    count = len(site.asked)
    assert xcast(*again, "--until-idle", "0").err == ""
    assert site.asked[count][1]
    for wrong in (
        ["feed", "/l/b", url],
        ["feed", "/l/b", "x.xml", "--every", "3s"],
        ["feed", "/l/b", url, "--every", "soon"],
    ):
        assert xcast(*wrong).code == 2


def test_a_server_that_is_away_is_asked_again(tmp_path: Path) -> None:
    done = xcast(
        "feed", "/l/b", "http://127.0.0.1:1/l.xml", "--every", "0.05s", "--until-idle", "0.1", "-o", f"{tmp_path}/o/"
    )
    assert (done.code, "XSC0008" in done.err) == (0, True)

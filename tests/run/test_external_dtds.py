"""DTDs outside of documents: those that were named are read, by themselves or in a catalog, and no others."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from command import xcast

from xstreamcast.errors import XStreamError
from xstreamcast.feeds import Feed
from xstreamcast.model.change import Fill
from xstreamcast.run import inputs
from xstreamcast.run.query import query, query_many
from xstreamcast.scan import external
from xstreamcast.scan.external import named, spelled

DTD = """<!ELEMENT dblp (article)*>
<!ENTITY % attributes "key CDATA #REQUIRED mdate CDATA #IMPLIED">
<!ATTLIST article %attributes;>
<!ENTITY uuml "&#252;"> <!ENTITY Eacute "&#xC9;"> <!ENTITY reg "&#174;"> <!ENTITY nbsp "&#160;"> <!ENTITY q "&#34;">
"""
DOCUMENT = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE dblp SYSTEM "dblp.dtd">
<dblp><!-- &uuml; --><article key="a&uuml;&q;b"><author>J&uuml;rgen &Eacute;t&amp;</author><![CDATA[&uuml;]]>
<?p &uuml;?></article>\xe9</dblp>"""
EXPECTED = (
    '<dblp><!-- &uuml; --><article key="aü&quot;b"><author>Jürgen Ét&amp;</author>&amp;uuml;\n'
    "<?p &uuml;?></article>é</dblp>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dblp.dtd").write_text(DTD)
    (tmp_path / "dblp.xml").write_bytes(DOCUMENT.encode("latin-1"))
    (tmp_path / "catalog.xml").write_text(
        '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">'
        '<system systemId="dblp.dtd" uri="dblp.dtd"/><public publicId="-//X//Y  Z//EN" uri="sub/rich.dtd"/>'
        '<rewriteSystem systemIdStartString="http://example.org/" rewritePrefix="sub/"/>'
        '<nextCatalog catalog="next.xml"/><systemSuffix systemIdSuffix="/late.dtd" uri="dblp.dtd"/></catalog>'
    )
    (tmp_path / "next.xml").write_text(
        '<c:catalog xmlns:c="urn:oasis:names:tc:entity:xmlns:xml:catalog" xml:base="sub/">'
        '<c:system systemId="next.dtd" uri="rich.dtd"/></c:catalog>'
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "rich.dtd").write_text(
        '<!ENTITY % more SYSTEM "http://example.org/more.ent"> %more;'
        '<!ATTLIST a kind (x|y) "x" id ID #IMPLIED> <!ENTITY both "<b>&uuml;</b>">'
    )
    (tmp_path / "sub" / "more.ent").write_text('<!ENTITY uuml "&#252;">')
    return tmp_path


def refused(ask: Any) -> XStreamError:
    with pytest.raises(XStreamError) as caught:
        ask()
    return caught.value


@pytest.mark.parametrize("large", [False, True], ids=["tree", "scan"])
def test_entities_of_a_named_dtd(folder: Path, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(inputs, "KERNEL_FROM", 16)
    path = folder / "dblp.xml"
    packed = folder / "dblp.xml.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for options in ({"dtd": folder / "dblp.dtd"}, {"catalog": str(folder / "catalog.xml")}):
        for context in (path, packed, path.read_bytes(), io.BytesIO(path.read_bytes())):
            made = query("/dblp", context=context, **options)
            assert [item.xml() for item in made] == [EXPECTED]
        assert query("//author/string()", context=path, **options).to_list() == ["Jürgen Ét&"]
        assert query(f"doc('{path}')//author/string()", **options).to_list() == ["Jürgen Ét&"]
        assert query(f"collection('{folder}/d*.xml')//author/string()", **options).to_list() == ["Jürgen Ét&"]
        assert query_many(["count(//author)", "//author/string()"], context=path, **options)[1].to_list() == [
            "Jürgen Ét&"
        ]
    fault = refused(lambda: query("//author/string()", context=path).to_list())
    assert (fault.code, "--dtd FILE, dtd=" in fault.hint) == ("XSC0001", True)


@pytest.mark.parametrize("large", [False, True], ids=["tree", "scan"])
def test_defaults_elements_and_entities_of_entities(folder: Path, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(inputs, "KERNEL_FROM", 16)
    for doctype in (
        'PUBLIC "-//X//Y Z//EN" "http://nowhere.invalid/x.dtd"',
        'SYSTEM "http://example.org/rich.dtd"',
        'SYSTEM "next.dtd"',
        'SYSTEM "next.dtd" [<!ENTITY own "&uuml;"><!ATTLIST a more CDATA "1">]',
    ):
        text = f"<!DOCTYPE a {doctype}><a id=' i '>&both;{'&own;' if 'own' in doctype else ''}</a>"
        made = query("/a/@kind/string(), /a/@id/string(), /a/b/string(), count(/a/@more)", context=text.encode(),
                     catalog=folder / "catalog.xml").to_list()  # fmt: skip
        assert made == ["x", "i", "ü", int("more" in doctype)], doctype
    both = query(
        "//b/string()", context=b"<a>&both;</a>", dtd=folder / "sub" / "rich.dtd", catalog=folder / "catalog.xml"
    )
    assert both.to_list() == ["ü"]


def test_nothing_is_read_that_was_not_named(folder: Path) -> None:
    rich = folder / "sub" / "rich.dtd"
    fault = refused(lambda: query("/a", context=b"<a>&both;</a>", dtd=rich).to_list())
    assert ("http://example.org/more.ent" in fault.message, "catalog" in fault.hint) == (True, True)
    (folder / "secret.txt").write_text("secret")
    for entity in (f'SYSTEM "{folder}/secret.txt"', f'SYSTEM "file://{folder}/secret.txt"'):
        text = f'<!DOCTYPE a SYSTEM "dblp.dtd" [<!ENTITY s {entity}>]><a>&s;</a>'.encode()
        for options in ({"dtd": folder / "dblp.dtd"}, {"catalog": folder / "catalog.xml"}):
            assert (
                "external entity"
                in refused(lambda text=text, options=options: query("/a", context=text, **options)).message
            )
    (folder / "far.xml").write_text(
        '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog"><system systemId="x" uri="http://h/x.dtd"/></catalog>'
    )
    assert "is no local file" in refused(lambda: named(None, folder / "far.xml")).message
    for options in ({"dtd": folder / "no.dtd"}, {"catalog": folder / "no.xml"}):
        assert refused(lambda options=options: query("1", context="<a/>", **options)).code == "XSC0006"


def test_expansion_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "EXPANSION_FREE", 1 << 12)
    monkeypatch.setattr("xstreamcast.scan.normalise.EXPANSION_FREE", 1 << 12)
    (tmp_path / "long.dtd").write_text(f'<!ENTITY x "{"y" * 2000}">')
    laughs = '<!ENTITY e0 "ha">' + "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    (tmp_path / "laughs.dtd").write_text(laughs)
    for dtd, text in (("long.dtd", "<a>" + "&x;" * 5000 + "</a>"), ("laughs.dtd", "<a>&e9;</a>")):
        fault = refused(lambda dtd=dtd, text=text: query("/a", context=text.encode(), dtd=tmp_path / dtd).to_list())
        assert fault.code == "XSC0001"
    monkeypatch.setattr(external, "DTD_LIMIT", 100)
    assert "too large" in refused(lambda: named(tmp_path / "long.dtd")).message


def test_entities_are_spelled_wherever_the_input_is_cut() -> None:
    simple = {b"uuml": "ü".encode(), b"q": b"&#34;"}
    data = b'<a b="&q;">&uuml;&amp;&no;<![CDATA[&uuml;]]><!--&uuml; - -- --><?p &uuml; ?>&#252;&uuml;<b/></a>'
    whole = b"".join(spelled([data], simple, ""))
    expected = (
        data.replace(b">&uuml;&amp;", ">ü&amp;".encode())
        .replace(b"&q;", b"&#34;")
        .replace(b"#252;&uuml;", "#252;ü".encode())
    )
    assert whole == expected
    for cut in range(len(data)):
        assert b"".join(spelled([data[:cut], data[cut:]], simple, "")) == whole, cut
    assert b"".join(spelled([data[k : k + 1] for k in range(len(data))], simple, "")) == whole


def test_commands_take_them(folder: Path) -> None:
    done = xcast("query", "//author/string()", folder / "dblp.xml", "--dtd", folder / "dblp.dtd")
    assert (done.code, done.out.decode()) == (0, "Jürgen Ét&amp;\n")
    done = xcast("query", "//author/string()", folder / "dblp.xml", "--catalog", folder / "catalog.xml")
    assert (done.code, done.out.decode()) == (0, "Jürgen Ét&amp;\n")
    done = xcast("feed", "/dblp/article", folder / "dblp.xml", "--dtd", folder / "dblp.dtd", "--key", "@key")
    assert (done.code, "Jürgen Ét&amp;" in done.out.decode()) == (0, True)
    assert xcast("query", "//author/string()", folder / "dblp.xml").code == 1
    feed = Feed("/article", dtd=folder / "dblp.dtd")
    (folder / "m.xml").write_text("<article>&uuml;</article><article>&Eacute;</article>")
    found = [each.content for each in feed.changes(folder / "m.xml") if isinstance(each, Fill) and each.tsid == 2]
    assert [content.decode() for content in found if b"article" in content] == [
        "<article>ü</article>",
        "<article>É</article>",
    ]

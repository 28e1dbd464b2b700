"""The methods html and xhtml: what differs from XML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xstreamcast import XStreamError, query
from xstreamcast.model.serialise import serialise

XHTML = "http://www.w3.org/1999/xhtml"


def html(text: str, **parameters: Any) -> str:
    return serialise(query(text).items(), method="html", **parameters)


def xhtml(text: str, **parameters: Any) -> str:
    return serialise(query(text).items(), method="xhtml", **parameters)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p><br/><img src='a'/><i/></p>", '<p><br><img src="a"><i></i></p>'),
        ("<BR/>", "<BR>"),
        ("<br>x</br>", "<br>x</br>"),
        ("<p>a &lt; b &amp; c</p>", "<p>a &lt; b &amp; c</p>"),
        ("<a title='a &lt; b &amp; c'/>", '<a title="a < b &amp; c"></a>'),
        ("<p class='&amp;{{x}}'/>", '<p class="&{x}"></p>'),
        ("<script>a &lt; b &amp;&amp; c <b t='&amp;'/></script>", '<script>a < b && c <b t="&"></b></script>'),
        ("<option selected='SELECTED' value='selected'/>", '<option selected value="selected"></option>'),
        ("<a href='b&#xe9; b'/>", '<a href="b%C3%A9 b"></a>'),
        ("<p><?x y?></p>", "<p><?x y></p>"),
        ("<m xmlns='urn:m'><n/></m>", '<m xmlns="urn:m"><n/></m>'),
        ("<p><s:svg xmlns:s='http://www.w3.org/2000/svg'><s:g/></s:svg></p>",
         '<p><svg xmlns="http://www.w3.org/2000/svg"><g/></svg></p>'),
        (f"<h:b xmlns:h='{XHTML}'/>", f'<b xmlns="{XHTML}"></b>'),
        ("1, 2, <br/>, 'a&amp;'", "1 2<br>a&amp;"),
        ("<html/>", "<!DOCTYPE html><html></html>"),
        ("document { <!--c-->, <html/> }", "<!--c--><!DOCTYPE html><html></html>"),
        ("<p/>, <html/>", "<p></p><html></html>"),
    ],
)  # fmt: skip
def test_html(text: str, expected: str) -> None:
    assert html(text) == expected


def test_html_4() -> None:
    assert html("<html><isindex/><wbr/></html>", version="4.0") == "<html><isindex><wbr></wbr></html>"
    assert html(f"<h:b xmlns:h='{XHTML}'/>", version="4.01") == f'<h:b xmlns:h="{XHTML}"/>'
    told = '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN"><html></html>'
    assert html("<html/>", version="4.0", doctype_public="-//W3C//DTD HTML 4.01//EN") == told
    told = '<!DOCTYPE html SYSTEM "about:legacy-compat"><html></html>'
    assert html("<html/>", doctype_system="about:legacy-compat") == told


def test_the_type_of_the_content_stands_first_in_the_head() -> None:
    meta = '<meta http-equiv="Content-Type" content="text/html; charset=UTF-8">'
    page = "<html><head>{}<title>t</title></head></html>"
    former = "<meta http-equiv='content-TYPE' content='text/plain'/>"
    for inside in ("", former):
        assert html(page.format(inside)) == f"<!DOCTYPE html><html><head>{meta}<title>t</title></head></html>"
    assert html("<head/>") == f"<head>{meta}</head>"
    assert html("<head/>", include_content_type=False) == "<head></head>"
    assert html("<head/>", media_type="text/x", encoding="ascii") == f"<head>{meta}</head>".replace(
        "text/html; charset=UTF-8", "text/x; charset=ascii"
    )


def test_indentation_leaves_alone_what_would_look_otherwise() -> None:
    text = "<div><p>one</p><p><b>a</b><i>b</i></p><pre><p>x</p></pre><p><?x y?></p></div>"
    assert html(text, indent=True) == (
        "<div>\n  <p>one</p>\n  <p><b>a</b><i>b</i></p>\n  <pre><p>x</p></pre>\n  <p><?x y></p>\n</div>"
    )
    suppressed = 'declare namespace output = "http://www.w3.org/2010/xslt-xquery-serialization"; '
    suppressed += 'declare option output:method "html"; declare option output:indent "yes"; '
    suppressed += 'declare option output:suppress-indentation "UL"; <ul><li><p>a</p></li></ul>'
    assert query(suppressed).serialise() == "<ul><li><p>a</p></li></ul>"


def test_xhtml_is_xml_that_html_readers_read() -> None:
    page = f"<html xmlns='{XHTML}'><head/><body><br/><p/><m xmlns='urn:m'/></body></html>"
    meta = '<meta http-equiv="Content-Type" content="text/html; charset=UTF-8" />'
    assert xhtml(page) == (
        f'<!DOCTYPE html><html xmlns="{XHTML}"><head>{meta}</head><body><br /><p></p><m xmlns="urn:m"/></body></html>'
    )
    declared = xhtml(page, html_version="1.0", omit_xml_declaration=False)
    assert declared.startswith('<?xml version="1.0" encoding="UTF-8"?>')
    assert xhtml("<input checked='checked' title='&lt;'/>") == '<input checked="checked" title="&lt;" />'


@pytest.mark.parametrize(
    ("text", "parameters", "code"),
    [
        ("map { }", {}, "SENR0001"),
        ("<p>&#x81;</p>", {}, "SERE0014"),
        ("<p><?x a > b?></p>", {}, "SERE0015"),
        ("<p/>", {"version": "five"}, "SESU0013"),
    ],
)
def test_what_html_has_not_is_refused(text: str, parameters: dict[str, str], code: str) -> None:
    with pytest.raises(XStreamError) as failure:
        html(text, **parameters)
    assert failure.value.code == code


def test_nodes_in_json_may_be_html() -> None:
    made = query("map { 'a': <p><br/></p> }").items()
    assert serialise(made, method="json", json_node_output_method="html") == '{"a":"<p><br><\\/p>"}'
    assert serialise(made, method="json", json_node_output_method="text") == '{"a":""}'


def test_parameters_in_a_document_and_names_in_the_default_namespace(tmp_path: Path) -> None:
    output = "http://www.w3.org/2010/xslt-xquery-serialization"
    (tmp_path / "p.xml").write_text(
        f'<o:serialization-parameters xmlns:o="{output}"><o:method value="html"/></o:serialization-parameters>'
    )
    prolog = f'declare namespace output = "{output}"; '
    text = prolog + 'declare option output:parameter-document "p.xml"; <br/>'
    assert query(text, base_uri=f"{tmp_path.as_uri()}/").serialise() == "<br>"
    text = prolog + 'declare default element namespace "u"; declare option output:cdata-section-elements "b"; <b>x</b>'
    assert query(text).serialise() == '<b xmlns="u"><![CDATA[x]]></b>'
    with pytest.raises(XStreamError, match="XQST0119"):
        query(prolog + 'declare option output:parameter-document "none.xml"; 1').serialise()

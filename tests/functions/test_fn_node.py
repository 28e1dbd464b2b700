"""Functions on nodes, names, URIs, documents, JSON, XML text, dates and the evaluation."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.functions.evaluation import RaisedError
from xstreamcast.functions.uri import resolve
from xstreamcast.model.atomic import AnyURI, NCName, QName, Untyped
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.cast import cast
from xstreamcast.model.function import Array, FunctionItem, Map
from xstreamcast.model.namespaces import ERR
from xstreamcast.model.types import TYPES
from xstreamcast.scan.parse import parse

DOCUMENT = parse(
    """<!DOCTYPE a [<!ATTLIST b id ID #IMPLIED ref IDREF #IMPLIED>]>
<a xmlns="u" xmlns:p="v" xml:lang="en-GB" p:at="1"><b id="x">one</b><b ref="x"><c/></b><!--k--><?pi d?></a>""",
    "http://example.org/d.xml",
    "http://example.org/d.xml",
)
A = DOCUMENT.children()[0]
B, B2 = A.children()[:2]


def xs(name: str, text: str) -> Any:
    return cast(text, TYPES[name])


def test_names_and_uris_of_nodes(gives: Any) -> None:
    at = A.attributes()[1]
    gives(AnyURI("u"), "fn:namespace-uri", A)
    gives("p:at", "fn:name", at)
    gives("at", "fn:local-name", at)
    gives("", "fn:name", DOCUMENT)
    gives("", "fn:local-name", None)
    gives(QName("v", "at", "p"), "fn:node-name", at)
    gives([], "fn:node-name", DOCUMENT)
    gives(AnyURI("http://example.org/d.xml"), "fn:base-uri", B)
    gives(AnyURI("http://example.org/d.xml"), "fn:document-uri", DOCUMENT)
    gives([], "fn:document-uri", A)
    gives(False, "fn:nilled", A)
    gives([], "fn:nilled", DOCUMENT)
    gives("one", "fn:string", A)
    gives(Untyped("one"), "fn:data", B)
    gives("k", "fn:data", A.children()[2])


def test_language_is_inherited_and_matched_by_prefix(gives: Any) -> None:
    gives(True, "fn:lang", "en", B)
    gives(True, "fn:lang", "EN-gb", B)
    gives(False, "fn:lang", "fr", B)
    gives(False, "fn:lang", "en", DOCUMENT)


def test_paths_and_places(call: Any, gives: Any) -> None:
    gives("/", "fn:path", DOCUMENT)
    gives("/Q{u}a[1]/Q{u}b[2]/Q{u}c[1]", "fn:path", B2.children()[0])
    gives("/Q{u}a[1]/@Q{v}at", "fn:path", A.attributes()[1])
    gives("/Q{u}a[1]/comment()[1]", "fn:path", A.children()[2])
    gives("/Q{u}a[1]/processing-instruction(pi)[1]", "fn:path", A.children()[3])
    gives("/Q{u}a[1]/Q{u}b[1]/text()[1]", "fn:path", B.children()[0])
    gives(True, "fn:has-children", A)
    gives(False, "fn:has-children", B2.children()[0])
    assert call("fn:root", B) == [DOCUMENT]
    assert call("fn:innermost", [A, B, B2, B2.children()[0]]) == [B, B2.children()[0]]
    assert call("fn:outermost", [B2.children()[0], B, B2]) == [B, B2]
    assert call("fn:generate-id", A) == call("fn:generate-id", A) != call("fn:generate-id", B)


def test_ids_come_from_the_document_type(call: Any, fails: Any) -> None:
    assert call("fn:id", ["y x"], A) == [B]
    assert call("fn:element-with-id", "x", A) == [B]
    assert [node.local for node in call("fn:idref", "x", A)] == ["ref"]


def test_ids_need_a_tree_whose_root_is_a_document(fails: Any) -> None:
    builder = TreeBuilder()
    builder.copy(A)
    fails("FODC0001", "fn:id", "x", builder.finish().root)


def test_qname_functions(gives: Any, fails: Any) -> None:
    name = QName("u", "l", "p")
    gives(name, "fn:QName", "u", "p:l")
    gives(QName("v", "x", "p"), "fn:resolve-QName", "p:x", A)
    gives(QName("u", "x"), "fn:resolve-QName", "x", A)
    gives(NCName("p"), "fn:prefix-from-QName", name)
    gives([], "fn:prefix-from-QName", QName("u", "l"))
    gives(NCName("l"), "fn:local-name-from-QName", name)
    gives(AnyURI("u"), "fn:namespace-uri-from-QName", name)
    gives(AnyURI("v"), "fn:namespace-uri-for-prefix", "p", A)
    gives([], "fn:namespace-uri-for-prefix", "q", A)
    fails("FOCA0002", "fn:QName", "", "p:l")
    fails("FOCA0002", "fn:QName", "u", "p:1")
    fails("FONS0004", "fn:resolve-QName", "q:x", A)


def test_in_scope_prefixes_include_xml(call: Any) -> None:
    assert sorted(call("fn:in-scope-prefixes", A)) == ["", "p", "xml"]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("", "http://a/b/c/d;p?q"),
        ("..", "http://a/b/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("g/../h", "http://a/b/c/h"),
    ],
)
def test_references_resolve_as_rfc_3986_says(reference: str, expected: str) -> None:
    assert resolve("http://a/b/c/d;p?q", reference) == expected


def test_uri_functions(gives: Any, fails: Any) -> None:
    gives(AnyURI("http://example.org/base/x"), "fn:resolve-uri", "x")
    gives(AnyURI("http://a/x"), "fn:resolve-uri", "x", "http://a/b")
    gives([], "fn:resolve-uri", None)
    fails("FORG0002", "fn:resolve-uri", "x", "not absolute")
    fails("FORG0002", "fn:resolve-uri", "%zz", "http://a/")
    gives("100%25%20organic", "fn:encode-for-uri", "100% organic")
    gives("~b%C3%A9b%C3%A9", "fn:encode-for-uri", "~bébé")
    gives("http://a/~b%C3%A9?x=%20", "fn:iri-to-uri", "http://a/~bé?x=%20")
    gives("%3C%3E%7B", "fn:iri-to-uri", "<>{")
    gives("javascript:if (x == '%C3%A9')", "fn:escape-html-uri", "javascript:if (x == 'é')")


def test_documents_come_through_the_context(call: Any, fails: Any, gives: Any, context: Any) -> None:
    fails("FODC0002", "fn:doc", "nowhere.xml")
    fails("FODC0005", "fn:doc", "%gg")
    gives(False, "fn:doc-available", "nowhere.xml")
    fails("FODC0002", "fn:collection")
    fails("FODC0002", "fn:uri-collection", "c")
    fails("FOUT1170", "fn:unparsed-text", "nowhere.txt")
    fails("FOUT1170", "fn:unparsed-text", "a#b")
    fails("FOUT1190", "fn:unparsed-text", "a", "no-such-encoding")
    gives(False, "fn:unparsed-text-available", "nowhere.txt")
    gives([], "fn:doc", None)
    from xstreamcast.functions.documents import doc, unparsed_text_lines

    there = context.focused("x", 1, 1)
    there.documents = lambda uri: DOCUMENT if uri == "http://example.org/base/d.xml" else None
    there.resources = lambda uri, encoding: "a\r\nb\n\nc\n"
    assert doc(there, "d.xml") == DOCUMENT
    assert unparsed_text_lines(there, "t") == ["a", "b", "", "c"]


def test_refused_functions_say_so(fails: Any) -> None:
    fails("FOXT0004", "fn:transform", Map())
    fails("FOQM0006", "fn:load-xquery-module", "u")
    fails("FOQM0001", "fn:load-xquery-module", "")


def test_xml_text_is_parsed(call: Any, fails: Any) -> None:
    assert call("fn:parse-xml", "<a>x</a>")[0].xml() == "<a>x</a>"
    assert call("fn:parse-xml", None) == []
    fails("FODC0006", "fn:parse-xml", "<a>")
    assert call("fn:parse-xml-fragment", "x<a/>y<b/>")[0].xml() == "x<a/>y<b/>"
    assert call("fn:parse-xml-fragment", "<?xml version='1.0' encoding='utf-8'?><a/>")[0].xml() == "<a/>"
    assert call("fn:parse-xml-fragment", "")[0].xml() == ""
    fails("FODC0006", "fn:parse-xml-fragment", "</fragment><fragment>")
    fails("FODC0006", "fn:parse-xml-fragment", "<?xml version='1.0' standalone='yes'?><a/>")


def test_serialize_takes_a_map_or_an_element(call: Any, fails: Any) -> None:
    assert call("fn:serialize", [1, "a"]) == ["1 a"]
    assert call("fn:serialize", Array([[1]]), Map([("method", ["json"])])) == ["[1]"]
    output = "http://www.w3.org/2010/xslt-xquery-serialization"
    element = parse(
        f"<o:serialization-parameters xmlns:o='{output}'><o:method value='text'/></o:serialization-parameters>"
    ).children()[0]
    assert call("fn:serialize", DOCUMENT, element) == ["one"]
    fails("XPTY0004", "fn:serialize", 1, 2)
    fails("XPTY0004", "fn:serialize", 1, Map([("indent", ["yes"])]))
    assert call("fn:serialize", parse("<br/>"), Map([("method", ["html"])])) == ["<br>"]
    fails("SEPM0016", "fn:serialize", 1, Map([("method", ["htm"])]))


def test_json_is_parsed_to_maps_and_arrays(call: Any, fails: Any) -> None:
    (value,) = call("fn:parse-json", '{"a": [1, true, null, "x\\u00e9"], "a": 2}')
    (array,) = value.get("a")
    assert array.members() == [[1.0], [True], [], ["xé"]]
    last = Map([("duplicates", ["use-last"])])
    assert call("fn:parse-json", '{"a":1,"a":2}', last)[0].get("a") == [2.0]
    assert call("fn:parse-json", '"\\u0000"') == ["\ufffd"]
    assert call("fn:parse-json", '"a\\\\\\u0000"', Map([("escape", [True])])) == ["a\\\\\\u0000"]
    shout = FunctionItem(None, 1, lambda args: [args[0][0].lower() + "!"])
    assert call("fn:parse-json", '"\\uDEAD"', Map([("fallback", [shout])])) == ["\\udead!"]
    assert call("fn:parse-json", "null") == []
    fails("FOJS0001", "fn:parse-json", "{a:1}")
    fails("FOJS0001", "fn:parse-json", "NaN")
    fails("FOJS0003", "fn:parse-json", '{"a":1,"a":2}', Map([("duplicates", ["reject"])]))
    fails("FOJS0005", "fn:parse-json", "1", Map([("duplicates", ["sometimes"])]))
    fails("XPTY0004", "fn:parse-json", "1", Map([("escape", ["yes"])]))


def test_json_and_xml_turn_into_each_other(call: Any, fails: Any) -> None:
    text = '{"a":[1,1.5e3,true,null,"x\\"\\/"],"b":{}}'
    (document,) = call("fn:json-to-xml", text)
    assert document.xml() == (
        '<map xmlns="http://www.w3.org/2005/xpath-functions"><array key="a"><number>1</number>'
        '<number>1.5e3</number><boolean>true</boolean><null/><string>x"/</string></array><map key="b"/></map>'
    )
    assert call("fn:xml-to-json", document) == ['{"a":[1,1500,true,null,"x\\"\\/"],"b":{}}']
    (escaped,) = call("fn:json-to-xml", '"a\\\\b"', Map([("escape", [True])]))
    assert escaped.children()[0].attribute("escaped") == "true"
    assert call("fn:xml-to-json", escaped) == ['"a\\\\b"']
    fails("FOJS0006", "fn:xml-to-json", A)
    fails("FOJS0004", "fn:json-to-xml", "1", Map([("validate", [True])]))


DATES: list[tuple[Any, ...]] = [
    (xs("dateTime", "1999-12-31T12:00:00Z"), "fn:dateTime", xs("date", "1999-12-31"), xs("time", "12:00:00Z")),
    (1999, "fn:year-from-dateTime", xs("dateTime", "1999-05-31T13:20:00-05:00")),
    (-2, "fn:year-from-date", xs("date", "-0002-01-01")),
    (5, "fn:month-from-date", xs("date", "1999-05-31")),
    (31, "fn:day-from-date", xs("date", "1999-05-31")),
    (5, "fn:month-from-dateTime", xs("dateTime", "1999-05-31T13:20:00")),
    (1, "fn:day-from-dateTime", xs("dateTime", "1999-12-31T24:00:00")),
    (0, "fn:hours-from-time", xs("time", "24:00:00")),
    (13, "fn:hours-from-dateTime", xs("dateTime", "1999-05-31T13:20:00")),
    (20, "fn:minutes-from-dateTime", xs("dateTime", "1999-05-31T13:20:00")),
    (20, "fn:minutes-from-time", xs("time", "13:20:00")),
    (xs("decimal", "10.5"), "fn:seconds-from-time", xs("time", "13:20:10.5")),
    (xs("decimal", "0"), "fn:seconds-from-dateTime", xs("dateTime", "1999-05-31T13:20:00")),
    (xs("dayTimeDuration", "-PT5H"), "fn:timezone-from-dateTime", xs("dateTime", "1999-05-31T13:20:00-05:00")),
    ([], "fn:timezone-from-date", xs("date", "1999-05-31")),
    (xs("dayTimeDuration", "PT0S"), "fn:timezone-from-time", xs("time", "13:20:00Z")),
    (-1, "fn:years-from-duration", xs("duration", "-P15M")),
    (-3, "fn:months-from-duration", xs("duration", "-P15M")),
    (3, "fn:days-from-duration", xs("dayTimeDuration", "P3DT10H")),
    (7, "fn:hours-from-duration", xs("dayTimeDuration", "PT55H")),
    (-5, "fn:minutes-from-duration", xs("duration", "-PT5M30S")),
    (xs("decimal", "-30.25"), "fn:seconds-from-duration", xs("duration", "-PT5M30.25S")),
    (
        xs("dateTime", "2002-03-07T10:00:00Z"),
        "fn:adjust-dateTime-to-timezone",
        xs("dateTime", "2002-03-07T05:00:00-05:00"),
    ),
    (
        xs("dateTime", "2002-03-07T10:00:00"),
        "fn:adjust-dateTime-to-timezone",
        xs("dateTime", "2002-03-07T10:00:00-07:00"),
        None,
    ),
    (
        xs("date", "2002-03-06-10:00"),
        "fn:adjust-date-to-timezone",
        xs("date", "2002-03-07-07:00"),
        xs("dayTimeDuration", "-PT10H"),
    ),
    (
        xs("time", "07:00:00-10:00"),
        "fn:adjust-time-to-timezone",
        xs("time", "10:00:00-07:00"),
        xs("dayTimeDuration", "-PT10H"),
    ),
    ("2002-12-31", "fn:format-date", xs("date", "2002-12-31"), "[Y0001]-[M01]-[D01]"),
    ("12-31-02", "fn:format-date", xs("date", "2002-12-31"), "[M]-[D]-[Y,2-2]"),
    ("31 XII 2002", "fn:format-date", xs("date", "2002-12-31"), "[D1] [MI] [Y]"),
    (
        "31st December, 2002",
        "fn:format-date",
        xs("date", "2002-12-31"),
        "[D1o] [MNn], [Y]",
        "en",
        None,
        None,
    ),
    ("Tue 365 w1", "fn:format-date", xs("date", "2002-12-31"), "[FNn,3-3] [d] w[W]"),
    ("[x]", "fn:format-date", xs("date", "2002-12-31"), "[[x]]"),
    ("3:58 pm", "fn:format-time", xs("time", "15:58:45.762"), "[h]:[m01] [Pn]"),
    ("15:58:45.76", "fn:format-time", xs("time", "15:58:45.762"), "[H01]:[m01]:[s01].[f01]"),
    ("15:58:45 GMT+02:00", "fn:format-time", xs("time", "15:58:45+02:00"), "[H01]:[m01]:[s01] [z]"),
    ("3.58pm on Tuesday", "fn:format-dateTime", xs("dateTime", "2002-12-31T15:58:45"), "[h].[m01][Pn] on [FNn]"),
    (xs("dateTime", "1994-06-06T07:29:35Z"), "fn:parse-ietf-date", "Wed, 06 Jun 1994 07:29:35 GMT"),
    (xs("dateTime", "1994-06-06T07:29:35-05:00"), "fn:parse-ietf-date", "6 Jun 94 07:29:35 EST"),
    (xs("dateTime", "2013-06-06T11:54:45+05:00"), "fn:parse-ietf-date", "Wed Jun 06 11:54:45 +0500 2013"),
    (xs("dateTime", "2014-08-20T14:36:01-05:00"), "fn:parse-ietf-date", "Wed, 20 Aug 2014 14:36:01-05:"),
    ("Wed", "fn:format-date", xs("date", "2003-01-01"), "[FNn,3-4]"),
    ("5", "fn:format-date", xs("date", "2006-01-30"), "[w]"),
]


@pytest.mark.parametrize(("expected", "name", "args"), [(e, n, a) for e, n, *a in DATES])
def test_date_function(gives: Any, expected: Any, name: str, args: list[Any]) -> None:
    gives(expected, name, *args)


DATE_ERRORS: list[tuple[Any, ...]] = [
    ("FORG0008", "fn:dateTime", xs("date", "1999-12-31Z"), xs("time", "12:00:00+01:00")),
    ("FODT0003", "fn:adjust-date-to-timezone", xs("date", "2002-03-07"), xs("dayTimeDuration", "PT15H")),
    ("FODT0003", "fn:adjust-date-to-timezone", xs("date", "2002-03-07"), xs("dayTimeDuration", "PT1S")),
    ("FOFD1340", "fn:format-date", xs("date", "2002-12-31"), "[yY]"),
    ("FOFD1340", "fn:format-date", xs("date", "2002-12-31"), "[Y"),
    ("FOFD1350", "fn:format-date", xs("date", "2002-12-31"), "[H]"),
    ("FOFD1350", "fn:format-time", xs("time", "12:00:00"), "[Y]"),
    ("FORG0010", "fn:parse-ietf-date", "yesterday"),
    ("FORG0010", "fn:parse-ietf-date", "31 Feb 2000 00:00"),
]


@pytest.mark.parametrize(("code", "name", "args"), [(c, n, a) for c, n, *a in DATE_ERRORS])
def test_date_error(fails: Any, code: str, name: str, args: list[Any]) -> None:
    fails(code, name, *args)


def test_the_clock_stands_still(gives: Any) -> None:
    gives(xs("dateTimeStamp", "2020-01-02T03:04:05Z"), "fn:current-dateTime")
    gives(xs("date", "2020-01-02Z"), "fn:current-date")
    gives(xs("time", "03:04:05Z"), "fn:current-time")
    gives(xs("dayTimeDuration", "PT0S"), "fn:implicit-timezone")


def test_the_evaluation_describes_itself(call: Any, gives: Any) -> None:
    gives("http://www.w3.org/2005/xpath-functions/collation/codepoint", "fn:default-collation")
    gives(AnyURI("http://example.org/base/query.xq"), "fn:static-base-uri")
    gives("/home/me", "fn:environment-variable", "HOME")
    gives([], "fn:environment-variable", "NONE")
    gives(["HOME"], "fn:available-environment-variables")
    assert call("fn:default-language") == ["en"]
    assert call("fn:position", focus="a") == call("fn:last", focus="a") == [1]


def test_error_raises_what_it_is_told(call: Any) -> None:
    with pytest.raises(XStreamError) as plain:
        call("fn:error")
    assert plain.value.code == "FOER0000"
    with pytest.raises(RaisedError) as own:
        call("fn:error", QName("urn:app", "oops", "app"), "it broke", [1, 2])
    assert (own.value.code, own.value.message, own.value.value) == ("Q{urn:app}oops", "it broke", [1, 2])
    with pytest.raises(XStreamError) as standard:
        call("fn:error", QName(ERR, "XPTY0004"))
    assert standard.value.code == "XPTY0004"


def test_trace_passes_its_value_on_and_logs_it(call: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "xstreamcast.trace"):
        assert call("fn:trace", [1, "a"], "label") == [1, "a"]
    assert 'label 1\n"a"' in caplog.text

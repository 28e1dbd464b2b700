"""Which topic file holds which function, so that a query loads only the files it calls.

A test holds this table against the decorators.
"""

from __future__ import annotations

from typing import Final

_NAMES: Final = {
    "string": """
        fn:codepoints-to-string fn:string-to-codepoints fn:compare fn:codepoint-equal fn:collation-key
        fn:contains-token fn:concat fn:string-join fn:substring fn:string-length fn:normalize-space
        fn:normalize-unicode fn:upper-case fn:lower-case fn:translate fn:contains fn:starts-with
        fn:ends-with fn:substring-before fn:substring-after
    """,
    "number": """
        fn:abs fn:ceiling fn:floor fn:round fn:round-half-to-even fn:number
    """,
    "boolean": """
        fn:true fn:false fn:boolean fn:not
    """,
    "sequence": """
        fn:empty fn:exists fn:head fn:tail fn:insert-before fn:remove fn:reverse fn:subsequence fn:unordered
        fn:distinct-values fn:index-of fn:deep-equal fn:zero-or-one fn:one-or-more fn:exactly-one
    """,
    "aggregate": """
        fn:count fn:sum fn:avg fn:max fn:min
    """,
    "datetime": """
        fn:dateTime fn:year-from-dateTime fn:year-from-date fn:month-from-dateTime fn:month-from-date
        fn:day-from-dateTime fn:day-from-date fn:hours-from-dateTime fn:hours-from-time
        fn:minutes-from-dateTime fn:minutes-from-time fn:seconds-from-dateTime fn:seconds-from-time
        fn:timezone-from-dateTime fn:timezone-from-date fn:timezone-from-time fn:adjust-dateTime-to-timezone
        fn:adjust-date-to-timezone fn:adjust-time-to-timezone
    """,
    "duration": """
        fn:years-from-duration fn:months-from-duration fn:days-from-duration fn:hours-from-duration
        fn:minutes-from-duration fn:seconds-from-duration
    """,
    "qname": """
        fn:resolve-QName fn:QName fn:prefix-from-QName fn:local-name-from-QName fn:namespace-uri-from-QName
        fn:namespace-uri-for-prefix fn:in-scope-prefixes
    """,
    "node": """
        fn:node-name fn:nilled fn:string fn:data fn:base-uri fn:document-uri fn:name fn:local-name
        fn:namespace-uri fn:lang fn:root fn:path fn:has-children fn:innermost fn:outermost fn:generate-id
        fn:id fn:element-with-id fn:idref
    """,
    "uri": """
        fn:resolve-uri fn:encode-for-uri fn:iri-to-uri fn:escape-html-uri
    """,
    "regex": """
        fn:matches fn:replace fn:tokenize fn:analyze-string
    """,
    "evaluation": """
        fn:error fn:trace fn:position fn:last fn:current-dateTime fn:current-date fn:current-time
        fn:implicit-timezone fn:default-collation fn:default-language fn:static-base-uri
        fn:environment-variable fn:available-environment-variables
    """,
    "higher_order": """
        fn:function-lookup fn:function-name fn:function-arity fn:for-each fn:filter fn:fold-left
        fn:fold-right fn:for-each-pair fn:sort fn:apply
    """,
    "map": """
        map:merge map:size map:keys map:contains map:get map:find map:put map:entry map:remove map:for-each
    """,
    "array": """
        array:size array:get array:put array:append array:subarray array:remove array:insert-before
        array:head array:tail array:reverse array:join array:for-each array:filter array:fold-left
        array:fold-right array:for-each-pair array:sort array:flatten
    """,
    "math": """
        math:pi math:pow math:atan2 math:exp math:exp10 math:log math:log10 math:sqrt math:sin math:cos
        math:tan math:asin math:acos math:atan
    """,
    "random": """
        fn:random-number-generator
    """,
    "json": """
        fn:parse-json fn:json-doc
    """,
    "json_xml": """
        fn:json-to-xml fn:xml-to-json
    """,
    "format_number": """
        fn:format-number
    """,
    "format_datetime": """
        fn:format-dateTime fn:format-date fn:format-time
    """,
    "format_integer": """
        fn:format-integer
    """,
    "parse_ietf": """
        fn:parse-ietf-date
    """,
    "parsing": """
        fn:parse-xml fn:parse-xml-fragment fn:serialize
    """,
    "documents": """
        fn:doc fn:doc-available fn:collection fn:uri-collection fn:unparsed-text fn:unparsed-text-lines
        fn:unparsed-text-available fn:load-xquery-module fn:transform
    """,
}

#: ``prefix:name`` → the module in this package.
TOPICS: Final[dict[str, str]] = {name: topic for topic, names in _NAMES.items() for name in names.split()}

"""The codes of XStreamCast's own errors and diagnostics: what each means, and what to do about it.

Errors that the W3C's specifications define keep the W3C's codes (``XPST0003``, ``FORG0001``). The documentation's page
of codes is made from this table.

>>> CODES["XSC0007"].meaning
'The document is deeper than is allowed.'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Code:
    """One code: where it belongs, what it means, what helps."""

    topic: str
    meaning: str
    remedy: str


def _topic(topic: str, codes: dict[str, tuple[str, str]]) -> dict[str, Code]:
    return {code: Code(topic, meaning, remedy) for code, (meaning, remedy) in codes.items()}


_DOCUMENTS: Final = _topic(
    "Documents and files",
    {
        "XSC0001": (
            "The input is not well-formed XML, or it uses what is refused: external entities, entities that expand "
            "without bound, an encoding that is not the declared one.",
            "Mend the document at the place that the error names. Name a DTD with `--dtd` if entities come from one.",
        ),
        "XSC0006": (
            "A file or folder cannot be read or written, or it is not there.",
            "Check the path, the rights and the room on the disk. A query comes first, then the file.",
        ),
        "XSC0007": (
            "The document is deeper than is allowed.",
            "If that is meant, raise the limit: `--max-depth`, `XCAST_MAX_DEPTH`, or `limit_depth()` in Python.",
        ),
        "XSC0008": (
            "A document cannot be had from the web.",
            "Check the URL. URLs are read only with `--allow-http`.",
        ),
        "XSC0009": (
            "An archive unpacks to far more than it should: it may be a bomb.",
            "If you trust it, unpack it first.",
        ),
        "XSC0010": (
            "A text is not a time.",
            "Write `2003-10-23T12:23:34`, `2003-10-23`, `start` or `now`.",
        ),
    },
)
_FRAGMENTS: Final = _topic(
    "Fragments and structures",
    {
        "XSC0003": (
            "The input is XML, but not a fragment or a change.",
            "Every change names its region by an id; `before` and `after` name a target. See the wire format.",
        ),
        "XSC0004": (
            "A tag structure is not one: an id twice, a name missing, a tag that is not there.",
            "Mend the structure, or infer one: `xcast structure`.",
        ),
        "XSC0005": (
            "A path through a structure is not one.",
            "Write `/site/regions//item`, `//person` or `item`.",
        ),
        "XSC0020": (
            "A fragment has a tsid, and no structure has come.",
            "Send the structure first, or give it: `--structure`.",
        ),
        "XSC0021": (
            "A structure takes back what an earlier one said.",
            "A structure may only add tags. Use another stream for other tags.",
        ),
        "XSC0022": (
            "A tsid is not in the structure.",
            "Use the ids that the structure declares.",
        ),
        "XSC0023": ("A frozen region was changed. The change has no effect.", "Do not freeze what changes."),
        "XSC0024": (
            "A tag that travels in fragments of its own came inline. It is taken.",
            "Correct the sender or the structure, so that each tag travels one way.",
        ),
        "XSC0025": (
            "A change is older than what is there. It has no effect.",
            "Nothing: changes may come in any order.",
        ),
        "XSC0026": (
            "An id came again with other content and no version. The newest is taken.",
            "Send a `replace`, or number the versions.",
        ),
        "XSC0027": (
            "Something was to be removed that is not there yet. It has no effect without a version.",
            "Give removals a version if they can overtake what they remove.",
        ),
        "XSC0028": (
            "An event was to be removed. Events have happened and stay.",
            "Use a temporal tag for what can end.",
        ),
        "XSC0029": (
            "A change names a region that is not there, or is gone for good. It has no effect.",
            "Check the ids of the sender.",
        ),
        "XSC0030": ("A hole is not filled. It counts as empty.", "Nothing, if the filler is still to come."),
        "XSC0031": ("A hole lies inside its own filler. It is empty.", "Correct the ids of the sender."),
        "XSC0032": (
            "A filler is held by no hole. It is not in the document.",
            "Nothing, if the hole is still to come.",
        ),
        "XSC0033": (
            "The stream has several documents, or not the one that was asked for.",
            "Say which: `--doc`.",
        ),
        "XSC0034": ("The stream stops with its root element open.", "It may be cut short: fetch it again."),
        "XSC0035": (
            "A region that is declared fixed was changed. The change has no effect.",
            "Do not declare `--fixed` what changes.",
        ),
        "XSC0036": (
            "A change concerns something that was let go of, because nothing could have changed it.",
            "Do not declare `--fixed`, or keep to one structure and one document.",
        ),
        "XSC0037": (
            "An element stands where the structure declares none. A continuous query may miss it.",
            "Add the tag to the structure.",
        ),
        "XSC0040": (
            "A document does not fit the structure by which it is to be cut.",
            "Infer the structure from this document, or correct the types of its tags.",
        ),
        "XSC0041": (
            "No structure can be inferred: there is no document, or the documents have different roots.",
            "Give documents of one kind, or one DTD.",
        ),
        "XSC0042": (
            "`--fragment` names a tag or a type that is not there.",
            "Write `TAG:TYPE`, with a type of snapshot, filler, temporal, event.",
        ),
        "XSC0043": ("A repeat probability is not one.", "Give a number from 0 to 1."),
    },
)
_GENERATORS: Final = _topic(
    "Generators",
    {
        "XSC0050": ("There is no such generator.", "`xcast generate --list` shows all."),
        "XSC0051": ("An option of a generator is out of range, or has no meaning for it.", "See the hint."),
    },
)
_SPARK: Final = _topic(
    "Spark",
    {
        "XSC0060": ("There is no Java.", "Install Java 17 or newer, or set `JAVA_HOME`."),
        "XSC0061": ("PySpark is not installed.", "`pip install 'xstreamcast[spark]'`"),
        "XSC0062": (
            "A checkpoint is of another format, or is not whole.",
            "Start with a new checkpoint location.",
        ),
        "XSC0063": (
            "A file has changed since it was listed or planned.",
            "Do not write into files that are being read: add new ones.",
        ),
        "XSC0064": (
            "A file of a stream sorts before one that was begun, or grew after a later one was begun.",
            "Files are read in the order of their names: let the names grow.",
        ),
        "XSC0065": ("An option is unknown, or has no such value.", "See the hint, and the page about Spark."),
        "XSC0066": ("A process of the demo stopped.", "See its message, and try again."),
        "XSC0067": ("A process of the local cluster did not start.", "Is the machine very busy? Try again."),
        "XSC0068": (
            "A DataFrame cannot be a stream of a query.",
            "It streams, has a column `content`, and `seq` or `version` for the order.",
        ),
        "XSC0069": (
            "The query cannot be spread over buckets.",
            "Leave out `bucket_records`; `plan()` tells the reason.",
        ),
        "XSC0082": (
            "A value that is a function cannot be sent to another process.",
            "Compute with it where it is, and send the outcome.",
        ),
        "XSC0083": ("The saved state is that of another query.", "Use another checkpoint location for another query."),
        "XSC0084": ("A topic of Kafka cannot be written.", "Is the broker running? Has the topic that partition?"),
        "XSC0085": (
            "What a topic has is not what comes before the changes of this checkpoint.",
            "Write to an empty topic, or to another partition.",
        ),
        "XSC0086": (
            "Nobody has taken a micro-batch: the client of Spark Connect that started the query is gone.",
            "Start the query again from its checkpoint.",
        ),
        "XSC0087": (
            "A folder has the changes of another checkpoint.",
            "Write to an empty folder, or go on from the checkpoint that wrote it.",
        ),
        "XSC0088": ("This Spark is too old.", "Use Spark 4.1 or newer."),
    },
)
_TRANSLATION: Final = _topic(
    "Translation to XQuery",
    {
        "XSC0070": ("A construct has no translation.", "See the message; `xcast query` runs it."),
        "XSC0071": ("Update streams are not translated.", "Ask them with `xcast query` or `xcast watch`."),
        "XSC0072": (
            "QaC+ meets a stream that does not keep to its structure.",
            "Translate by CaQ or QaC.",
        ),
        "XSC0073": ("The program cannot be translated as it was asked for.", "See the hint."),
    },
)
_QUERIES: Final = _topic(
    "Queries",
    {
        "XSC0080": (
            "A pipe would have to be read twice.",
            "Save it to a file, or let `--spool` keep a copy. `xcast explain` says why.",
        ),
        "XSC0081": (
            "Partial results of a group do not combine, or are asked for by a wrong key.",
            "See the hint; cast the key to the type of the values.",
        ),
        "XSC0090": (
            "A change came too late: its time lies before the watermark. It was put aside.",
            "Allow more: `--lateness`.",
        ),
        "XSC0091": ("A continuous query was asked for in a way that cannot be.", "See the hint."),
        "XSC0092": (
            "The answer as items is gone: what was told and can never change is not kept.",
            "Ask for `text()`, or do not declare `fixed`.",
        ),
        "XSC0130": (
            "A regular expression would take time out of all proportion, and is given up.",
            "Leave out references back (`\\1`), and repetitions of hundred thousands.",
        ),
    },
)
_CONSOLE: Final = _topic(
    "Console",
    {
        "XSC0140": (
            "The process of a query on the console is over: it needed too much memory or time.",
            "Allow it more: `--console-memory`; or ask for less.",
        ),
        "XSC0141": (
            "It is not possible on the console: too many queries, a log that is too large, streams without names.",
            "Remove a query, or use `xcast watch`.",
        ),
        "XSC0142": ("There is no such query on the console.", "Look at the page again: it may have been removed."),
    },
)
_BROADCAST: Final = _topic(
    "Broadcast",
    {
        "XSC0100": (
            "A log is damaged, of another format, in use, or cannot be written.",
            "See the place. One folder is the log of one server; is the disk full?",
        ),
        "XSC0101": ("There is no connection. It is tried again.", "Is the server there?"),
        "XSC0102": ("The server refuses a request, or cannot listen.", "See the message: a token, a size, a port."),
        "XSC0103": ("A text is not an address.", "Write `xcast://host:port/name`."),
        "XSC0104": ("What came is not a message.", "Publish with POST; clients send nothing else."),
        "XSC0105": (
            "A client asks for a place that is not in this log.",
            "The stream was begun anew: begin anew, too.",
        ),
        "XSC0106": (
            "A text cannot be a stream's name, or there are too many streams.",
            "A letter, then letters, digits, `-` and `_`.",
        ),
        "XSC0107": ("The stream has ended. Nothing comes after its end.", "Publish under another name."),
        "XSC0108": (
            "Something is to stand beside a region that has versions in time.",
            "Put it beside a region without versions.",
        ),
        "XSC0109": ("A server needs aiohttp.", "`pip install 'xstreamcast[serve]'`"),
        "XSC0110": (
            "The server keeps less of its log than was asked for. The states in between are not told.",
            "Nothing: the answer is right from here on. `--keep-log` keeps more.",
        ),
    },
)
_FEEDS: Final = _topic(
    "Feeds",
    {
        "XSC0120": (
            "The description of a feed cannot be: its path is none, or a key is missing.",
            "Say what a record is, `/list/record`, and what its `--key` is.",
        ),
        "XSC0121": ("The state is that of another feed.", "Use another `--state`."),
        "XSC0122": ("A record or a removal has no key. It was put aside.", "Check `--key`."),
        "XSC0123": (
            "A document has no record where the feed looks.",
            "Check the path, and the namespace of the document.",
        ),
    },
)
_TABLES: Final = _topic(
    "Tables",
    {
        "XSC0150": (
            "A package that comes with an extra is not installed.",
            "`pip install 'xstreamcast[tables]'`, or the extra that the hint names.",
        ),
        "XSC0151": ("There is no such form for nested elements.", "One of struct, columns, xml, text."),
        "XSC0152": (
            "A value does not have the type of its column.",
            "Declare the type: `--columns 'price as xs:string'`.",
        ),
        "XSC0153": ("A row has a column that no row before it had.", "Declare the columns: `--columns`."),
        "XSC0154": ("A list of columns cannot be read.", "Write `'@id, price as xs:decimal, n=count(b)'`."),
        "XSC0155": (
            "The database refuses a change. Nothing of it is written.",
            "See the message: two rows with one key?",
        ),
        "XSC0156": ("A table cannot be opened: the URL, a column or an option is wrong.", "See the hint."),
        "XSC0157": (
            "The table is not the answer of this query.",
            "Use another table, or remove the old one.",
        ),
    },
)

CODES: Final[dict[str, Code]] = {
    code: described
    for topic in (
        *(_DOCUMENTS, _FRAGMENTS, _QUERIES, _FEEDS, _TABLES),
        *(_BROADCAST, _CONSOLE, _SPARK, _TRANSLATION, _GENERATORS),
    )
    for code, described in topic.items()
}
"""By code, topic after topic."""

"""What MkDocs is told by ``mkdocs.yml``: pages that are made from the code, and links that lead out of ``docs/``.

* ``reference/commands.md``  what ``xcast COMMAND --help`` says
* ``reference/functions.md`` the functions of queries, with their types
* ``reference/api.md``       the public names of the package, with their docstrings
* ``reference/codes.md``     the table of codes
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import xstreamcast
import xstreamcast.spark
from xstreamcast.cli import COMMANDS, SUMMARY, find_command
from xstreamcast.cli.help import described, option_names, paragraphs
from xstreamcast.cli.options import parameters, usage
from xstreamcast.error_codes import CODES
from xstreamcast.errors import error_class
from xstreamcast.functions.registry import arities, lookup, names
from xstreamcast.model.namespaces import ARRAY, FN, MAP, MATH

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

SPECIFICATION: Final = "https://www.w3.org/TR/xpath-functions-31/#func-"
PREFIXES: Final = {"fn": FN, "map": MAP, "array": ARRAY, "math": MATH}
OWN_FUNCTIONS: Final = {
    'stream("name")': "the document that the stream describes, with its whole history",
    "vtFrom(e)": "when the life of an element began",
    "vtTo(e)": "when it ended, or ends",
    "now()": "the current time; inside `?[ ]` simply `now`",
}
CLASSES: Final = ("Result", "Query", "ContinuousQuery", "Feed", "Structure", "Node", "XStreamError")
"""Public classes whose members are listed."""
SPARK_HOMES: Final = {
    "query": "xstreamcast.spark.rest.at_rest",
    "continuous": "xstreamcast.spark.motion.continuous_query",
    "continuous_many": "xstreamcast.spark.motion.continuous_query",
    "feed": "xstreamcast.spark.motion.feed",
    "from_kafka": "xstreamcast.spark.motion.kafka",
}
"""Where the functions are that Spark's face hands calls on to."""


# ------------------------------------------------------------------------------------------------------ pages


def commands_page() -> str:
    """All commands."""
    return "\n".join(
        [
            "# Commands",
            "",
            SUMMARY,
            "",
            "Exit codes: 0 done, 1 an error in the input, 2 a wrong call, 130 interrupted, 143 ended by kill.",
            "",
            *(line for name in COMMANDS for line in _command(name, find_command(name))),
        ]
    )


def _command(name: str, command: Callable[..., None]) -> Iterator[str]:
    yield from (f"## xcast {name}", "")
    yield from ("```text", usage(name, command), "```", "")
    examples: list[str] = []
    for paragraph in paragraphs(command):
        if paragraph.startswith(" "):
            examples.append(paragraph.strip())
        elif paragraph != "Examples:":
            yield from (_escaped(paragraph), "")
    if examples:
        yield from ("```sh", *examples, "```", "")
    known = parameters(command)
    rows = [(one.place, "", described(one)) for one in known if not one.names]
    rows += [(option_names(one), "" if one.flag else one.metavar, described(one)) for one in known if one.names]
    yield from ("| | | |", "|---|---|---|")
    for names_, value, text in rows:
        yield f"| `{_cell(names_)}` | {f'`{_cell(value)}`' if value else ''} | {_escaped(_cell(text))} |"
    yield ""


def functions_page() -> str:
    """The functions of queries."""
    lines = [
        "# Functions",
        "",
        "The functions of XPath and XQuery 3.1, and XCQL's own. A type without a sign is one value, `?` one or none, "
        "`*` any number, `+` one or more.",
        "",
        "## XCQL",
        "",
        "| | |",
        "|---|---|",
        *(f"| `{call}` | {text} |" for call, text in OWN_FUNCTIONS.items()),
        "",
    ]
    for prefix, uri in PREFIXES.items():
        lines += [f"## {prefix}:", "", "| | |", "|---|---|"]
        for local in sorted(names(uri)):
            link = f"{SPECIFICATION}{'' if prefix == 'fn' else prefix + '-'}{local}"
            told = "<br>".join(f"`{_cell(signature)}`" for signature in _signatures(prefix, uri, local))
            lines.append(f"| [{'' if prefix == 'fn' else prefix + ':'}{local}]({link}) | {told} |")
        lines.append("")
    return "\n".join(lines)


def _signatures(prefix: str, uri: str, local: str) -> Iterator[str]:
    for arity in arities(uri, local) or [2]:
        found = lookup(uri, local, arity)
        assert found is not None
        more = "" if arities(uri, local) else ", …"
        called = local if prefix == "fn" else f"{prefix}:{local}"
        yield f"{called}({', '.join(map(str, found.params))}{more}) as {found.result}"


def api_page() -> str:
    """The public names of the package."""
    lines = [
        "# Python API",
        "",
        "All names are in `xstreamcast`, those of Spark in `xstreamcast.spark`, of servers in `xstreamcast.serve`. "
        "[Python and notebooks](../python.md) shows them at work.",
        "",
    ]
    functions = [name for name in xstreamcast.__all__ if inspect.isfunction(getattr(xstreamcast, name))]
    others = [name for name in xstreamcast.__all__ if name not in functions and name not in CLASSES]
    lines += ["## Functions", ""]
    for name in functions:
        lines += _documented(f"xstreamcast.{name}", getattr(xstreamcast, name))
    for name in CLASSES:
        lines += [f"## {name}", "", _prose(inspect.getdoc(getattr(xstreamcast, name)) or ""), ""]
        for member, value in _members(getattr(xstreamcast, name)):
            lines += _documented(f"{name}.{member}", value)
    lines += ["## Changes and others", "", "| | |", "|---|---|"]
    lines += [
        f"| `{name}` | {_cell(_prose(inspect.getdoc(getattr(xstreamcast, name)) or '').split(chr(10) * 2)[0])} |"
        for name in others
    ]
    lines += ["", "## Spark", ""]
    for name in xstreamcast.spark.__all__:
        home = import_module(SPARK_HOMES.get(name, "xstreamcast.spark"))
        lines += _documented(f"xstreamcast.spark.{name}", getattr(home, name))
    lines += ["## Broadcast", ""]
    for name in xstreamcast.serve.__all__:
        lines += _documented(f"xstreamcast.serve.{name}", getattr(xstreamcast.serve, name))
    return "\n".join(lines)


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that say what they do, those of its bases in the package too."""
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        function = value.fget if isinstance(value, property) else value
        if (
            not name.startswith("_")
            and getattr(function, "__module__", "").startswith("xstreamcast")
            and function.__doc__
        ):
            yield name, value


def _documented(name: str, value: Any) -> list[str]:
    if isinstance(value, property):
        return [f"### {name}", "", _prose(inspect.getdoc(value) or ""), ""]
    signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value)))
    call = f"{name.rpartition('.')[2]}{signature.replace('(self, ', '(').replace('(self)', '()')}"
    if len(call) > 100:
        call = re.sub(r", (?=\*|\w+:)", ",\n    ", call.replace("(", "(\n    ", 1))
    return [f"### {name}", "", "```python", call, "```", "", _prose(inspect.getdoc(value) or ""), ""]


def codes_page() -> str:
    """The codes of errors."""
    lines = [
        "# Error codes",
        "",
        "An error has a code, a place and a hint. Codes that begin with XSC are XStreamCast's own. All others are "
        "those of the [W3C](https://www.w3.org/TR/xpath-functions-31/#error-summary). In Python a code is an "
        "exception, which is also one of Python's.",
        "",
    ]
    topic = ""
    for code, told in CODES.items():
        if told.topic != topic:
            topic = told.topic
            lines += ["", f"## {topic}", "", "| code | what it means | what to do | in Python |", "|---|---|---|---|"]
        kind = error_class(code)
        own = next(base.__name__ for base in kind.__mro__ if base.__module__ == "builtins")
        python = f"`{kind.__name__}`, `{own}`"
        lines.append(f'| <span id="{code}">{code}</span> | {told.meaning} | {_cell(told.remedy)} | {python} |')
    return "\n".join([*lines, ""])


PAGES: Final[dict[str, Callable[[], str]]] = {
    "reference/commands.md": commands_page,
    "reference/functions.md": functions_page,
    "reference/api.md": api_page,
    "reference/codes.md": codes_page,
}


# ------------------------------------------------------------------------------------------------------- text


def _cell(text: str) -> str:
    """Text in a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def _escaped(text: str) -> str:
    """Plain text in Markdown."""
    return re.sub(r"([*_<\[\]])", r"\\\1", text)


def _prose(docstring: str) -> str:
    """A docstring as Markdown: sessions in a box of their own, names as code."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", docstring).replace("``", "`")
    made: list[str] = []
    boxed = False
    for line in text.splitlines():
        session = line.startswith((">>>", "...")) or (boxed and bool(line.strip()))
        if session != boxed:
            made += ["```python"] if session else ["```", ""]
            boxed = session
        made.append(re.sub(r"\s+# doctest:.*", "", line))
    return "\n".join(made + ["```"] * boxed)


# ------------------------------------------------------------------------------------------------------ MkDocs


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """MkDocs has found its files: those of the reference are made."""
    from mkdocs.structure.files import File

    for path, made in PAGES.items():
        files.append(File.generated(config, path, content=made()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to files of the repository lead to where that is published; queries have the colours of our own lexer."""
    markdown = re.sub(r"^```xquery$", "```xcql", markdown, flags=re.MULTILINE)
    above = "../" * (page.file.src_uri.count("/") + 1)
    tree = f"{config.repo_url}/blob/main/"
    return re.sub(rf"\]\({re.escape(above)}(?!\.\./)([^)\s]+)\)", lambda link: f"]({tree}{link[1]})", markdown)

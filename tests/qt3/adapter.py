"""The engine's side of a W3C QT3 run: one JSON request per line in, one JSON reply per line out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from xstreamcast.errors import XStreamError, error
from xstreamcast.lang.context import StaticContext
from xstreamcast.model.atomic import Item, QName
from xstreamcast.model.function import Array, FunctionItem, Map
from xstreamcast.model.lexical import to_string
from xstreamcast.model.serialise import serialise
from xstreamcast.model.tree import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, NAMESPACE, PI, TEXT, Node
from xstreamcast.model.types import type_of
from xstreamcast.run.library import Library
from xstreamcast.run.query import Query, compile
from xstreamcast.scan.parse import parse_file

_documents: dict[tuple[str, str], Node] = {}


def load(file: str, uri: str | None = None) -> Node:
    """A document of the suite, parsed once per file and URI."""
    key = (file, uri or "")
    if key not in _documents:
        _documents[key] = parse_file(file, uri)
    return _documents[key]


_DEEPEST = 200  # levels of maps and arrays that the runner's own JSON reader can take


def wire(item: Item, level: int = 0) -> dict[str, Any]:
    """An item in the runner's form."""
    if level > _DEEPEST:
        raise ValueError("the result is nested too deeply for the wire")
    if isinstance(item, Node):
        return wire_node(item)
    level += 1
    if isinstance(item, Map):
        entries = [[wire(key), [wire(v, level) for v in value]] for key, value in item.items()]
        return {"k": "map", "e": entries}
    if isinstance(item, Array):
        return {"k": "array", "m": [[wire(v, level) for v in member] for member in item.members()]}
    if isinstance(item, FunctionItem):
        return {"k": "function", "name": item.name.expanded if item.name else None, "arity": item.arity}
    made = {"k": "atomic", "t": f"xs:{type_of(item).name}", "v": to_string(item)}
    if isinstance(item, QName):
        made["uri"] = item.uri
    return made


def wire_node(node: Node) -> dict[str, Any]:
    kind = node.kind
    if kind in (ELEMENT, DOCUMENT):
        return {"k": "element" if kind == ELEMENT else "document", "xml": node.xml()}
    if kind in (TEXT, COMMENT):
        return {"k": "text" if kind == TEXT else "comment", "v": node.string}
    words = {ATTRIBUTE: "attribute", PI: "pi", NAMESPACE: "namespace"}
    return {"k": words[kind], "name": node.lexical, "uri": node.uri, "v": node.string}


class Environment:
    """What a test case provides."""

    def __init__(self, env: dict[str, Any]) -> None:
        self.env = env
        self.base = env.get("base_uri")

    def absolute(self, uri: str) -> str:
        return urljoin(self.base or "", uri)

    def modules(self, uri: str, locations: tuple[str, ...], base: str | None) -> Sequence[tuple[str, str]]:
        found = []
        for module in self.env.get("modules") or []:
            if module["uri"] == uri:
                file = Path(module["file"])
                found.append((file.as_uri(), file.read_text(encoding="utf-8")))
        return found

    def documents(self) -> dict[str, Node | Path]:
        found: dict[str, Node | Path] = {}
        for name, file in (self.env.get("docs") or {}).items():
            uri = self.absolute(name)
            try:
                found[name] = found[uri] = load(file, uri)
            except XStreamError:  # what is wrong with it is for doc() to say
                found[name] = found[uri] = Path(file)
        return found

    def collections(self) -> dict[str, list[Path]]:
        return {name: [Path(file) for file in files] for name, files in (self.env.get("collections") or {}).items()}

    def text(self, uri: str, encoding: str | None) -> str:
        for name, resource in (self.env.get("resources") or {}).items():
            if name == uri or self.absolute(name) == uri:
                data = Path(resource["file"]).read_bytes()
                chosen = encoding or resource.get("encoding") or sniff(data)
                try:
                    return data.decode(chosen)
                except (UnicodeDecodeError, LookupError):
                    code = "FOUT1190" if encoding or resource.get("encoding") else "FOUT1200"
                    raise error(code, f"{uri} is not {chosen}") from None
        return Library(self.base, {}).text(uri, encoding)

    def variables(self) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for variable in self.env.get("vars") or []:
            if variable.get("file"):
                value: Any = [load(variable["file"], self.absolute(variable["uri"]) if variable.get("uri") else None)]
            elif variable.get("select") is not None:
                value = self.evaluate(variable["select"], variable.get("ns") or {})
            else:
                continue
            name = variable["name"]
            prefix, colon, local = name.rpartition(":")
            if colon:
                uri = (self.env.get("namespaces") or {}).get(prefix) or (variable.get("ns") or {}).get(prefix)
                name = f"{{{uri}}}{local}" if uri else name
            given[name] = value
        return given

    def evaluate(self, expression: str, namespaces: dict[str, str]) -> list[Item]:
        static = StaticContext(base_uri=self.base)
        known = {**static.namespaces, **{prefix: uri for prefix, uri in namespaces.items() if prefix}}
        static = StaticContext(namespaces=known, base_uri=self.base)
        return compile(expression, static=static)(docs=self.documents(), resources=self.text).items()

    def context(self) -> Item | None:
        given = self.env.get("context") or {}
        if given.get("file"):
            return load(given["file"], self.absolute(given["uri"]) if given.get("uri") else None)
        if given.get("select"):
            return self.evaluate(given["select"], {})[0]
        return None


def sniff(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    return "utf-8-sig"


def serialised(compiled: Query, items: list[Item]) -> dict[str, Any]:
    try:
        return {"serialized": serialise(items, compiled.parameters())}
    except XStreamError as failure:
        return {"serialization_error": failure.code}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The reply to one request."""
    env = Environment(request.get("env") or {})
    try:
        static = StaticContext(base_uri=env.base)
        compiled = compile(request["query"], static=static, modules=env.modules)
        result = compiled(
            item=env.context(),
            variables=env.variables(),
            docs=env.documents(),
            collections=env.collections(),
            resources=env.text,
            environment=dict(os.environ),
        )
        items = result.items()
        reply: dict[str, Any] = {"items": [wire(item) for item in items]}
        if request.get("serialize", True):
            reply.update(serialised(compiled, items))
        return reply
    except XStreamError as failure:
        return {"error": failure.code.rpartition("}")[2], "message": str(failure)}


def main() -> None:
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as failure:  # a crash is a wrong answer, not the end of the run
            reply = {"error": "CRASH", "message": f"{type(failure).__name__}: {failure}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()

"""What names mean at a place in the query: prefixes, variables, functions and types in scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from xstreamcast.errors import XStreamError
from xstreamcast.lang.ast import Name, Source, Span
from xstreamcast.lang.context import BUILTIN, XCQL_FUNCTIONS, StaticContext
from xstreamcast.model.namespaces import STREAM, XML, XMLNS, XS

Expanded: TypeAlias = tuple[str, str]
KnownFunctions: TypeAlias = Callable[[str, str, int], bool]
FunctionNames: TypeAlias = Callable[[str], Iterable[str]]

ATOMIC = frozenset(
    {
        *("anyAtomicType", "untypedAtomic", "dateTime", "dateTimeStamp", "date", "time", "duration", "error"),
        *("yearMonthDuration", "dayTimeDuration", "float", "double", "decimal", "integer", "numeric"),
        *("nonPositiveInteger", "negativeInteger", "long", "int", "short", "byte", "nonNegativeInteger"),
        *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte", "positiveInteger", "gYearMonth"),
        *("gYear", "gMonthDay", "gDay", "gMonth", "string", "normalizedString", "token", "language"),
        *("NMTOKEN", "Name", "NCName", "ID", "IDREF", "ENTITY", "boolean", "base64Binary", "hexBinary"),
        *("anyURI", "QName", "NOTATION"),
    }
)
LISTS = frozenset({"NMTOKENS", "IDREFS", "ENTITIES"})
SIMPLE = ATOMIC | LISTS | {"anySimpleType"}
TYPES = SIMPLE | {"anyType", "untyped"}


def did_you_mean(wrong: str, candidates: Iterable[str], before: str = "") -> str:
    """A hint naming what was probably meant, or ""."""
    from difflib import get_close_matches

    near = get_close_matches(wrong, sorted(set(candidates)), 1, 0.6)
    return f"did you mean {before}{near[0]}?" if near else ""


class Scope:
    """The names known at a place. Local variables are a stack: leaving a construct cuts it back."""

    __slots__ = (
        *("default_element", "default_function", "function_names", "functions", "globals", "known_functions"),
        *("locals", "namespaces", "source", "static"),
    )

    def __init__(
        self,
        source: Source,
        static: StaticContext,
        known_functions: KnownFunctions | None = None,
        function_names: FunctionNames | None = None,
    ) -> None:
        self.source = source
        self.static = static
        self.namespaces: Mapping[str, str] = static.namespaces
        self.default_element = static.default_element_namespace
        self.default_function = static.default_function_namespace
        self.functions: dict[tuple[str, str, int], Span] = {}
        self.globals: set[Expanded] = set(static.variables)
        self.locals: list[Expanded] = []
        self.known_functions = known_functions
        self.function_names = function_names

    def fault(self, code: str, message: str, span: Span, hint: str = "") -> XStreamError:
        """The error to raise about a place in this module."""
        return self.source.fault(code, message, span, hint)

    # ----------------------------------------------------------------------------------------- names

    def uri_of(self, prefix: str, span: Span) -> str:
        """The namespace of a prefix, or XPST0081."""
        uri = self.namespaces.get(prefix)
        if not uri:
            hint = did_you_mean(prefix, self.namespaces, "the prefix ") or f'declare namespace {prefix} = "…";'
            raise self.fault("XPST0081", f"the prefix '{prefix}' is not declared", span, hint)
        return uri

    def expand(self, name: Name, default: str = "") -> Name:
        """The name with its namespace; ``default`` is that of names without a prefix."""
        if name.prefix:
            return Name(name.prefix, name.local, self.uri_of(name.prefix, name.span), span=name.span)
        if name.prefix is None:
            return name
        return Name("", name.local, default, span=name.span)

    # ------------------------------------------------------------------------------------- variables

    def bind(self, name: Name) -> Name:
        """Puts a local variable in scope."""
        found = self.expand(name)
        self.locals.append(found.expanded)
        return found

    def reference(self, name: Name) -> Name:
        """A variable that must be in scope, or XPST0008."""
        found = self.expand(name)
        if found.expanded not in self.locals and found.expanded not in self.globals:
            known = [local for _, local in (*self.locals, *sorted(self.globals))]
            hint = did_you_mean(name.local, known, "$")
            if not hint and not known:
                hint = "declare it, or give it a value: variables= or --var"
            elif not hint and len(known) < 8:
                hint = f"in scope: {', '.join(f'${local}' for local in dict.fromkeys(known))}"
            raise self.fault("XPST0008", f"the variable ${name.lexical} is not declared", name.span, hint)
        return found

    # ------------------------------------------------------------------------------------- functions

    def function(self, name: Name, arity: int) -> Name:
        """A function that must be known with that arity, or XPST0017."""
        found = self.expand(name, self.default_function)
        uri, local = found.expanded
        if (uri, local, arity) in self.functions:
            return found
        if (name.prefix == "" or uri == STREAM) and (local, arity) in XCQL_FUNCTIONS:
            return Name(name.prefix, local, STREAM, span=name.span)
        if self.known_functions is None:
            if uri in BUILTIN:
                return found
        elif self.known_functions(uri, local, arity):
            return found
        raise self.unknown_function(found, arity)

    def unknown_function(self, name: Name, arity: int) -> XStreamError:
        """XPST0017 with the best hint: another arity, or a similar name."""
        uri, local = name.expanded
        known = self.known_functions
        arities = {n for u, found, n in self.functions if (u, found) == (uri, local)}
        if known is not None:
            arities.update(n for n in range(12) if known(uri, local, n))
        xcql = XCQL_FUNCTIONS if name.prefix == "" or uri == STREAM else frozenset()
        arities.update(n for found, n in xcql if found == local)
        counted = f"{arity} argument{'' if arity == 1 else 's'}"
        message = f"there is no function {name.lexical} with {counted}"
        if arities:
            hint = f"{name.lexical} takes {' or '.join(map(str, sorted(arities)))}"
        else:
            names = [found for u, found, _ in self.functions if u == uri]
            names += self.function_names(uri) if self.function_names else ()
            names += [found for found, _ in sorted(xcql)]
            hint = did_you_mean(local, names, f"{name.prefix}:" if name.prefix else "")
        return self.fault("XPST0017", message, name.span, hint)

    # ----------------------------------------------------------------------------------------- types

    def atomic_type(self, name: Name) -> Name:
        """The name of an atomic type in a sequence type, or XPST0051."""
        found = self.expand(name, self.default_element)
        if found.uri != XS or found.local not in ATOMIC:
            raise self.unknown_type(found, "XPST0051", ATOMIC)
        return found

    def node_type(self, name: Name) -> Name:
        """The type in ``element(n, T)`` or ``attribute(n, T)``, or XPST0008."""
        found = self.expand(name, self.default_element)
        if found.uri != XS or found.local not in TYPES:
            raise self.unknown_type(found, "XPST0008", TYPES)
        return found

    def cast_type(self, name: Name) -> Name:
        """The target of a cast: XQST0052 if unknown, XPST0080 if nothing can be cast to it."""
        found = self.expand(name, self.default_element)
        if found.uri != XS or found.local not in SIMPLE:
            raise self.unknown_type(found, "XQST0052", SIMPLE)
        if found.local in ("NOTATION", "anyAtomicType", "anySimpleType"):
            message = f"nothing can be cast to {name.lexical}"
            raise self.fault("XPST0080", message, name.span, "cast to a more specific type")
        return found

    def unknown_type(self, name: Name, code: str, types: frozenset[str]) -> XStreamError:
        """The error for a type nobody defined."""
        hint = did_you_mean(name.local, types, "xs:")
        if not hint and name.local in TYPES:
            hint = f"xs:{name.local} cannot be used here"
        return self.fault(code, f"the type {name.lexical} is not known here", name.span, hint)

    # ---------------------------------------------------------------------------------- declarations

    def check_prefix(self, prefix: str, uri: str, span: Span) -> None:
        """XQST0070: xml and xmlns, and their namespaces, are fixed."""
        if prefix in ("xml", "xmlns") or uri in (XML, XMLNS):
            raise self.fault("XQST0070", "xml and xmlns, and their namespaces, cannot be declared", span)

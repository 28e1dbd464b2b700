"""What a prolog's settings declare: namespaces, options, decimal formats, applied to a static context."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from xstreamcast.lang.ast import (
    DecimalFormatDecl,
    Declaration,
    DefaultNamespaceDecl,
    Module,
    ModuleImport,
    Name,
    NamespaceDecl,
    OptionDecl,
    SetterDecl,
    Span,
)
from xstreamcast.lang.context import DecimalFormat, StaticContext
from xstreamcast.lang.scope import Scope, did_you_mean
from xstreamcast.model.namespaces import OUTPUT, XQUERY

SERIALIZATION = frozenset(
    {
        *("allow-duplicate-names", "byte-order-mark", "cdata-section-elements", "doctype-public"),
        *("doctype-system", "encoding", "escape-uri-attributes", "html-version", "include-content-type"),
        *("indent", "item-separator", "json-node-output-method", "media-type", "method"),
        *("normalization-form", "omit-xml-declaration", "parameter-document", "standalone"),
        *("suppress-indentation", "undeclare-prefixes", "version"),
    }
)

Settings = dict[str, object]


def declare(module: Module, static: StaticContext) -> StaticContext:
    """The static context of a module: the environment's, with its prolog's settings applied."""
    scope = Scope(module.source, static)
    settings: Settings = {}
    settings["namespaces"] = namespaces(module, static, scope)
    for declaration in module.prolog:
        if isinstance(declaration, DefaultNamespaceDecl):
            default_namespace(declaration, settings, scope)
        elif isinstance(declaration, SetterDecl):
            setting(declaration, settings, static, scope)
    changed = replace(static, **settings)  # type: ignore[arg-type]  # keyed by the context's own fields
    scope = Scope(module.source, changed)
    return replace(
        changed,
        decimal_formats=decimal_formats(module.prolog, static, scope),
        options=options(module, static, scope),
    )


def namespaces(module: Module, static: StaticContext, scope: Scope) -> dict[str, str]:
    """Prefixes of the environment, the module declaration, imports and namespace declarations."""
    found = dict(static.namespaces)
    declared: set[str] = set()
    sources: list[NamespaceDecl | ModuleImport] = [] if module.namespace is None else [module.namespace]
    sources += [d for d in module.prolog if isinstance(d, NamespaceDecl | ModuleImport)]
    own = module.namespace and (module.namespace.prefix, module.namespace.uri)
    for source in sources:
        if not source.prefix:
            continue
        scope.check_prefix(source.prefix, source.uri, source.span)
        if source.prefix in declared and (source.prefix, source.uri) != own:
            message = f"the prefix '{source.prefix}' is declared twice"
            raise scope.fault("XQST0033", message, source.span, "use different prefixes")
        declared.add(source.prefix)
        if source.uri:
            found[source.prefix] = source.uri
        else:
            found.pop(source.prefix, None)
    return found


def default_namespace(declaration: DefaultNamespaceDecl, settings: Settings, scope: Scope) -> None:
    """``declare default element|function namespace``, once each."""
    field = f"default_{declaration.kind}_namespace"
    if field in settings:
        message = f"the default {declaration.kind} namespace is declared twice"
        raise scope.fault("XQST0066", message, declaration.span)
    scope.check_prefix("", declaration.uri, declaration.span)
    settings[field] = declaration.uri


def setting(declaration: SetterDecl, settings: Settings, static: StaticContext, scope: Scope) -> None:
    """One of the settings with a single value."""
    word, value = declaration.setting, declaration.value
    if word == "base-uri":
        settings["base_uri"] = absolute(value, static.base_uri)
    elif word == "default-collation":
        base = settings.get("base_uri", static.base_uri)
        known = replace(static, base_uri=base).collation(value)  # type: ignore[arg-type]  # str or None
        if known is None:
            raise scope.fault("XQST0038", f"the collation {value} is not known", declaration.span)
        settings["default_collation"] = known
    elif word == "order-empty":
        settings["empty_least"] = value == "least"
    elif word == "copy-namespaces":
        settings["copy_preserve"] = value.startswith("preserve")
        settings["copy_inherit"] = value.endswith(",inherit")
    else:
        settings[word.replace("-", "_")] = value


def absolute(uri: str, base: str | None) -> str:
    """A URI reference against a base."""
    if not base:
        return uri
    from urllib.parse import urljoin

    return urljoin(base, uri)


# -------------------------------------------------------------------------------------------- decimal formats


def decimal_formats(
    prolog: Sequence[Declaration], static: StaticContext, scope: Scope
) -> dict[tuple[str, str] | None, DecimalFormat]:
    """The environment's formats and the prolog's."""
    found = dict(static.decimal_formats)
    declared: set[tuple[str, str] | None] = set()
    for declaration in prolog:
        if not isinstance(declaration, DecimalFormatDecl):
            continue
        key = scope.expand(declaration.name).expanded if declaration.name else None
        if key in declared:
            name = declaration.name.lexical if declaration.name else "the default"
            raise scope.fault("XQST0111", f"the decimal format {name} is declared twice", declaration.span)
        declared.add(key)
        found[key] = decimal_format(declaration, scope)
    return found


def decimal_format(declaration: DecimalFormatDecl, scope: Scope) -> DecimalFormat:
    """One format: single characters, a digit zero, and no character with two roles."""
    for word, value in declaration.properties:
        if word in ("infinity", "NaN"):
            continue
        if len(value) != 1:
            message = f"{word} takes one character, not '{value}'"
            raise scope.fault("XQST0097", message, declaration.span)
        if word == "zero-digit" and not (value.isdigit() and unicodedata.digit(value, -1) == 0):
            raise scope.fault("XQST0097", f"'{value}' is not a zero digit", declaration.span)
    given = {word.replace("-", "_"): value for word, value in declaration.properties}
    result = DecimalFormat(**given)
    zero = ord(result.zero_digit)
    roles = [
        *(result.decimal_separator, result.grouping_separator, result.exponent_separator, result.percent),
        *(result.per_mille, result.digit, result.pattern_separator),
        *(chr(zero + n) for n in range(10)),
    ]
    if len(set(roles)) != len(roles):
        twice = next(char for char in roles if roles.count(char) > 1)
        raise scope.fault("XQST0098", f"'{twice}' has two roles in one decimal format", declaration.span)
    return result


# ---------------------------------------------------------------------------------------------------- options


def options(module: Module, static: StaticContext, scope: Scope) -> tuple[tuple[tuple[str, str], str], ...]:
    """Options in order; those of the serialization namespace must exist, once each, in a main module."""
    found = list(static.options)
    seen: set[str] = set()
    for declaration in module.prolog:
        if not isinstance(declaration, OptionDecl):
            continue
        name = scope.expand(declaration.name, XQUERY)
        if name.uri == OUTPUT:
            serialization_option(name, declaration.span, module, seen, scope)
        found.append((name.expanded, declaration.value))
    return tuple(found)


def serialization_option(name: Name, span: Span, module: Module, seen: set[str], scope: Scope) -> None:
    """Checks ``declare option output:name``."""
    if module.namespace is not None:
        raise scope.fault("XQST0108", "a library module declares no output options", span)
    if name.local not in SERIALIZATION:
        hint = did_you_mean(name.local, SERIALIZATION, "output:")
        raise scope.fault("XQST0109", f"there is no serialization parameter {name.lexical}", span, hint)
    if name.local in seen:
        raise scope.fault("XQST0110", f"{name.lexical} is given twice", span)
    seen.add(name.local)

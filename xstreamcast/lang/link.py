"""From texts to a checked module: parses, loads imported modules, resolves every name.

Modules may import each other in circles (XQuery 3.1 §4.12), so linking goes in three rounds over all of them:
parse, collect what each exports, then resolve each with what it imports in scope.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

from xstreamcast.dataclass import dataclass
from xstreamcast.lang.ast import (
    ContextItemDecl,
    DecimalFormatDecl,
    Declaration,
    FunctionDecl,
    Module,
    ModuleImport,
    OptionDecl,
    Source,
    Span,
    VariableDecl,
)
from xstreamcast.lang.context import RESERVED, StaticContext
from xstreamcast.lang.declare import declare
from xstreamcast.lang.lexical import DEPTH_HINT
from xstreamcast.lang.prolog import ModuleParser
from xstreamcast.lang.scope import Expanded, FunctionNames, KnownFunctions, Scope
from xstreamcast.lang.static import Resolver
from xstreamcast.model.namespaces import XQUERY

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure

ModuleTexts: TypeAlias = Callable[[str, tuple[str, ...], str | None], Sequence[tuple[str, str]]]
"""(namespace, location hints, base URI) → (location, text) of each module to load; none: it does not exist."""


def parse_syntax(text: str, source: str = "query", static: StaticContext | None = None) -> Module:
    """The syntax tree alone: names unresolved, references unchecked."""
    if "\r" in text:  # XQuery 3.1 A.2.3: line ends are normalised before anything else
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    strip = static is None or static.boundary_space == "strip"
    parser = ModuleParser(Source(source, text), strip)
    try:
        return parser.module()
    except RecursionError:
        here = Span(parser.pos, parser.pos)
        raise parser.source.fault("XPST0003", "expressions are nested too deeply", here, DEPTH_HINT) from None


def parse(
    text: str,
    *,
    source: str = "query",
    static: StaticContext | None = None,
    known_functions: KnownFunctions | None = None,
    function_names: FunctionNames | None = None,
    modules: ModuleTexts | None = None,
    structures: Mapping[str, Structure] | None = None,
) -> Module:
    """The module of a query text, its names resolved and its references checked.

    ``known_functions(uri, local, arity)`` tells which functions exist beside the query's own (without it, those
    of the language's namespaces are believed), ``function_names(uri)`` lists names for "did you mean", and
    ``modules`` finds the texts of imported modules. With the tag structures of its streams known, a path that can
    match nothing becomes one of the module's ``warnings``.

    >>> parse("declare variable $n external; $n + 1").body
    Arithmetic('+', VarRef(Name('', 'n', '')), IntegerLiteral(1))
    """
    main = parse_syntax(text, source, static)
    linker = Linker(static or StaticContext(), known_functions, function_names, modules)
    try:
        module = linker.link(main)
        if structures:
            from xstreamcast.lang.structures import unmatched_paths

            module = replace(module, warnings=(*module.warnings, *unmatched_paths(module, structures)))
        return module
    except RecursionError:
        raise main.source.fault("XPST0003", "expressions are nested too deeply", main.span, DEPTH_HINT) from None


@dataclass(slots=True)
class Unit:
    """A module on its way: its syntax, its scope, what it declares and, unless private, exports."""

    module: Module
    scope: Scope
    functions: dict[tuple[str, str, int], FunctionDecl] = field(default_factory=dict)
    variables: dict[Expanded, VariableDecl] = field(default_factory=dict)
    exported_functions: dict[tuple[str, str, int], None] = field(default_factory=dict)
    exported_variables: dict[Expanded, None] = field(default_factory=dict)
    imports: list[Unit] = field(default_factory=list)


class Linker:
    """The three rounds."""

    def __init__(
        self,
        static: StaticContext,
        known_functions: KnownFunctions | None,
        function_names: FunctionNames | None,
        modules: ModuleTexts | None,
    ) -> None:
        self.static = static
        self.known_functions = known_functions
        self.function_names = function_names
        self.modules = modules
        self.libraries: dict[tuple[str, str], Unit] = {}  # by namespace and location

    def link(self, main: Module) -> Module:
        """The resolved module, with all it imports, directly or not, in ``imported``."""
        top = self.load(main)
        units = [*(unit for unit in self.libraries.values() if unit is not top), top]
        for unit in units:
            self.collect(unit)
        for unit in units:
            self.import_names(unit)
        imported = tuple(self.resolve(unit, ()) for unit in units[:-1])
        return self.resolve(top, imported)

    # ------------------------------------------------------------------------------------- round one: load

    def load(self, module: Module) -> Unit:
        """A module's static context, and the modules it imports."""
        static = declare(module, self.static)
        unit = Unit(module, Scope(module.source, static, self.known_functions, self.function_names))
        if module.namespace is not None:
            self.libraries[module.namespace.uri, module.source.name] = unit
        seen: set[str] = set()
        for declaration in module.prolog:
            if isinstance(declaration, ModuleImport):
                if declaration.uri in seen:
                    message = f"the namespace {declaration.uri} is imported twice"
                    hint = 'give one import several locations: at "a", "b"'
                    raise unit.scope.fault("XQST0047", message, declaration.span, hint)
                seen.add(declaration.uri)
                unit.imports += self.load_import(declaration, unit)
        return unit

    def load_import(self, declaration: ModuleImport, unit: Unit) -> list[Unit]:
        """The library modules of one import, each loaded once however often it is imported."""
        base = unit.scope.static.base_uri
        texts = self.modules(declaration.uri, declaration.locations, base) if self.modules else ()
        found: list[Unit] = []
        for location, text in texts:
            library = self.libraries.get((declaration.uri, location))
            if library is None:
                module = parse_syntax(text, location, self.static)
                if module.namespace is not None and module.namespace.uri == declaration.uri:
                    library = self.load(module)
            if library is not None:
                found.append(library)
        if not found:
            message = f"no module with the namespace {declaration.uri}"
            hint = "check the namespace and the location after 'at'"
            raise unit.scope.fault("XQST0059", message, declaration.span, hint)
        return found

    # ---------------------------------------------------------------------------------- round two: collect

    def collect(self, unit: Unit) -> None:
        """What a module declares: expanded, unique and in the right namespace."""
        scope, module = unit.scope, unit.module
        context_item = None
        for declaration in module.prolog:
            if isinstance(declaration, FunctionDecl):
                self.collect_function(declaration, unit)
            elif isinstance(declaration, VariableDecl):
                self.collect_variable(declaration, unit)
            elif isinstance(declaration, ContextItemDecl):
                if context_item is not None:
                    raise scope.fault("XQST0099", "the context item is declared twice", declaration.span)
                context_item = declaration
                if module.namespace is not None and declaration.value is not None:
                    message = "a library module cannot give the context item a value"
                    raise scope.fault("XQST0113", message, declaration.span)

    def collect_function(self, declaration: FunctionDecl, unit: Unit) -> None:
        scope = unit.scope
        name = scope.expand(declaration.name, scope.default_function)
        key = (*name.expanded, len(declaration.params))
        if not name.uri:
            message = f"the function {name.local} is in no namespace"
            raise scope.fault("XQST0060", message, name.span, f"call it local:{name.local}")
        if name.uri in RESERVED:
            message = f"the function {name.lexical} is in a reserved namespace"
            raise scope.fault("XQST0045", message, name.span, f"call it local:{name.local}")
        self.check_namespace(unit, name.uri, name.lexical, name.span)
        if key in unit.functions:
            message = f"{name.lexical} with {key[2]} parameter(s) is declared twice"
            raise scope.fault("XQST0034", message, name.span)
        unit.functions[key] = declaration
        scope.functions[key] = declaration.span
        if not is_private(declaration, scope):
            unit.exported_functions[key] = None

    def collect_variable(self, declaration: VariableDecl, unit: Unit) -> None:
        scope = unit.scope
        name = scope.expand(declaration.name)
        self.check_namespace(unit, name.uri or "", "$" + name.lexical, name.span)
        if name.expanded in unit.variables:
            raise scope.fault("XQST0049", f"${name.lexical} is declared twice", name.span)
        unit.variables[name.expanded] = declaration
        scope.globals.add(name.expanded)
        if not is_private(declaration, scope):
            unit.exported_variables[name.expanded] = None

    def check_namespace(self, unit: Unit, uri: str, shown: str, span: Span) -> None:
        """XQST0048: what a library module declares is in its namespace."""
        namespace = unit.module.namespace
        if namespace is not None and uri != namespace.uri:
            message = f"{shown} is not in the module's namespace"
            raise unit.scope.fault("XQST0048", message, span, f"give it the prefix {namespace.prefix}:")

    def import_names(self, unit: Unit) -> None:
        """Puts into scope what the imported modules export."""
        for library in unit.imports:
            if library is unit:
                continue
            for key in library.exported_functions:
                if key in unit.scope.functions and unit.scope.functions[key] is not library.functions[key].span:
                    message = f"{key[1]} with {key[2]} parameter(s) is declared and imported, or imported twice"
                    raise unit.scope.fault("XQST0034", message, self.place_of(key[0], unit))
                unit.scope.functions[key] = library.functions[key].span
            for name in library.exported_variables:
                if name in unit.variables:
                    message = f"${name[1]} is declared and imported"
                    raise unit.scope.fault("XQST0049", message, unit.variables[name].span)
                unit.scope.globals.add(name)

    def place_of(self, uri: str, unit: Unit) -> Span:
        """Where a module imports a namespace."""
        imports = [d for d in unit.module.prolog if isinstance(d, ModuleImport) and d.uri == uri]
        return imports[0].span if imports else unit.module.span

    # -------------------------------------------------------------------------------- round three: resolve

    def resolve(self, unit: Unit, imported: tuple[Module, ...]) -> Module:
        """The module with its prolog and body resolved."""
        module = unit.module
        resolver = Resolver(unit.scope)
        prolog = tuple(self.declaration(declaration, resolver) for declaration in module.prolog)
        body = resolver.optional(module.body)
        return Module(
            prolog,
            body,
            module.namespace,
            module.version,
            module.encoding,
            static=unit.scope.static,
            imported=imported,
            warnings=tuple(resolver.warnings),
            source=module.source,
            span=module.span,
        )

    def declaration(self, node: Declaration, resolver: Resolver) -> Declaration:
        """One declaration of a prolog."""
        scope = resolver.scope
        if isinstance(node, FunctionDecl):
            annotations = resolver.annotations(node.annotations, "XQST0106")
            result = resolver.optional(node.result)
            params = resolver.params(node.params)
            body = resolver.optional(node.body)
            scope.locals.clear()
            name = scope.expand(node.name, scope.default_function)
            return FunctionDecl(name, params, result, body, annotations, span=node.span)
        if isinstance(node, VariableDecl):
            annotations = resolver.annotations(node.annotations, "XQST0116")
            name = scope.expand(node.name)
            scope.globals.discard(name.expanded)  # §4.16: not in scope of its own initializer
            value = resolver.optional(node.value)
            scope.globals.add(name.expanded)
            return VariableDecl(name, resolver.optional(node.type), value, node.external, annotations, span=node.span)
        if isinstance(node, ContextItemDecl):
            return resolver.resolve(node)
        if isinstance(node, OptionDecl):
            return OptionDecl(scope.expand(node.name, XQUERY), node.value, span=node.span)
        if isinstance(node, DecimalFormatDecl) and node.name is not None:
            return DecimalFormatDecl(scope.expand(node.name), node.properties, span=node.span)
        return node


def is_private(declaration: FunctionDecl | VariableDecl, scope: Scope) -> bool:
    """Whether ``%private`` hides a declaration from importing modules."""
    names = [scope.expand(annotation.name, XQUERY).expanded for annotation in declaration.annotations]
    return (XQUERY, "private") in names

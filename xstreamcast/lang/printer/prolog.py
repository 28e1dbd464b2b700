"""Modules and declarations, written."""

from __future__ import annotations

import re

from xstreamcast.lang import ast
from xstreamcast.lang.printer.levels import SINGLE
from xstreamcast.lang.printer.text import quote
from xstreamcast.lang.printer.types import TypePrinter
from xstreamcast.lang.printer.writer import Rules

MODULE_WORDS = re.compile(r"(declare|import|module|xquery)\b").match


class PrologPrinter(TypePrinter):
    """A declaration per line."""

    def module(self, node: ast.Module) -> str:
        lines: list[str] = []
        if node.version or node.encoding:
            version = f" version {quote(node.version)}" if node.version else ""
            encoding = f" encoding {quote(node.encoding)}" if node.encoding else ""
            lines.append(f"xquery{version}{encoding};")
        if node.namespace is not None:
            lines.append(f"module namespace {node.namespace.prefix} = {quote(node.namespace.uri)};")
        lines += [self.show(declaration) + ";" for declaration in node.prolog]
        if node.body is not None:
            body = self.show_sequence(node.body)
            lines.append(f"({body})" if MODULE_WORDS(body) else body)
        return "\n".join(lines)

    def namespace_decl(self, node: ast.NamespaceDecl) -> str:
        return f"declare namespace {node.prefix} = {quote(node.uri)}"

    def default_namespace_decl(self, node: ast.DefaultNamespaceDecl) -> str:
        return f"declare default {node.kind} namespace {quote(node.uri)}"

    def setter_decl(self, node: ast.SetterDecl) -> str:
        if node.setting == "base-uri":
            return f"declare base-uri {quote(node.value)}"
        if node.setting == "default-collation":
            return f"declare default collation {quote(node.value)}"
        if node.setting == "order-empty":
            return f"declare default order empty {node.value}"
        return f"declare {node.setting} {node.value}"

    def decimal_format_decl(self, node: ast.DecimalFormatDecl) -> str:
        head = "declare default decimal-format"
        if node.name is not None:
            head = f"declare decimal-format {self.name(node.name)}"
        return head + "".join(f" {word} = {quote(value)}" for word, value in node.properties)

    def option_decl(self, node: ast.OptionDecl) -> str:
        return f"declare option {self.name(node.name)} {quote(node.value)}"

    def module_import(self, node: ast.ModuleImport) -> str:
        prefix = f" namespace {node.prefix} =" if node.prefix else ""
        locations = f" at {', '.join(map(quote, node.locations))}" if node.locations else ""
        return f"import module{prefix} {quote(node.uri)}{locations}"

    def context_item_decl(self, node: ast.ContextItemDecl) -> str:
        return f"declare context item{self.typed(node.type)}{self.initial(node)}"

    def variable_decl(self, node: ast.VariableDecl) -> str:
        head = f"declare {self.annotations(node.annotations)}variable ${self.name(node.name)}"
        return f"{head}{self.typed(node.type)}{self.initial(node)}"

    def initial(self, node: ast.ContextItemDecl | ast.VariableDecl) -> str:
        """``external`` and ``:= value``."""
        value = f" := {self.show(node.value, SINGLE)}" if node.value is not None else ""
        return (" external" if node.external else "") + value

    def function_decl(self, node: ast.FunctionDecl) -> str:
        head = f"declare {self.annotations(node.annotations)}function {self.name(node.name)}"
        body = self.block(node.body) if node.body is not None else "external"
        return f"{head}({self.joined(node.params)}){self.typed(node.result)} {body}"


RULES: Rules = {
    ast.Module: PrologPrinter.module,
    ast.NamespaceDecl: PrologPrinter.namespace_decl,
    ast.DefaultNamespaceDecl: PrologPrinter.default_namespace_decl,
    ast.SetterDecl: PrologPrinter.setter_decl,
    ast.DecimalFormatDecl: PrologPrinter.decimal_format_decl,
    ast.OptionDecl: PrologPrinter.option_decl,
    ast.ModuleImport: PrologPrinter.module_import,
    ast.ContextItemDecl: PrologPrinter.context_item_decl,
    ast.VariableDecl: PrologPrinter.variable_decl,
    ast.FunctionDecl: PrologPrinter.function_decl,
}

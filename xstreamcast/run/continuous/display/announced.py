"""The tag structure of an answer as a stream: told to those who listen, before the changes that follow it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xstreamcast.lang import ast
    from xstreamcast.model.change import Change
    from xstreamcast.model.structure import Structure
    from xstreamcast.plan.algebra import Plan
    from xstreamcast.plan.result.structure import ResultStructure


class Announced:
    """What is certain of an answer's structure, by those of its streams; ``structure`` is None where nothing is."""

    def __init__(self, module: ast.Module) -> None:
        self.structure: Structure | None = None
        self._module = module
        self._result: ResultStructure | None = None
        self._told: Structure | None = None

    def derive(self, plan: Plan, structures: Mapping[str, Structure]) -> None:
        """The structures of the streams, as they are known now."""
        from xstreamcast.plan.result.structure import ResultStructure

        if self._result is None:
            self._result = ResultStructure(self._module, plan)
        found = self._result.derive(structures)
        if found is not None and found != self.structure:
            self.structure = found

    def ahead_of(self, changes: list[Change]) -> list[Change | Structure]:
        """Changes as a stream brings them: behind the structure, where it has not been told as it is now."""
        if self.structure is None or self.structure is self._told:
            return [*changes]
        self._told = self.structure
        return [self.structure, *changes]

"""What the scan kernel asks of an automaton: tables of transitions and flags, made as far as the input needs them.

State 0 is dead: nobody looks below. State 1 is the document node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

import numpy as np

from xstreamcast.model.names import ATTRIBUTE
from xstreamcast.model.namespaces import XMLNS
from xstreamcast.scan.layout import DECLARATION_CLASS, FIRST_CLASS

DEAD: Final = 0
DOCUMENT_STATE: Final = 1


class Tables(ABC):
    """``transitions[state * stride + class]`` is the state of a node of a class below a node of a state, -1 if that has
    not been asked for; ``flags[state]`` what the kernel does at such nodes, ``visits[state]`` how many it met."""

    def __init__(self) -> None:
        self.stride = 32
        self.transitions = np.full(self.stride * 16, -1, np.int32)
        self.flags = np.zeros(16, np.int32)
        self.visits = np.zeros(16, np.int64)

    @abstractmethod
    def numbered(self, kind: int, uri: str, local: str) -> int:
        """The class of a name, or the number of a new one."""

    @abstractmethod
    def expand(self, state: int, number: int) -> int:
        """The state a node of a class has below a node of a state."""

    def classify(self, kind: int, uri: str, local: str) -> int:
        """The class of a qualified name."""
        if kind == ATTRIBUTE and uri == XMLNS:
            return DECLARATION_CLASS
        number = self.numbered(kind, uri, local)
        if number >= self.stride:
            old = self.transitions.reshape(-1, self.stride)
            new = np.full((len(old), 2 * self.stride), -1, np.int32)
            new[:, : self.stride] = old
            new[DEAD] = DEAD
            self.stride *= 2
            self.transitions = new.reshape(-1)
        return number

    def add_state(self, number: int, flags: int) -> None:
        """Make room for a state."""
        if number >= len(self.flags):
            self.flags = np.concatenate([self.flags, np.zeros_like(self.flags)])
            self.visits = np.concatenate([self.visits, np.zeros_like(self.visits)])
            self.transitions = np.concatenate([self.transitions, np.full_like(self.transitions, -1)])
        self.flags[number] = flags
        if number == DEAD:
            self.transitions[: self.stride] = DEAD
        else:
            for special in range(FIRST_CLASS):  # the kernel does not ask for these
                self.expand(number, special)

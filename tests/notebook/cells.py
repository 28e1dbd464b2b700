"""Running cells in a shell of IPython's, as a kernel does, and hearing what a front end would be told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Instance, Type
from traitlets.config import Config


@dataclass
class Told:
    """What a cell had displayed: in the order of its displays, each as it was drawn last."""

    data: dict[str, dict[str, Any]] = field(default_factory=dict)
    updates: int = 0

    def html(self) -> str:
        return "\n".join(one.get("text/html", "") for one in self.data.values())

    def text(self) -> str:
        return "\n".join(one.get("text/plain", "") for one in self.data.values())


class Publisher(DisplayPublisher):
    """A front end that can draw a display again."""

    def publish(
        self, data: Any, metadata: Any = None, source: Any = None, *, transient: Any = None, update: Any = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        shell: Any = self.shell
        told: Told = shell.told
        key = (transient or {}).get("display_id") or f"#{len(told.data)}"
        assert not update or key in told.data
        told.updates += bool(update)
        told.data[key] = data


class Hook(DisplayHook):
    """The value of a cell is displayed as other things are."""

    def __call__(self, result: Any = None) -> None:
        if result is not None:
            data, metadata = self.compute_format_data(result)
            shell: Any = self.shell
            if data:
                shell.display_pub.publish(data, metadata)
            self.update_user_ns(result)


class Shell(InteractiveShell):
    """A shell without a terminal; ``told`` is what all cells so far had displayed."""

    display_pub_class = Type(Publisher)
    displayhook_class = Type(Hook)
    told = Instance(Told, ())

    def run(self, cell: str) -> Told:
        """What all cells so far had displayed, after this one; what it raises is raised."""
        self.run_cell(cell, store_history=False).raise_error()
        return self.told


@contextmanager
def shell() -> Iterator[Shell]:
    """A shell for the time of a test."""
    InteractiveShell.clear_instance()
    made = Shell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    try:
        yield made
    finally:
        Shell.clear_instance()

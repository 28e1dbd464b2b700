"""What generated code calls for values: atomization, truth, cardinality, casts, strings."""

from __future__ import annotations

from typing import Any, NoReturn

from xstreamcast.errors import XStreamError, error
from xstreamcast.model.atomic import AnyURI, Item, Untyped
from xstreamcast.model.cast import cast, castable
from xstreamcast.model.collation import CODEPOINTS, Collation, collation
from xstreamcast.model.compare import VALUE, effective_boolean, hash_key
from xstreamcast.model.convert import atomize, atomize_single, convert
from xstreamcast.model.function import FunctionItem
from xstreamcast.model.lexical import to_string
from xstreamcast.model.tree import Node
from xstreamcast.model.types import INTEGRAL, NUMERIC, AtomicType, SequenceType, describe, describe_sequence


def fail(code: str, message: str, hint: str = "") -> NoReturn:
    raise error(code, message, hint=hint)


def no_context_item() -> NoReturn:
    hint = 'give a document: context=, --context or a file; a path into a stream begins with stream("name")'
    raise error("XPDY0002", "there is no context item here", hint=hint)


# ------------------------------------------------------------------------------------------------------- truth


def ebv(items: list[Item]) -> bool:
    """The effective boolean value of a sequence."""
    return effective_boolean(items)


def ebv_item(item: Item) -> bool:
    return effective_boolean([item])


def ebv_opt(item: Item | None) -> bool:
    return item is not None and effective_boolean([item])


def predicate_truth(items: list[Item], position: int) -> bool:
    """A predicate whose type is not known before: a number is a position."""
    if len(items) == 1 and type(items[0]) in NUMERIC.classes:
        return bool(items[0] == position)
    return effective_boolean(items)


# ------------------------------------------------------------------------------------------------- cardinality


def opt(items: list[Item], role: str) -> Item | None:
    """The item of a sequence of at most one."""
    if len(items) > 1:
        raise error("XPTY0004", f"{role} has {len(items)} items where at most one is allowed")
    return items[0] if items else None


def too_many(role: str) -> NoReturn:
    raise error("XPTY0004", f"{role} has several values where at most one is allowed")


def zero_or_one(items: list[Item]) -> Item | None:
    if len(items) > 1:
        raise error("FORG0003", f"zero-or-one() got {len(items)} items")
    return items[0] if items else None


def exactly_one(items: list[Item]) -> Item:
    if len(items) != 1:
        raise error("FORG0005", f"exactly-one() got {len(items)} items")
    return items[0]


def one_or_more(items: list[Item]) -> list[Item]:
    if not items:
        raise error("FORG0004", "one-or-more() got an empty sequence")
    return items


def as_list(found: Any) -> list[Item]:
    """The result of a library function as a sequence."""
    if type(found) is list:
        return found
    return [] if found is None else [found]


# ------------------------------------------------------------------------------------------------ atomization


def atom_opt(items: list[Item], role: str) -> Item | None:
    return atomize_single(items, role)


def atom_maybe(item: Item | None, role: str) -> Item | None:
    return None if item is None else atom_item(item, role)


def atom_item(item: Item, role: str) -> Item | None:
    if isinstance(item, Node):
        return item.typed
    if isinstance(item, FunctionItem):
        return atomize_single([item], role)
    return item


def convert_one(value: list[Item], expected: SequenceType, role: str) -> Item:
    return convert(value, expected, role)[0]


def convert_opt(value: list[Item], expected: SequenceType, role: str) -> Item | None:
    made = convert(value, expected, role)
    return made[0] if made else None


def treat(items: list[Item], expected: SequenceType, role: str, code: str) -> None:
    """XPDY0050 or XPTY0004 unless the sequence matches."""
    if not expected.matches(items):
        raise error(code, f"{role}: expected {expected}, found {describe_sequence(items)}")


# ------------------------------------------------------------------------------------------------------ casts


def cast_of_empty() -> NoReturn:
    raise error("XPTY0004", "the operand of cast is empty", hint="write 'cast as T?' if it may be")


def cast_list(item: Item | None, target: AtomicType, optional: bool) -> list[Item]:
    """A cast to xs:NMTOKENS and its kin."""
    if item is None:
        if optional:
            return []
        cast_of_empty()
    made: list[Item] = cast(item, target)
    return made


def castable_sequence(items: list[Item], target: AtomicType, optional: bool, namespaces: dict[str, str] | None) -> bool:
    values = atomize(items)
    if len(values) != 1:
        return not values and optional
    return castable(values[0], target, namespaces)


# ---------------------------------------------------------------------------------------------------- strings


def string_of(item: Item | None) -> str:
    return "" if item is None else to_string(item)


def string_item(item: Item) -> str:
    """fn:string of one item."""
    if isinstance(item, Node):
        return item.string
    if isinstance(item, FunctionItem):
        raise error("FOTY0014", f"a {describe(item)} has no string value")
    return to_string(item)


def string_sequence(items: list[Item]) -> str:
    if len(items) > 1:
        raise error("XPTY0004", f"fn:string() got {len(items)} items")
    return string_item(items[0]) if items else ""


def joined_strings(items: list[Item]) -> str:
    return " ".join([to_string(value) for value in atomize(items)])


# ----------------------------------------------------------------------------------------------------- numbers


def range_bound(item: Item | None) -> int | None:
    """An operand of ``to``: an integer, or untyped text that is one."""
    if item is None or type(item) in INTEGRAL:
        return item
    if type(item) is Untyped:
        from xstreamcast.model.types import INTEGER

        made: int = cast(item, INTEGER)
        return made
    raise error("XPTY0004", f"an operand of to must be an integer, not {describe(item)}")


def integer_range(first: int | None, last: int | None) -> range:
    return range(0) if first is None or last is None else range(first, last + 1)


_LONGEST = 1 << 27  # integers of a range that may be listed: a gigabyte of them


def listed(numbers: range) -> list[Item]:
    """A range as a sequence."""
    if len(numbers) > _LONGEST:
        raise error("XPDY0130", f"a sequence of {len(numbers)} integers is too long to be held")
    return list(numbers)


# ---------------------------------------------------------------------------------------- switch and grouping

_equal = VALUE["eq"]


def switch_equal(operand: Item | None, case: Item | None, uri: str = "") -> bool:
    """Whether a case of switch matches: () matches (), NaN matches NaN, what cannot be compared does not match."""
    if operand is None or case is None:
        return operand is case
    if operand != operand and case != case:
        return True
    try:
        if uri:
            used = collation(uri)
            return bool(hash_key(operand, used) == hash_key(case, used))
        return _equal(operand, case)
    except XStreamError:
        return False


def group_value(item: Item | None) -> Item | None:
    """A grouping key: untyped values count as strings."""
    return str(item) if type(item) is Untyped else item


def group_hash(item: Item | None, used: Collation = CODEPOINTS) -> Any:
    """Equal for keys of one group; NaN is one group, so is the absence of a key."""
    if item is None:
        return None
    if isinstance(item, str) and used is CODEPOINTS:
        return item if type(item) is str else str(item)  # nothing else is known by a string
    if type(item) is AnyURI:
        item = str(item)
    return (hash_key(item, used), isinstance(item, str))

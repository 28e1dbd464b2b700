"""Atomic values of the XQuery data model.

===================  ==========================================================================
XSD type             Python value
===================  ==========================================================================
xs:string            ``str``
xs:boolean           ``bool``
xs:integer           ``int``
xs:decimal           ``decimal.Decimal`` (finite, not a signed zero)
xs:double            ``float``
xs:float             :class:`Float`, a ``float`` rounded to single precision
xs:untypedAtomic     :class:`Untyped`, a ``str``
xs:anyURI            :class:`AnyURI`, a ``str``
derived strings      :class:`Token`, :class:`NCName` …, subclasses of ``str``
derived integers     :class:`Int`, :class:`UnsignedByte` …, subclasses of ``int``
xs:QName             :class:`QName`
dates and durations  :mod:`xstreamcast.model.datetime`
binaries             :class:`HexBinary`, :class:`Base64Binary`
===================  ==========================================================================

One Python class stands for exactly one atomic type, so ``type(x) is int`` asks "is it an xs:integer and nothing
narrower?", and ``model.types.type_of`` is one dictionary look-up. Subclasses of ``str`` and ``int`` keep the
equality and hash of their parent, which is what ``eq`` wants: ``Untyped("a") == "a"``.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any, ClassVar, Final, TypeAlias

#: One item: an atomic value, a node or a function. Generated code and the library dispatch on ``type(item)``,
#: which no union type describes to mypy without a cast at every step.
Item: TypeAlias = Any


class QName:
    """An expanded name with its prefix. Two names are equal when namespace and local part are; do not mutate."""

    __slots__ = ("local", "prefix", "uri")
    atomic: ClassVar[str] = "QName"

    def __init__(self, uri: str, local: str, prefix: str = "") -> None:
        self.uri = uri
        self.local = local
        self.prefix = prefix

    def __eq__(self, other: object) -> bool:
        if type(other) is not QName:
            return NotImplemented
        return self.local == other.local and self.uri == other.uri

    def __hash__(self) -> int:
        return hash((self.uri, self.local))

    def __str__(self) -> str:
        """The lexical form, ``prefix:local``."""
        return f"{self.prefix}:{self.local}" if self.prefix else self.local

    @property
    def expanded(self) -> str:
        """The form that needs no context, ``Q{uri}local``."""
        return f"Q{{{self.uri}}}{self.local}"

    def __repr__(self) -> str:
        return f"QName({self.expanded!r})"


_SINGLE = struct.Struct("<f")


class Float(float):
    """xs:float: a double that is exactly representable in 32 bits."""

    __slots__ = ()
    atomic: ClassVar[str] = "float"

    def __new__(cls, value: float) -> Float:
        try:
            return float.__new__(cls, _SINGLE.unpack(_SINGLE.pack(value))[0])
        except OverflowError:  # finite, but beyond the largest single
            return float.__new__(cls, float("inf") if value > 0 else float("-inf"))

    def __repr__(self) -> str:
        return f"Float({float.__repr__(self)})"


class Untyped(str):
    """xs:untypedAtomic: text without a type, the typed value of untyped nodes."""

    __slots__ = ()
    atomic: ClassVar[str] = "untypedAtomic"


class AnyURI(str):
    __slots__ = ()
    atomic: ClassVar[str] = "anyURI"


class NormalizedString(str):
    __slots__ = ()
    atomic: ClassVar[str] = "normalizedString"


class Token(NormalizedString):
    __slots__ = ()
    atomic: ClassVar[str] = "token"


class Language(Token):
    __slots__ = ()
    atomic: ClassVar[str] = "language"


class NMToken(Token):
    __slots__ = ()
    atomic: ClassVar[str] = "NMTOKEN"


class Name(Token):
    __slots__ = ()
    atomic: ClassVar[str] = "Name"


class NCName(Name):
    __slots__ = ()
    atomic: ClassVar[str] = "NCName"


class ID(NCName):
    __slots__ = ()
    atomic: ClassVar[str] = "ID"


class IDRef(NCName):
    __slots__ = ()
    atomic: ClassVar[str] = "IDREF"


class Entity(NCName):
    __slots__ = ()
    atomic: ClassVar[str] = "ENTITY"


class NonPositiveInteger(int):
    __slots__ = ()
    atomic: ClassVar[str] = "nonPositiveInteger"


class NegativeInteger(NonPositiveInteger):
    __slots__ = ()
    atomic: ClassVar[str] = "negativeInteger"


class Long(int):
    __slots__ = ()
    atomic: ClassVar[str] = "long"


class Int(Long):
    __slots__ = ()
    atomic: ClassVar[str] = "int"


class Short(Int):
    __slots__ = ()
    atomic: ClassVar[str] = "short"


class Byte(Short):
    __slots__ = ()
    atomic: ClassVar[str] = "byte"


class NonNegativeInteger(int):
    __slots__ = ()
    atomic: ClassVar[str] = "nonNegativeInteger"


class UnsignedLong(NonNegativeInteger):
    __slots__ = ()
    atomic: ClassVar[str] = "unsignedLong"


class UnsignedInt(UnsignedLong):
    __slots__ = ()
    atomic: ClassVar[str] = "unsignedInt"


class UnsignedShort(UnsignedInt):
    __slots__ = ()
    atomic: ClassVar[str] = "unsignedShort"


class UnsignedByte(UnsignedShort):
    __slots__ = ()
    atomic: ClassVar[str] = "unsignedByte"


class PositiveInteger(NonNegativeInteger):
    __slots__ = ()
    atomic: ClassVar[str] = "positiveInteger"


class HexBinary:
    """xs:hexBinary: octets; equal and ordered by their bytes."""

    __slots__ = ("octets",)
    atomic: ClassVar[str] = "hexBinary"

    def __init__(self, octets: bytes) -> None:
        self.octets = octets

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.octets == other.octets

    def __lt__(self, other: HexBinary) -> bool:
        return self.octets < other.octets

    def __hash__(self) -> int:
        return hash((self.atomic, self.octets))

    def __str__(self) -> str:
        return self.octets.hex().upper()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.octets!r})"


class Base64Binary(HexBinary):
    """xs:base64Binary. Not comparable with xs:hexBinary; it only shares the implementation."""

    __slots__ = ()
    atomic: ClassVar[str] = "base64Binary"

    def __str__(self) -> str:
        from base64 import b64encode

        return b64encode(self.octets).decode("ascii")


class Notation(QName):
    """xs:NOTATION: no value can exist without a schema; the class keeps the type table whole."""

    __slots__ = ()
    atomic: ClassVar[str] = "NOTATION"


#: Python's own classes that stand for atomic types; all other classes name theirs in ``atomic``.
NATIVE: Final[dict[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    Decimal: "decimal",
    float: "double",
}

STRINGS: Final[tuple[type[str], ...]] = (
    Untyped, AnyURI, NormalizedString, Token, Language, NMToken, Name, NCName, ID, IDRef, Entity,
)  # fmt: skip
INTEGERS: Final[tuple[type[int], ...]] = (
    NonPositiveInteger, NegativeInteger, Long, Int, Short, Byte, NonNegativeInteger, UnsignedLong, UnsignedInt,
    UnsignedShort, UnsignedByte, PositiveInteger,
)  # fmt: skip

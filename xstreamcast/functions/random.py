"""fn:random-number-generator (F&O 3.1 §4.9.1): a seed determines the whole chain."""

from __future__ import annotations

from random import Random

from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.registry import function, parse_parameters, parse_type
from xstreamcast.model.atomic import Item
from xstreamcast.model.function import FunctionItem, Map
from xstreamcast.model.lexical import to_string
from xstreamcast.model.types import describe

_GENERATOR = "map(xs:string, item())"


@function("fn:random-number-generator", "", _GENERATOR, context=True)
@function("fn:random-number-generator", "xs:anyAtomicType?", _GENERATOR, context=True)
def random_number_generator(context: DynamicContext, seed: Item | None = None) -> Map:
    if seed is None:
        return _generator(f"now {context.now}")
    return _generator(f"{describe(seed)} {to_string(seed)}")


def _generator(seed: str) -> Map:
    source = Random(seed)
    number = source.random()
    following, shuffling = f"{source.getrandbits(128):x}", f"{source.getrandbits(128):x}"

    def permute(args: list[list[Item]]) -> list[Item]:
        shuffled = list(args[0])
        Random(shuffling).shuffle(shuffled)
        return shuffled

    return Map(
        [
            ("number", [number]),
            ("next", [FunctionItem(None, 0, lambda _: [_generator(following)], (), parse_type(_GENERATOR))]),
            ("permute", [FunctionItem(None, 1, permute, parse_parameters("item()*"), parse_type("item()*"))]),
        ]
    )

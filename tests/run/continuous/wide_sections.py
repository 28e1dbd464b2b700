"""Random changes to sections with many items: sent again, put before and after, removed, hidden and shown."""

from __future__ import annotations

from random import Random

from xstreamcast.model.change import After, Before, Change, Fill, Hide, Remove, Replace, Show
from xstreamcast.model.structure import parse_structure

STRUCTURE = parse_structure(
    '<tag id="1" name="r"><tag id="8" name="t"/><tag id="2" name="s"><tag id="3" name="t"/>'
    '<tag id="4" name="b"><tag id="5" name="c"/><tag id="6" name="d"/></tag></tag></tag>'
)
SECTIONS = (1, 2, 3)


def item(random: Random, hole: int = 0) -> str:
    """A ``b`` with an id and some ``c``, perhaps with a hole for more."""
    inside = "".join(f"<c>{random.choice('12345')}</c>" for _ in range(random.choice((0, 1, 1, 2))))
    more = f"<stream:hole id='{hole}'/>" if hole else ""
    return f"<b id='{random.choice('123')}'>{inside}{more}</b>"


def section(random: Random, number: int) -> str:
    """An ``s`` with a ``t`` and holes for items, in some order."""
    holes = [10 * number + n for n in range(1, 6)]
    random.shuffle(holes)
    shown = "".join(f"<stream:hole id='{hole}'/>" for hole in holes[: random.randint(2, 5)])
    own = item(random) if random.random() < 0.5 else ""
    return f"<s id='{number}'><t>{random.choice('123')}</t>{shown}{own}</s>"


def changes(seed: int, count: int) -> list[Change]:
    """A document with sections, all of it sent and changed in any order."""
    random = Random(seed)
    made: list[Change] = []
    inserted = [1000]
    for step in range(count):
        kind, number = random.random(), random.choice(SECTIONS)
        hole = 10 * number + random.randint(1, 5)
        if step == 0 or kind < 0.05:
            sections = list(SECTIONS)
            random.shuffle(sections)
            holes = "".join(f"<stream:hole id='{n}'/>" for n in sections[: random.randint(2, 3)])
            made.append(Fill(region=0, content=f"<r><t>1</t>{holes}</r>".encode()))
        elif step <= len(SECTIONS) or kind < 0.2:
            number = step if step <= len(SECTIONS) else number
            made.append(Replace(region=number, content=section(random, number).encode()))
        elif kind < 0.55:
            several = "".join(item(random, 100 * hole) for _ in range(random.choice((0, 1, 1, 1, 2))))
            made.append(Replace(region=hole, content=several.encode()))
        elif kind < 0.65:
            inside = random.choice(("<c>2</c>", "<c>5</c><c>1</c>", "<d>9</d>", ""))
            made.append(Replace(region=100 * hole, content=inside.encode()))
        elif kind < 0.75:
            beside = random.choice((Before, After))
            target = random.choice([hole, *inserted[1:][-3:]])
            inserted.append(inserted[-1] + 1)
            made.append(beside(region=inserted[-1], target=target, content=item(random).encode()))
        else:
            of = Remove if kind < 0.8 else Hide if kind < 0.9 else Show
            made.append(of(region=random.choice([hole, hole, number, *inserted[1:][-2:]])))
    return made

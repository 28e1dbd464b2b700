"""Random small streams and queries over one structure that has every type of tag."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

STRUCTURE = """<stream:structure xmlns:stream="urn:xstreamcast:stream">
  <tag id="1" name="r" type="snapshot">
    <tag id="2" name="a" type="temporal">
      <tag id="3" name="b" type="snapshot"><tag id="11" name="k" type="snapshot"/></tag>
      <tag id="4" name="c" type="event">
        <tag id="5" name="d" type="filler"/>
        <tag id="6" name="e"/>
      </tag>
      <tag id="7" name="f" type="temporal"/>
    </tag>
    <tag id="8" name="g" type="filler">
      <tag id="9" name="h" type="snapshot"><tag id="10" name="f" type="temporal"/></tag>
    </tag>
  </tag>
</stream:structure>"""

CHILDREN = {1: (2, 8), 2: (3, 4, 7), 3: (11,), 4: (5, 6), 8: (9,), 9: (10,)}
NAMES = {1: "r", 2: "a", 3: "b", 4: "c", 5: "d", 6: "e", 7: "f", 8: "g", 9: "h", 10: "f", 11: "k"}
INLINE = {3, 9, 11}
TIMED = {2, 4, 7, 10}
TIMES = [f"2003-11-0{day}" for day in range(1, 7)]


@dataclass
class Writing:
    """A stream in the making: the changes so far, and the last hole's number."""

    draw: st.DrawFn
    prefix: str
    changes: list[str] = field(default_factory=list)
    holes: int = 0

    def element(self, tag: int, depth: int) -> str:
        """An element of a tag, its fragments below sent on their own."""
        parts = []
        for child in CHILDREN.get(tag, ()):
            for _ in range(self.draw(st.integers(0, 2))):
                if child in INLINE or (child == 6 and self.draw(st.booleans())) or self.draw(st.integers(0, 30)) == 0:
                    parts.append(self.element(child, depth + 1))
                else:
                    parts.append(self.hole(child, depth + 1))
        if parts and self.draw(st.integers(0, 9)) == 0:  # a hole whose parent is to lose it, or that stands twice
            parts.append(self.draw(st.sampled_from(parts)))
        text = self.draw(st.sampled_from(["", "1", "2", "x ", "<!--c-->3"]))
        attribute = self.draw(st.sampled_from(["", ' n="1"', ' n="2"']))
        return f"<{NAMES[tag]}{attribute}>{text}{''.join(parts)}</{NAMES[tag]}>"

    def hole(self, tag: int, depth: int) -> str:
        """A hole, and its fillers: none, one, or several versions, with repeats, replacements and removals."""
        self.holes += 1
        region, p = self.holes, self.prefix
        most = 3 if tag in TIMED else 2
        earlier: list[str] = []
        for version in range(1, 1 + self.draw(st.integers(0 if depth > 2 else 1, most))):
            time = f' validTime="{self.draw(st.sampled_from(TIMES))}"' if tag in TIMED else ""
            number = f' version="{version}"' if self.draw(st.integers(0, 7)) else ""
            shared = (
                7 if tag == 4 and self.draw(st.integers(0, 5)) == 0 else tag
            )  # creditLimit and transaction in one hole
            head = f'id="{region}" tsid="{shared}"{number}{time}'
            kind = self.draw(st.sampled_from(["filler"] * 5 + ["replace", "repeat", "remove"]))
            if kind == "remove":
                earlier.append(f"<{p}remove {head}/>")
            else:
                earlier.append(f"<{p}{kind} {head}>{self.element(shared, depth)}</{p}{kind}>")
            if self.draw(st.integers(0, 5)) == 0:
                earlier.append(earlier[-1])
            if tag == 5 and self.draw(st.integers(0, 4)) == 0:
                earlier.append(f"<{p}filler {head}>text{self.element(5, depth)}<d/></{p}filler>")
        self.changes += earlier
        return f'<{p}hole id="{region}" tsid="{tag}"/>'


@st.composite
def streams(draw: st.DrawFn) -> str:
    """A fragments file, prefixed or bare, in any order of arrival."""
    prefix = draw(st.sampled_from(["stream:", ""]))
    writing = Writing(draw, prefix)
    root = writing.element(1, 1)
    changes = [f'<{prefix}filler id="0" tsid="1">{root}</{prefix}filler>', *writing.changes]
    if draw(st.booleans()):
        changes = draw(st.permutations(changes))
    wrapper = "stream:fragments" if prefix else "fragments"
    namespace = ' xmlns:stream="urn:xstreamcast:stream"' if prefix else ""
    return f"<{wrapper}{namespace}>{STRUCTURE}\n{''.join(changes)}</{wrapper}>"


BASES = ("", "/r", "//a", "//c", "/r/g", "//f", "//e")
STEPS = (
    *("/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h", "/*", "//f", "//c", "//e", "//k"),
    *("/@n", "/@*", "/text()", "/node()", "/..", "//*"),
)
FILTERS = (
    *(
        "[1]",
        "[last()]",
        "[@n = 1]",
        "[f]",
        "[not(c)]",
        "[string(.) > '1']",
        "[count(*) > 1]",
        "[.//f = 1]",
        "[c/e or b]",
    ),
    *("?[now]", "?[2003-11-02,2003-11-04]", "?[start,2003-11-03]", "#[1]", "#[last]", "#[last-1,last]"),
)
SHAPES = (
    "PATH",
    "count(PATH)",
    "<x>{ PATH }</x>",
    "PATH/string()",
    "exists(PATH)",
    "(PATH)[2]",
    "PATH ! name(.)",
    "PATH | PATH/f",
    "(PATH, PATH/f)/f",
    "PATH contains xs:date('2003-11-02')",
    "sum(PATH//text()[. castable as xs:integer])",
    "some $x in PATH satisfies $x/* = 1",
    "for $x in PATH return <y n='{$x/@n}'>{ $x, count($x//f) }</y>",
    "for $x in PATH order by string($x), count($x//*) return string($x)",
    "for $x in PATH where $x/f or $x/c return $x/*",
    "for $x in PATH return ($x instance of element())",
    "for $x in PATH return if ($x/f) then $x/f else $x",
    "for $x in PATH return PATH before $x",
    "for $x in PATH[. instance of element()] return (vtFrom($x), vtTo($x))",
    "for $x in PATH group by $n := string($x/@n) order by $n return <g n='{$n}'>{ $x#[last], count($x/c) }</g>",
    "for tumbling window $w in PATH start at $i when true() end at $j when $j = $i + 1 return <w>{ $w }</w>",
    "let $x := PATH return ($x[1], count($x), $x/f)",
    "let $f := function($x) { $x//f } return PATH/$f(.)",
)


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A query: a path, perhaps with filters and projections, in some surroundings."""
    path = 'stream("s")' + draw(st.sampled_from(BASES))
    for _ in range(draw(st.integers(0, 3))):
        path += draw(st.sampled_from(STEPS if draw(st.integers(0, 2)) else FILTERS))
    return draw(st.sampled_from(SHAPES)).replace("PATH", path)

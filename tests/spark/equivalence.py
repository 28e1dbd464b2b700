"""Embedded ≡ Spark: what is asked, and who answers. All that is seen of an answer is :data:`~motion_law.Said`.

    equivalence.py MASTER FOLDER

is a driver of its own, which has the cases for a cluster answered there and prints what it says as JSON.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from motion_law import BATCHES, Said, embedded, follow, play
from motion_streams import (
    COINCIDENCE,
    FRAUD,
    GENERATORS,
    MAXED_OUT,
    UNANSWERED,
    as_messages,
    embedded_answers,
    spoken,
    write_stream,
    write_streams,
)
from relational_queries import GROUPS, JOINS, QUERIES, SORTS, document
from rest_samples import NOW, XMARK, document_of, said, site
from streaming_queries import Streaming
from test_papers import PAPERS, sources, streams_of

from xstreamcast.model.change import Change
from xstreamcast.model.structure import Structure
from xstreamcast.run.query import query as ask
from xstreamcast.spark.failures import own_errors
from xstreamcast.spark.rest.at_rest import prepare
from xstreamcast.wire.fragment import read_stream

PAPER = {path.stem: path.read_text(encoding="utf-8") for path in sorted(PAPERS.glob("*.xq"))}
"""The papers' queries, by name."""

FILES = 4
"""In so many micro-batches the papers' streams come."""
FOLLOWED = 1200
"""So many changes of a stream, however long."""


@dataclass(frozen=True, slots=True)
class AtRest:
    """What is stored, by the names of :func:`content`; documents are cut every so many bytes."""

    sources: tuple[str, ...]
    step: int


@dataclass(frozen=True, slots=True)
class InMotion:
    """Streams that go on together, with one clock. Who asks about them is answered after every micro-batch."""

    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drawn:
    """The streams, the clock and the emission of a random case of the law."""

    seed: int


Given = AtRest | InMotion | Drawn
Asked = tuple[str, Given]


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    query: str
    given: Given


# ----------------------------------------------------------------------------------------------------------- the data


@cache
def content(source: str) -> Mapping[str, bytes]:
    """What a source holds: streams by their names, or as ``""`` a document, which is the context."""
    match source.split():
        case ["site"]:
            return {"": site()}
        case ["list", seed]:
            return {"": document(int(seed)).encode()}
        case ["random", seed]:
            return {"": Streaming(int(seed)).document().encode()}
        case _:
            return streams_of(source)


def stored(given: AtRest, folder: Path) -> dict[str, Any]:
    """The files of what is at rest: what ``query`` is given of them."""
    made: dict[str, Any] = {"streams": {}}
    for source in given.sources:
        for name, data in content(source).items():
            path = folder / f"{source.replace(' ', '-')}-{name}.xml"
            if not path.exists():
                path.write_bytes(data)
            made |= {"streams": {**made["streams"], name: path}} if name else {"context": path, "now": NOW}
    return made


def moving(given: InMotion, folder: Path) -> dict[str, str]:
    """The streams in motion: by name, the folder of each, with a file for every micro-batch."""
    made = write_streams(folder, FILES, {name: GENERATORS[name] for name in given.sources if name in GENERATORS})
    for source in given.sources:
        if source not in GENERATORS:
            for name, data in streams_of(source).items():
                items = [arrival.item for arrival in read_stream(io.BytesIO(data))]
                structure = next((item for item in items if isinstance(item, Structure)), None)
                changes = [item for item in items if isinstance(item, Change)][:FOLLOWED]
                write_stream(folder / name, FILES, changes, structure)
                made[name] = str(folder / name)
    return made


# ----------------------------------------------------------------------------------------------------------- engines


class Engine(ABC):
    """Who answers."""

    def __init__(self, cases: Sequence[Case], folder: Path) -> None:
        self.cases, self.folder = cases, folder
        self._said: dict[Asked, list[Said]] = {}

    def answers(self, query: str, given: Given) -> list[Said]:
        """What is said, after every micro-batch; at rest, once."""
        if (query, given) not in self._said:
            asked = self.together(query, given)
            self._said |= {each: [] for each in asked}  # should it fail, the others do not wait for that again
            self._said |= zip(asked, self.ask(asked), strict=True)
        return self._said[query, given]

    @abstractmethod
    def together(self, query: str, given: Given) -> list[Asked]:
        """This, and what is asked together with it."""

    @abstractmethod
    def ask(self, asked: list[Asked]) -> Iterable[list[Said]]: ...


class FromHere(Engine):
    """Who is asked by this process. Of what goes on together all is asked at once: it shares a streaming query."""

    def together(self, query: str, given: Given) -> list[Asked]:
        kind = type(given)
        others = [(case.query, case.given) for case in self.cases if isinstance(case.given, kind)]
        match given:
            case AtRest():
                return [(query, given)]
            case InMotion():
                return list(dict.fromkeys(asked for asked in others if asked[1] == given))
            case Drawn():
                return others

    def ask(self, asked: list[Asked]) -> Iterable[list[Said]]:
        match asked[0][1]:
            case AtRest() as given:
                return [[(said(self.items(asked[0][0], given)), 0)]]
            case InMotion() as given:
                turns = self.in_motion([text for text, _ in asked], moving(given, self._new_folder()))
                return [[(answer, 0) for answer in answers] for answers in zip(*turns, strict=True)]
            case Drawn():
                return self.drawn([given.seed for _, given in asked if isinstance(given, Drawn)])

    def _new_folder(self) -> Path:
        made = self.folder / f"streams-{len(self._said)}"
        made.mkdir()
        return made

    @abstractmethod
    def items(self, query: str, given: AtRest) -> Iterable[Any]: ...

    @abstractmethod
    def in_motion(self, texts: list[str], streams: dict[str, str]) -> list[list[str]]:
        """The answers to each, after every micro-batch."""

    @abstractmethod
    def drawn(self, seeds: list[int]) -> list[list[Said]]: ...


class Embedded(FromHere):
    """The engine in this process, without Spark."""

    def items(self, query: str, given: AtRest) -> Iterable[Any]:
        return ask(query, **stored(given, self.folder))

    def in_motion(self, texts: list[str], streams: dict[str, str]) -> list[list[str]]:
        return embedded_answers({str(k): text for k, text in enumerate(texts)}, streams, FILES)

    def drawn(self, seeds: list[int]) -> list[list[Said]]:
        return [embedded(play(seed)) for seed in seeds]


class OnSpark(FromHere):
    """A session of Spark's, or what stands for one."""

    def __init__(self, spark: Any, cases: Sequence[Case], folder: Path, stops: Sequence[int] = (BATCHES,)) -> None:
        super().__init__(cases, folder)
        self.spark, self.stops = spark, stops

    def items(self, query: str, given: AtRest) -> Iterator[Any]:
        files = stored(given, self.folder)
        with own_errors():
            yield from prepare(self.spark, query, **files, partition_bytes=given.step).items()

    def in_motion(self, texts: list[str], streams: dict[str, str]) -> list[list[str]]:
        from xstreamcast.spark.motion.continuous_query import continuous_many

        brought: dict[str, Any] = dict(streams)
        for name in streams.keys() - {"credit", "ticker"}:  # a stream of messages needs no Python process to read it
            reading = self.spark.readStream.schema("seq long, content string").option("maxFilesPerTrigger", "1")
            brought[name] = reading.json(as_messages(streams[name], name))
        motion = continuous_many(
            self.spark, texts, brought, names=[f"q{k}" for k in range(len(texts))],
            options={"maxFilesPerTrigger": "1"}, compact_bytes=10_000,
        )  # fmt: skip
        turns: list[list[str]] = []
        running = motion.start(
            display=lambda answers: turns.append([spoken(one.told()) for one in answers.queries]), available_now=True
        )
        try:
            assert running.wait(300)
        finally:
            running.stop()
        return turns

    def drawn(self, seeds: list[int]) -> list[list[Said]]:
        return list(follow(self.spark, self.folder / "drawn", seeds, self.stops).values())


class OnCluster(Engine):
    """A cluster, by a driver in a process of its own, which finds the package only where it is installed."""

    driver = __file__

    def __init__(self, master: str, cases: Sequence[Case], folder: Path) -> None:
        super().__init__(cases, folder)
        self.master = master

    def together(self, query: str, given: Given) -> list[Asked]:
        return [(case.query, case.given) for case in self.cases]

    def ask(self, asked: list[Asked]) -> Iterable[list[Said]]:
        return [[(text, aside) for text, aside in said] for said in self.told["answers"]]

    @cached_property
    def told(self) -> dict[str, Any]:
        """What the driver tells: the ``answers``, from which ``files`` its executors have the package, and the ``ids``
        of persons that they have read."""
        tests = str(Path(__file__).parents[1])
        paths = os.pathsep.join(path for path in sys.path if path.startswith(tests))
        ran = subprocess.run(
            [sys.executable, self.driver, self.master, str(self.folder)], env={**os.environ, "PYTHONPATH": paths},
            capture_output=True, text=True, timeout=1800, check=False,  # a deadline, no pace
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr[-3000:]
        told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
        return told


class OnConnect(OnCluster):
    """A server of Spark Connect, by a client in a process of its own."""

    driver = str(Path(__file__).with_name("connect_driver.py"))


# ------------------------------------------------------------------------------------------------------------- cases


def _xmark(step: int, names: Iterable[str] = XMARK) -> Iterator[Case]:
    for name in names:
        yield Case(f"xmark-{name}-{step}", XMARK[name], AtRest(("site",), step))


def _random(seeds: Iterable[int], count: int, steps: Callable[[Streaming], Iterable[int]]) -> Iterator[Case]:
    for seed in seeds:
        made = Streaming(seed)
        made.document()  # which the queries are about
        for number in range(count):
            text = made.query()
            for step in steps(made):
                yield Case(f"random-{seed}-{number}-{step}", text, AtRest((f"random {seed}",), step))


REDUCTIONS = (
    "sum(//increase), avg(//increase), min(//initial), max(//initial), count(//bidder)",
    "string-join(//person/name, '|'), distinct-values(//location), exists(//reserve), empty(//nothing)",
    "(//person/name)[3], (//item/@id)[position() = 2 to 5], subsequence(//keyword, 7, 3)",
    "fold-left(//quantity, 0, function($a, $q) { $a * 3 mod 1009 + $q })",
    "let $n := avg(//quantity) return count(//item[quantity > $n])",
    "for $r in /site/regions/* return <region name='{name($r)}' items='{count($r/item)}'/>",
    "for $s in /site return <site><people>{count($s/people/person)}</people>{$s/people/person[1]/name}</site>",
    "for $q in 1 to 4 return count(//item[quantity = $q])",
    "(//item)[1]/name, if (exists(//item)) then sum(//item/quantity) else sum(//person/name)",
    "try { sum(//person/name) } catch * { $err:code }",
    "/site/regions//item/@id/string()",
    "//item[1]/name/text()",
    "map { 'n': count(//item) }, [sum(//quantity)]",
    "sum(//person/name)",
    "for $p in //person return count(//closed_auction[xs:integer(buyer/@person) = xs:integer($p/@id)])",
)
"""Values of the whole that ranges have parts of; the last two are errors."""


def _here() -> Iterator[Case]:
    """Without Spark: its part is that of a stand-in, and everything is cut much smaller."""
    for step in (7_919, 60_013):
        yield from _xmark(step)
    for number, text in enumerate(REDUCTIONS):
        for step in (4_001, 90_001):
            yield Case(f"reduction-{number}-{step}", text, AtRest(("site",), step))
    yield from _random(range(6_000, 6_040), 4, lambda made: (1, made.random.randint(2, 60)))
    rooted = [text.replace("//", "/r/") for text in JOINS]  # then no more is brought along than the query sees
    for number, text in enumerate((*QUERIES, *rooted)):
        for seed, step in ((3 * number, 60), (3 * number + 2, 150)):
            yield Case(f"relational-{number}-{seed}", text, AtRest((f"list {seed}",), step))


CARDS = InMotion(("credit",))
# All streams together have one clock: what was within the hour of the cards is long past by that of the radar.
OTHERS = InMotion(("packets", "radar", *sorted({source for text in PAPER.values() for source in sources(text)})))
_CARDS = [Case("sigmod04-maxed-out", MAXED_OUT, CARDS), Case("sigmod04-fraud", FRAUD, CARDS)]


def _local() -> Iterator[Case]:
    yield from _xmark(80_000)
    for name, text in PAPER.items():
        yield Case(f"{name}-at-rest", text, AtRest(tuple(sources(text)), 1 << 20))
    for number, text in enumerate((*JOINS[4::6], *GROUPS[2::5], *SORTS[3::6])):
        yield Case(f"relational-{number}", text, AtRest(("list 12",), 200))
    yield Case("reduction-error", REDUCTIONS[-1], AtRest(("site",), 100_000))
    yield from _random([7_003], 6, lambda _: (90,))
    yield from _CARDS
    yield Case("sigmod04-unanswered", UNANSWERED, OTHERS)
    yield Case("sigmod04-coincidence", COINCIDENCE, OTHERS)
    for name, text in PAPER.items():
        yield Case(f"{name}-in-motion", text, OTHERS)
    yield from law_cases(30_000, int(os.environ.get("LAW_ON_SPARK", "12")))


def law_cases(first: int, count: int) -> Iterator[Case]:
    for seed in range(first, first + count):
        yield Case(f"law-{seed}", play(seed).case.query, Drawn(seed))


def _cluster() -> Iterator[Case]:
    yield from _xmark(60_000, ("q01", "q05", "q08", "q10", "q19", "q20"))
    yield Case("reduction-error", REDUCTIONS[-1], AtRest(("site",), 100_000))
    yield from _CARDS
    yield from law_cases(30_100, 6)


def _connect() -> Iterator[Case]:
    """In motion: ``test_connect.py``."""
    yield from _xmark(60_000, ("q08",))


CASES: Mapping[str, Sequence[Case]] = {
    "here": [*_here()], "local[2]": [*_local()], "cluster": [*_cluster()], "connect": [*_connect()],
}  # fmt: skip
"""By where they are answered."""


def main(master: str, folder: Path) -> None:
    from xstreamcast.spark.cluster import short_lived
    from xstreamcast.spark.session import session, shut_down

    settings: dict[str, Any] = {"spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2"}
    spark = session("equivalence", master, scratch=folder / "spark", **short_lived(), **settings)
    try:
        engine = OnSpark(spark, CASES["cluster"], folder)
        answers = [engine.answers(case.query, case.given) for case in engine.cases]
        files = sorted({*spark.sparkContext.parallelize(range(8), 8).map(_home).collect()})
        persons = spark.read.format("xstreamcast").option("record", "//person").option("columns", '{"id": "@id"}')
        rows = persons.option("partitionBytes", "40000").load(document_of(folder, site()).path).collect()
        print(json.dumps({"answers": answers, "files": files, "ids": [row.id for row in rows]}))
    finally:
        shut_down(spark)


def _home(_: int) -> str:
    """Where who runs this has the package from."""
    import xstreamcast

    return str(xstreamcast.__file__)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

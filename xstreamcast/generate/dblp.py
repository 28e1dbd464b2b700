"""A bibliography in DBLP's form (ICDE'08 §VII): articles, conference papers and the rest, with keys and dates.

At factor 1 some 800,000 records, 318 MB, as in the paper. Names are those of ``words.py``; the family name
Smith is the most frequent, so that ``//inproceedings[author = "John Smith"]/title`` has answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from xstreamcast.generate.draw import Draw, Ints
from xstreamcast.generate.generator import Generator, scaled
from xstreamcast.generate.prose import phrases
from xstreamcast.generate.words import CITIES, GIVEN, surnames

RECORDS: Final = 800_000

_BLOCK: Final = 500
_KINDS: Final = ("inproceedings", "article", "proceedings", "incollection", "book", "phdthesis", "www")
_SHARES: Final = (0.585, 0.365, 0.011, 0.009, 0.003, 0.002, 0.025)
_AUTHORS: Final = (0.22, 0.34, 0.25, 0.12, 0.05, 0.02)
_CONFERENCES: Final = (
    "SIGMOD", "VLDB", "ICDE", "PODS", "EDBT", "CIKM", "KDD", "WebDB", "DBPL", "ICDT", "SIGIR", "WWW", "ER", "DASFAA",
    "SSDBM", "MDM", "ADBIS", "CAiSE", "DEXA", "WISE",
)  # fmt: skip
_JOURNALS: Final = (
    "TODS", "VLDB Journal", "TKDE", "Information Systems", "SIGMOD Record", "JACM", "Communications", "Algorithmica",
    "Acta Informatica", "Theoretical Computer Science", "Data Engineering Bulletin", "Computing Surveys",
)  # fmt: skip
_ACCENTED: Final = ("Jürgen", "André", "Zoë", "Søren", "Łukasz", "Şebnem", "José", "Çağla")
_MARKS: Final = ("", "", "", "", "", "", "<i>n</i>-ary ", "O(<i>n</i><sup>2</sup>) ", "H<sub>2</sub>O ")


def _authors(draw: Draw, size: int) -> list[str]:
    """Full names; a family name of low number is more frequent (the least of three draws)."""
    given_names = (*GIVEN, *_ACCENTED)
    families = surnames()
    given = draw.below(len(given_names), size).tolist()
    family = np.minimum(np.minimum(draw.below(2500, size), draw.below(2500, size)), draw.below(2500, size)).tolist()
    return [f"{given_names[first]} {families[last]}" for first, last in zip(given, family, strict=True)]


def _records(draw: Draw, first: int, size: int, titles: Iterator[str]) -> str:
    kinds = draw.weighted(_SHARES, size)
    counts = 1 + draw.weighted(_AUTHORS, size)
    authors = iter(_authors(draw, int(counts.sum())))
    pages: Ints = 1 + draw.below(900, size)
    columns = zip(
        range(first, first + size),
        kinds.tolist(),
        counts.tolist(),
        (2007 - draw.count(7.0, size) % 45).tolist(),
        draw.below(12 * 28, size).tolist(),
        pages.tolist(),
        (pages + 4 + draw.below(24, size)).tolist(),
        draw.below(240, size).tolist(),
        draw.below(len(_MARKS), size).tolist(),
        draw.chance(0.6, size).tolist(),
        strict=True,
    )
    parts = []
    for record, kind, author_count, year, day, begin, end, venue, mark, online in columns:
        name = _KINDS[kind]
        conference = _CONFERENCES[venue % len(_CONFERENCES)]
        journal = _JOURNALS[venue % len(_JOURNALS)]
        month_day = f"{day // 28 + 1:02}-{day % 28 + 1:02}"
        place = "journals" if kind == 1 else "homepages" if kind == 6 else "conf"
        series = (journal if kind == 1 else conference).replace(" ", "").lower()
        key = f"{place}/{series}/{record:x}"
        role = "editor" if kind == 2 else "author"
        parts.append(f'<{name} mdate="{2002 + record % 6}-{month_day}" key="{key}">\n')
        parts.extend([f"<{role}>{next(authors)}</{role}>\n" for _ in range(author_count)])
        title = f"{_MARKS[mark]}{next(titles)}".rstrip()
        parts.append(f"<title>{title[0].upper()}{title[1:]}.</title>\n")
        if kind in (0, 1, 3):
            parts.append(f"<pages>{begin}-{end}</pages>\n")
        parts.append(f"<year>{year}</year>\n")
        if kind in (0, 3):
            parts.append(f"<booktitle>{conference}</booktitle>\n<crossref>conf/{series}/{year}</crossref>\n")
        elif kind == 1:
            parts.append(f"<volume>{year - 1960}</volume>\n<journal>{journal}</journal>\n")
            parts.append(f"<number>{venue % 4 + 1}</number>\n")
        elif kind in (2, 4):
            parts.append(f"<publisher>{CITIES[venue % len(CITIES)]} Press</publisher>\n")
        elif kind == 5:
            parts.append(f"<school>University of {CITIES[venue % len(CITIES)]}</school>\n")
        if online:
            parts.append(f"<ee>http://doi.test/10.{1000 + venue}/{record}</ee>\n")
        parts.append(f"<url>db/{place}/{series}/{series}{year}.html#{record:x}</url>\n</{name}>\n")
    return "".join(parts)


def document(factor: float, seed: int) -> Iterator[bytes]:
    """The bibliography, record by record."""
    draw = Draw(seed, "dblp")
    titles = phrases(draw, 13)
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n<dblp>\n'
    count = scaled(RECORDS, factor)
    for first in range(0, count, _BLOCK):
        yield _records(draw, first, min(_BLOCK, count - first), titles).encode()
    yield b"</dblp>\n"


GENERATOR: Final = Generator(
    name="dblp",
    summary="a bibliography in DBLP's form as a stored document; factor 1 is about 318 MB",
    document=document,
)

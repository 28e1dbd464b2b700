"""The credit card system of SIGMOD'04 §2: accounts, limits that change, transactions, statuses.

Each account has a limit (temporal), customers' transactions are events, and each transaction's status is
temporal: charged, perhaps later suspended, then charged again or revoked; some are denied. Before the story
begins (1 November 2003) the accounts have a history; that is the document. In the story time only goes
forward, and now and then

* an account goes on a spree: charges over hours that exceed its limit, so that it is maxed out this month,
  until, for every other one, the limit is raised;
* a card is stolen: charges within the hour of at least max(0.9 × limit, 5000), suspended an hour or two
  later; the alert appears with the last charge and goes away when an hour has passed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from xstreamcast.generate.draw import Pick
from xstreamcast.generate.generator import Generator, hole, scaled
from xstreamcast.generate.words import CITIES, GIVEN, surnames
from xstreamcast.model.change import Change, Eos, Fill
from xstreamcast.model.time import Instant, format_instant, parse_instant

ACCOUNTS: Final = 2000
STREAM: Final = "credit"
STRUCTURE: Final = """<stream:structure>
  <tag type="snapshot" id="1" name="creditAccounts">
    <tag type="temporal" id="2" name="account">
      <tag type="snapshot" id="3" name="customer"/>
      <tag type="temporal" id="4" name="creditLimit"/>
      <tag type="event" id="5" name="transaction">
        <tag type="snapshot" id="6" name="vendor"/>
        <tag type="temporal" id="7" name="status"/>
        <tag type="snapshot" id="8" name="amount"/>
      </tag>
    </tag>
  </tag>
</stream:structure>
"""

_SECOND: Final = 1_000_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_OPENING: Final = parse_instant("1998-10-10")
_STORY: Final = parse_instant("2003-11-01")

_LIMITS: Final = (1000, 2000, 2500, 5000, 7500, 10_000, 15_000, 20_000)
_TRADES: Final = ("Pizza", "Books", "Hardware", "Grocers", "Airways", "Hotel", "Fuel", "Pharmacy", "Music", "Shoes")
_FIRST_ACCOUNT: Final = 1234
_FIRST_TRANSACTION: Final = 12345

_PER_MONTH: Final = 12
"""Ordinary transactions of an account in a month."""
_SPREE_EVERY: Final = 24
_THEFT_EVERY: Final = 30
_LIMIT_EVERY: Final = 20
_RENAME_EVERY: Final = 150
"""Once in so many ordinary transactions; each begins some transactions after the start, so short stories have them."""


@dataclass(frozen=True, slots=True)
class _Transaction:
    at: Instant
    number: int
    vendor: str
    cents: int
    statuses: tuple[tuple[Instant, str], ...]


@dataclass(frozen=True, slots=True)
class _Account:
    number: int
    customer: str
    opened: Instant
    limits: tuple[tuple[Instant, int], ...]
    transactions: tuple[_Transaction, ...]


def _customer(pick: Pick) -> str:
    families = surnames()
    return f"{GIVEN[pick.below(len(GIVEN))]} {families[pick.below(len(families))]}"


def _vendor(pick: Pick) -> str:
    return f"{CITIES[pick.below(len(CITIES))]} {_TRADES[pick.below(len(_TRADES))]}"


def _history(factor: float, seed: int) -> Iterator[_Account]:
    """The accounts as they stand when the story begins."""
    pick = Pick(seed, "credit/history")
    next_transaction = _FIRST_TRANSACTION
    for index in range(scaled(ACCOUNTS, factor)):
        opened = _OPENING + pick.below((_STORY - _OPENING - 100 * _DAY) // _SECOND) * _SECOND
        level = pick.below(len(_LIMITS) - 2)
        limits = [(opened, _LIMITS[level])]
        for step in range(1, 1 + pick.below(3)):
            changed = limits[-1][0] + (1 + pick.below((_STORY - limits[-1][0]) // _SECOND - 1)) * _SECOND
            limits.append((changed, _LIMITS[level + step]))
        transactions = []
        at = _STORY - 60 * _DAY
        for _ in range(1 + pick.below(4)):
            at += _HOUR + pick.below(12 * _DAY // _SECOND) * _SECOND
            charged = at + pick.between(1, 90) * _SECOND
            statuses = [(charged, "charged")]
            suspended = charged + _DAY + pick.below(9 * _DAY // _SECOND) * _SECOND
            if pick.chance(0.15) and suspended < _STORY:
                statuses.append((suspended, "suspended"))
            transactions.append(
                _Transaction(at, next_transaction, _vendor(pick), _ordinary_cents(pick), tuple(statuses))
            )
            next_transaction += 1
        number = _FIRST_ACCOUNT + index
        customer = "John Smith" if index == 0 else _customer(pick)
        yield _Account(number, customer, opened, tuple(limits), tuple(transactions))


def _ordinary_cents(pick: Pick) -> int:
    return 100 + int(pick.exponential(5_000))


def _amount(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def _lived(name: str, text: str, versions: tuple[tuple[Instant, object], ...], which: int) -> str:
    """A temporal element in the view: [vtFrom, next vtFrom), the last one until now."""
    ends = format_instant(versions[which + 1][0]) if which + 1 < len(versions) else "now"
    return f'<{name} vtFrom="{format_instant(versions[which][0])}" vtTo="{ends}">{text}</{name}>'


def document(factor: float, seed: int) -> Iterator[bytes]:
    """The temporal view of the history: every timed element with vtFrom and vtTo (SIGMOD'04 §5)."""
    yield b"<creditAccounts>"
    for account in _history(factor, seed):
        parts = [
            f'<account id="{account.number}" vtFrom="{format_instant(account.opened)}" vtTo="now">'
            f"<customer>{account.customer}</customer>"
        ]
        for which, (_, limit) in enumerate(account.limits):
            parts.append(_lived("creditLimit", str(limit), account.limits, which))
        for spent in account.transactions:
            at = format_instant(spent.at)
            parts.append(
                f'<transaction id="{spent.number}" vtFrom="{at}" vtTo="{at}"><vendor>{spent.vendor}</vendor>'
                f"<amount>{_amount(spent.cents)}</amount>"
            )
            for which, (_, status) in enumerate(spent.statuses):
                parts.append(_lived("status", status, spent.statuses, which))
            parts.append("</transaction>")
        parts.append("</account>")
        yield "".join(parts).encode("ascii")
    yield b"</creditAccounts>"


class _Bank:
    """Sends fragments and knows, per account, its holes, its limit and how often each region changed."""

    def __init__(self, accounts: int) -> None:
        self.next_region = 1 + accounts
        self.limit_hole = array("q", bytes(8 * accounts))
        self.limit = array("i", bytes(4 * accounts))
        self.account_version = array("i", bytes(4 * accounts))
        self.limit_version = array("i", bytes(4 * accounts))
        self.transaction_version = array("i", bytes(4 * accounts))

    def account(self, index: int, at: Instant, customer: str) -> Change:
        if not self.limit_hole[index]:
            self.limit_hole[index] = self.next_region
            self.next_region += 2
        self.account_version[index] += 1
        holes = hole(self.limit_hole[index], 4) + hole(self.limit_hole[index] + 1, 5)
        content = f'<account id="{_FIRST_ACCOUNT + index}"><customer>{customer}</customer>{holes}</account>'
        return _fill(1 + index, 2, self.account_version[index], at, content)

    def set_limit(self, index: int, at: Instant, limit: int) -> Change:
        self.limit[index] = limit
        self.limit_version[index] += 1
        content = f"<creditLimit>{limit}</creditLimit>"
        return _fill(self.limit_hole[index], 4, self.limit_version[index], at, content)

    def transaction(self, index: int, at: Instant, number: int, vendor: str, cents: int) -> tuple[Change, int]:
        """The event, and the hole of its status."""
        status = self.next_region
        self.next_region += 1
        self.transaction_version[index] += 1
        content = (
            f'<transaction id="{number}"><vendor>{vendor}</vendor><amount>{_amount(cents)}</amount>'
            f"{hole(status, 7)}</transaction>"
        )
        return _fill(self.limit_hole[index] + 1, 5, self.transaction_version[index], at, content), status


def _fill(region: int, tsid: int, version: int, at: Instant, content: str) -> Change:
    return Fill(region=region, tsid=tsid, version=version, valid_time=at, content=content.encode("ascii"))


def _status(region: int, version: int, at: Instant, status: str) -> Change:
    return _fill(region, 7, version, at, f"<status>{status}</status>")


def changes(factor: float, seed: int, updates: int) -> Iterator[tuple[str, Change]]:
    """The history account by account, then the story in the order of its times."""
    accounts = scaled(ACCOUNTS, factor)
    bank = _Bank(accounts)
    holes = "".join(hole(1 + index, 2) for index in range(accounts))
    yield STREAM, Fill(region=0, tsid=1, content=f"<creditAccounts>{holes}</creditAccounts>".encode("ascii"))
    next_transaction = _FIRST_TRANSACTION
    for index, account in enumerate(_history(factor, seed)):
        yield STREAM, bank.account(index, account.opened, account.customer)
        for at, limit in account.limits:
            yield STREAM, bank.set_limit(index, at, limit)
        for spent in account.transactions:
            event, status_hole = bank.transaction(index, spent.at, spent.number, spent.vendor, spent.cents)
            yield STREAM, event
            for version, (at, status) in enumerate(spent.statuses, 1):
                yield STREAM, _status(status_hole, version, at, status)
            next_transaction = spent.number + 1
    story = _Story(bank, accounts, seed, next_transaction)
    for _ in range(updates):
        yield STREAM, story.next()
    yield STREAM, Eos()


_Event = tuple[Instant, int, str, int, int, str]
"""(time, sequence number, what, account or status hole, amount or limit or version, detail)."""


class _Story:
    """What is to happen, in a heap by time. Every event is one change and may put later ones into the heap."""

    def __init__(self, bank: _Bank, accounts: int, seed: int, next_transaction: int) -> None:
        self.bank = bank
        self.accounts = accounts
        self.pick = Pick(seed, "credit/story")
        self.next_transaction = next_transaction
        self.waiting: list[_Event] = []
        self.sequence = 0
        self.ordinary = 0
        self.gap = 30 * _DAY / (accounts * _PER_MONTH)
        self.plan(_STORY, "purchase", 0, 0)

    def plan(self, at: Instant, what: str, whose: int, number: int, detail: str = "") -> None:
        self.sequence += 1
        heappush(self.waiting, (at, self.sequence, what, whose, number, detail))

    def next(self) -> Change:
        at, _, what, whose, number, detail = heappop(self.waiting)
        if what == "purchase":
            return self.purchase(at)
        if what == "charge":
            return self.charge(at, whose, number, detail)
        if what == "limit":
            return self.bank.set_limit(whose, at, number)
        if what == "rename":
            return self.bank.account(whose, at, detail)
        return self.status(at, whose, number, detail)

    def purchase(self, at: Instant) -> Change:
        """An ordinary transaction; plans the next one and, in their turn, the story's special turns."""
        pick, who = self.pick, self.pick.below(self.accounts)
        self.ordinary += 1
        step = 1 + int(pick.exponential(self.gap / _SECOND))
        self.plan(at + step * _SECOND, "purchase", 0, 0)
        if self.ordinary % _SPREE_EVERY == 8:
            self.spree(at, pick.below(self.accounts))
        if self.ordinary % _THEFT_EVERY == 5:
            self.theft(at, pick.below(self.accounts))
        if self.ordinary % _LIMIT_EVERY == 12:
            limit = _LIMITS[pick.below(len(_LIMITS))]
            self.plan(at + pick.between(1, 600) * _SECOND, "limit", pick.below(self.accounts), limit)
        if self.ordinary % _RENAME_EVERY == 20:
            self.plan(at + _MINUTE, "rename", pick.below(self.accounts), 0, _customer(pick))
        return self.charge(at, who, _ordinary_cents(pick), "")

    def spree(self, at: Instant, who: int) -> None:
        """Six charges of a fifth of the limit each, half an hour to an hour apart."""
        limit = self.bank.limit[who]
        for _ in range(6):
            at += self.pick.between(1800, 3600) * _SECOND
            self.plan(at, "charge", who, limit * 20 + self.pick.below(1000), "certain")
        if self.pick.chance(0.5):
            self.plan(at + self.pick.between(1, 4) * _HOUR, "limit", who, 2 * limit)

    def theft(self, at: Instant, who: int) -> None:
        """Six charges within half an hour that reach max(0.9 × limit, 5000) together."""
        total = max(self.bank.limit[who] * 90, 500_000)
        for _ in range(6):
            at += self.pick.between(10, 300) * _SECOND
            self.plan(at, "charge", who, total // 6 + self.pick.between(100, 5000), "stolen")

    def charge(self, at: Instant, who: int, cents: int, manner: str) -> Change:
        change, status_hole = self.bank.transaction(who, at, self.next_transaction, _vendor(self.pick), cents)
        self.next_transaction += 1
        answered = at + self.pick.between(2, 90) * _SECOND
        denied = not manner and self.pick.chance(0.03)
        self.plan(answered, "status", status_hole, 1, "denied" if denied else "charged")
        if manner == "stolen":
            self.plan(answered + self.pick.between(60, 120) * _MINUTE, "status", status_hole, 2, "suspended")
        elif not denied and self.pick.chance(0.06):
            self.plan(answered + self.pick.between(10, 300) * _MINUTE, "status", status_hole, 2, "suspended")
        return change

    def status(self, at: Instant, status_hole: int, version: int, status: str) -> Change:
        if status == "suspended":
            decided = at + self.pick.between(1, 48) * _HOUR
            self.plan(decided, "status", status_hole, version + 1, "charged" if self.pick.chance(0.5) else "revoked")
        return _status(status_hole, version, at, status)


GENERATOR: Final = Generator(
    name="credit",
    summary="SIGMOD'04's credit cards: temporal accounts, limits and statuses, transaction events",
    structures={STREAM: STRUCTURE},
    document=document,
    changes=changes,
)

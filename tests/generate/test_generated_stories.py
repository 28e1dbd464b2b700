"""The stories have what their papers' queries ask for: answers that appear, and answers that go away."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from math import cos, radians, sin
from xml.etree import ElementTree

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.generate import find
from xstreamcast.model.change import Change, Fill, Freeze, Hide, Remove, Repeat, Replace, Show
from xstreamcast.model.structure import parse_structure
from xstreamcast.model.time import Instant

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


def arrivals(name: str, factor: float, updates: int, seed: int = 1) -> list[tuple[str, Change]]:
    made = find(name).changes
    assert made is not None
    return list(made(factor, seed, updates))


def element(change: Change) -> ElementTree.Element:
    content = getattr(change, "content", b"")
    return ElementTree.fromstring(b'<w xmlns:stream="urn:xstreamcast:stream">' + content + b"</w>")[0]


def when(change: Change) -> Instant:
    assert change.valid_time is not None
    return change.valid_time


class Accounts:
    """A plain reading of the credit stream: what each account was charged, and its limit, so far."""

    def __init__(self) -> None:
        self.limit: dict[int, int] = {}
        self.transactions: dict[int, list[tuple[Instant, float, int]]] = defaultdict(list)
        self.charged: set[int] = set()
        self.now: Instant = 0

    def apply(self, change: Change) -> int | None:
        """The account that the change is about, by its limit hole."""
        self.now = max(self.now, change.valid_time or 0)
        if change.tsid == 4:
            self.limit[change.region] = int(element(change).text or "")
            return change.region
        if change.tsid == 5:
            transaction = element(change)
            status = int(transaction[-1].get("id") or "")
            amount = float(transaction.findtext("amount") or "")
            self.transactions[change.region - 1].append((when(change), amount, status))
            return change.region - 1
        if change.tsid == 7 and element(change).text == "charged":
            self.charged.add(change.region)
        return None

    def spent(self, account: int, begin: Instant) -> float:
        return sum(
            amount
            for at, amount, status in self.transactions[account]
            if begin <= at <= self.now and status in self.charged
        )

    def fraud(self, account: int) -> bool:
        return self.spent(account, self.now - HOUR) >= max(0.9 * self.limit[account], 5000)

    def maxed_out(self, account: int, month: Instant) -> bool:
        return self.spent(account, month) >= self.limit[account]


def credit_answers() -> tuple[list[set[int]], list[set[int]]]:
    """The accounts the fraud query and the maxed-out query return after each change of the story."""
    initial = len(arrivals("credit", 0.01, 0)) - 1
    accounts, frauds, maxed = Accounts(), [], []
    month = None
    for number, (_, change) in enumerate(arrivals("credit", 0.01, 1500)):
        accounts.apply(change)
        if number >= initial and change.valid_time is not None:
            month = month or change.valid_time
            frauds.append({account for account in accounts.limit if accounts.fraud(account)})
            maxed.append({account for account in accounts.limit if accounts.maxed_out(account, month)})
    return frauds, maxed


def test_credit_alerts_appear_and_go_away() -> None:
    frauds, maxed = credit_answers()
    for answers in (frauds, maxed):
        appeared = sum(bool(after - before) for before, after in pairwise(answers))
        vanished = sum(bool(before - after) for before, after in pairwise(answers))
        assert appeared >= 3
        assert vanished >= 1
        assert any(not answer for answer in answers)


def test_credit_statuses_follow_each_other_and_limits_and_accounts_change() -> None:
    statuses: dict[int, list[str]] = defaultdict(list)
    versions: Counter[tuple[int, int]] = Counter()
    for _, change in arrivals("credit", 0.01, 1500):
        if change.tsid == 7:
            statuses[change.region].append(element(change).text or "")
        elif isinstance(change, Fill) and change.tsid in (2, 4):
            versions[change.tsid, change.region] += 1
    assert {tuple(lived) for lived in statuses.values()} >= {
        ("charged",),
        ("denied",),
        ("charged", "suspended", "charged"),
        ("charged", "suspended", "revoked"),
    }
    assert any(tsid == 2 and count > 1 for (tsid, _), count in versions.items())
    assert any(tsid == 4 and count > 2 for (tsid, _), count in versions.items())


def test_some_packets_are_acknowledged_late_and_some_never() -> None:
    sent: dict[str, tuple[Instant, list[str]]] = {}
    delays: dict[str, Instant] = {}
    for stream, change in arrivals("packets", 1, 2000):
        if change.tsid != 2:
            continue
        packet = element(change)
        number, *ends = (child.text or "" for child in packet)
        if stream == "gsyn":
            sent[number] = when(change), ends
        else:
            at, (source, port, target, target_port) = sent[number]
            assert ends == [target, target_port, source, port]
            delays[number] = when(change) - at
    last = max(at for at, _ in sent.values())
    answered_by_now = [number for number, (at, _) in sent.items() if last - at > 3 * MINUTE]
    missing = sum(number not in delays for number in answered_by_now)
    late = sum(delays.get(number, 0) > MINUTE for number in answered_by_now)
    assert 0 < missing < len(answered_by_now) / 10
    assert 0 < late < len(answered_by_now) / 10
    assert all(0 < delay <= 3 * MINUTE for delay in delays.values())


def test_both_radars_hear_most_signals_within_a_second_and_triangulation_finds_the_vehicle() -> None:
    heard: dict[str, list[tuple[Instant, str, float]]] = {"radar1": [], "radar2": []}
    for stream, change in arrivals("radar", 0.2, 200):
        if change.tsid == 2:
            event = element(change)
            heard[stream].append(
                (when(change), event.findtext("frequency") or "", float(event.findtext("angle") or ""))
            )
    positions, alone = [], 0
    for at, frequency, angle in heard["radar1"]:
        partners = [
            other
            for then, tuned, other in heard["radar2"]
            if tuned == frequency and then // SECOND == at // SECOND and abs(then - at) <= SECOND
        ]
        alone += not partners
        for other in partners:
            a, b = radians(angle), radians(other)
            distance = 10 * sin(b) / sin(b - a)
            positions.append((distance * cos(a), distance * sin(a)))
    assert positions
    assert 0 < alone < len(heard["radar1"]) / 4
    assert all(-0.2 <= x <= 10.2 and 0.4 <= y <= 8.7 for x, y in positions)


def test_ambulances_pass_sensors_near_lights_at_the_instant_they_report() -> None:
    vehicles: list[tuple[Instant, tuple[float, float]]] = []
    sensors: dict[Instant, list[tuple[float, float]]] = defaultdict(list)
    lights: dict[int, list[str]] = defaultdict(list)
    for stream, change in arrivals("traffic", 0.5, 1000):
        if change.tsid != 2:
            continue
        event = element(change)
        place = float(event.findtext("location/x") or ""), float(event.findtext("location/y") or "")
        if stream == "vehicle" and event.findtext("type") == "ambulance":
            vehicles.append((when(change), place))
        elif stream == "road_sensor":
            assert float(event.findtext("speed") or "") > 0
            sensors[when(change)].append(place)
        elif stream == "traffic_light":
            lights[change.region].append(event.findtext("status") or "")
    close = [at for at, (x, y) in vehicles for sensor in sensors[at] if abs(sensor[0] - x) + abs(sensor[1] - y) < 25]
    assert close
    following = {"red": "green", "green": "yellow", "yellow": "red"}
    assert all(following[before] == after for shown in lights.values() for before, after in pairwise(shown))
    assert max(map(len, lights.values())) > 2


def test_a_stock_is_rated_priced_repeated_listed_and_delisted() -> None:
    kinds = Counter(
        (type(change), change.tsid) for stream, change in arrivals("stock", 0.05, 2000) if stream == "stock"
    )
    for kind in ((Replace, 2), (Replace, 3), (Repeat, 3), (Remove, 1)):
        assert kinds[kind] > 0
    assert kinds[Fill, 1] > 50


def test_the_ticker_renames_halts_resumes_freezes_lists_and_delists() -> None:
    made = find("stock")
    known = Materialiser(parse_structure(made.structures["ticker"]))
    seen: Counter[type[Change]] = Counter()
    ibm, emptied = set(), 0
    for stream, change in arrivals("stock", 0.03, 2000):
        if stream == "ticker":
            known.apply(change)
            seen[type(change)] += 1
            emptied += isinstance(change, Replace) and change.content == b""
            ibm.add(known.text().count("<name>IBM</name>"))
    assert min(seen[Hide], seen[Show], seen[Freeze], emptied) > 0
    assert len(ibm) > 2


def test_commodities_join_currencies_and_both_move() -> None:
    known = {name: Materialiser(parse_structure(find(name).structures[name])) for name in ("commodities", "currencies")}
    answers = set()
    for name, factor in (("currencies", 0.3), ("commodities", 0.05)):
        for _, change in arrivals(name, factor, 150):
            known[name].apply(change)
            if name == "commodities" and not isinstance(change, Fill):
                answers.add(pounds(*(known[n].text() for n in ("commodities", "currencies"))))
    assert len(answers) > 4
    assert max(map(len, answers)) > 2


def pounds(commodities: str, currencies: str) -> tuple[str, ...]:
    """DBPL'03 §1: what the PalmPilots cost in GBP, lowest first."""
    if not commodities or not currencies:
        return ()
    rates = {
        currency.findtext("code"): float(rate.findtext("buying") or "")
        for currency in ElementTree.fromstring(currencies).findall("currency")
        for rate in currency.findall("rates/currency")
        if rate.findtext("code") == "GBP"
    } | {"GBP": 1.0}
    prices = [
        item.find("price")
        for item in ElementTree.fromstring(commodities).iter("item")
        if item.findtext("model") == "PalmPilot"
    ]
    found = [
        float(price.text or "") * rates[price.get("currency")]
        for price in prices
        if price is not None and price.get("currency") in rates
    ]
    return tuple(f"{amount:.2f}" for amount in sorted(found))


def test_vendors_are_sent_again_and_items_removed_and_brought_back() -> None:
    removed: set[int] = set()
    back, again, repeated = 0, 0, 0
    for _, change in arrivals("commodities", 0.1, 2000):
        if isinstance(change, Remove):
            removed.add(change.region)
        elif isinstance(change, Fill) and change.region in removed:
            back += 1
        again += isinstance(change, Replace) and change.tsid == 2
        repeated += isinstance(change, Repeat)
    assert removed
    assert min(back, again, repeated) > 0

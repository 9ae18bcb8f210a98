"""What was so, and since when. Between two sightings a number may have been anything in between."""

import bisect
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

At = tuple[str, int]


@dataclass(frozen=True)
class Sight:
    """A log as its broker told it, asked for and answered at these times."""

    asked: float
    answered: float
    earliest: int
    latest: int


@dataclass(frozen=True)
class Bounds:
    """Between which offsets the log's start and end lay, all through a stretch of time."""

    earliest: tuple[int, int]
    latest: tuple[int, int]


class Log:
    """One partition. Of equal sights only the first and the last are kept."""

    def __init__(self):
        self.sights: list[Sight] = []
        # Of the records that were written, by offset: in seconds.
        self.stamps: dict[int, float] = {}
        # DeleteRecords: between which moments it was asked for, and up to where.
        self.wishes: list[tuple[float, float, int]] = []

    def see(self, sight: Sight) -> Sight | None:
        """Takes in a sight. Returns the one before when the log's start rose since then."""
        before = self.sights[-1] if self.sights else None
        same = [one for one in self.sights[-2:] if (one.earliest, one.latest) == (sight.earliest, sight.latest)]
        if len(same) == 2:
            self.sights[-1] = sight
        else:
            self.sights.append(sight)
        return before if before and before.earliest < sight.earliest else None

    def known_until(self) -> float:
        return self.sights[-1].asked if self.sights else 0.0

    def during(self, start: float, end: float) -> Bounds | None:
        """None where it is not known: nothing was seen before the start, or after the end."""
        first = bisect.bisect_right(self.sights, start, key=lambda sight: sight.answered) - 1
        last = bisect.bisect_left(self.sights, end, key=lambda sight: sight.asked)
        if first < 0 or last >= len(self.sights):
            return None
        seen = self.sights[first : last + 1]
        # A leader deletes before its followers know of it. When it dies then, the next one has the old start, and both
        # were so; who asks only before and after sees neither.
        wished = [upto for began, ended, upto in self.wishes if began <= end and ended >= seen[0].asked]
        return Bounds(
            (min(one.earliest for one in seen), max(*wished, *(one.earliest for one in seen), 0)),
            (min(one.latest for one in seen), max(one.latest for one in seen)),
        )

    def passed(self, offset: int, since: float) -> tuple[float, float] | None:
        """Between which moments the log's start went past an offset that it had then."""
        there = None
        for sight in self.sights:
            if sight.earliest <= offset:
                there = sight.asked
            elif sight.answered > since and there is not None:
                return there, sight.answered
        return None


@dataclass(frozen=True)
class View:
    """What a checkpoint says, as long as nobody changes it."""

    committed: dict[At, int]
    planned: dict[At, int] | None
    newest_planned: int | None
    newest_committed: int | None
    committed_at: float | None
    query_id: str
    readable: bool = True
    # Whether Spark would start: what may be said of it.
    restartable: frozenset = frozenset({1.0})
    # Which problem stands, once two rounds have seen it.
    problem: str | None = None

    def but(self, **changes) -> "View":
        return replace(self, **changes)


@dataclass
class Changes:
    """One value over time: each change happened between two moments."""

    steps: list[tuple[float, float, object]] = field(default_factory=list)

    def change(self, began: float, noticed: float, value) -> None:
        """From `began` on it may be seen; from `noticed` on nothing before it is."""
        self.steps.append((began, noticed, value))

    @property
    def now(self):
        return self.steps[-1][2]

    def during(self, start: float, end: float) -> list:
        """Every value that may have been seen."""
        seen = []
        for began, noticed, value in reversed(self.steps):
            if began <= end:
                seen.append(value)
                if noticed <= start:
                    break
        return seen


class Ranges:
    """A set of offsets."""

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()):
        self.ranges: list[tuple[int, int]] = []
        for start, end in ranges:
            self.add(start, end)

    def add(self, start: int, end: int) -> None:
        if start >= end:
            return
        apart = [one for one in self.ranges if one[1] < start or one[0] > end]
        touching = [one for one in self.ranges if not (one[1] < start or one[0] > end)]
        start, end = min([start, *(one[0] for one in touching)]), max([end, *(one[1] for one in touching)])
        self.ranges = sorted([*apart, (start, end)])

    def size(self) -> int:
        return sum(end - start for start, end in self.ranges)

    def missing(self, start: int, end: int) -> list[tuple[int, int]]:
        """What of a range is not among them."""
        left = []
        for from_, to in self.ranges:
            if to <= start or from_ >= end:
                continue
            if from_ > start:
                left.append((start, from_))
            start = max(start, to)
        if start < end:
            left.append((start, end))
        return left


@dataclass(frozen=True)
class Outage:
    """Something could not be read at all between these moments."""

    what: str
    began: float
    ended: float


class Truth:
    """Everything that was so. Written by the world and by the faults, read by the checker."""

    # The daemon's clock is looked up at most once a second.
    CLOCK_LAG = 1.6

    def __init__(self):
        self.lock = threading.RLock()
        self.logs: dict[At, Log] = {}
        self.retention: dict[str, float] = {}
        # By query.
        self.checkpoints: dict[str, Changes] = {}
        self.clusters: dict[str, str] = {}
        self.reads: dict[str, list[str]] = {}
        # Offsets that went while they were unread, by query and partition: at most, and for certain with when that was seen.
        self.lost: dict[tuple[str, At], Ranges] = {}
        self.surely_lost: dict[tuple[str, At], list[tuple[float, int, int]]] = {}
        # The highest position ever, since the checkpoint began.
        self.highest: dict[tuple[str, At], int] = {}
        # By query: when its committed offsets changed.
        self.moved: dict[str, list[float]] = {}
        # By query: the last such move, and to where, that a hand undid.
        self.taken_back: dict[str, tuple[float, dict[At, int] | None]] = {}
        self.second_reading = 30.0
        # By query: until when what a hand changed may go unnoticed.
        self.edited: dict[str, float] = {}
        # While a topic is deleted and made, nothing is known of it.
        self.disturbed: list[tuple[str, float, float]] = []
        # Topics that were made for a while. What was counted of them may go with them.
        self.ended: set[str] = set()
        # Queries that stand on the log of a topic that is no more.
        self.astray: dict[tuple[str, str], float] = {}
        self.clock: list[tuple[float, float]] = [(0.0, 0.0)]
        self.outages: list[Outage] = []
        # When brokers and ways to them were hit: look-ups by time may not have come to their end in time.
        self.hindered: list[list[float]] = []
        # What ever happened: to a query, a topic, a cluster, or to the watcher.
        self.causes: set[tuple[str, str]] = set()

    # Written

    def see(self, at: At, sight: Sight) -> None:
        with self.lock:
            log = self.logs.setdefault(at, Log())
            before = log.see(sight)
            if before:
                self._account(at, before.earliest, sight.earliest, before.asked, sight.answered)

    def write(self, query: str, began: float, ended: float, view: View, by_hand: bool = False) -> None:
        """What a hand took back is noticed by the second good reading at the latest: a reader that spares requests looks
        at the two newest files in turn."""
        with self.lock:
            changes = self.checkpoints.setdefault(query, Changes())
            before = changes.steps[-1][2].committed if changes.steps else None
            # Taking a commit back is no progress, and takes away what looked like some.
            moved = self.moved.setdefault(query, [])
            if by_hand:
                self._account_moved_back(query, view)
                if len(moved) > 1:
                    self.taken_back[query] = (moved.pop(), before)
            elif before != view.committed:
                # What comes back before anyone missed it is no progress either.
                was, there = self.taken_back.pop(query, (ended, view.committed))
                missed = began >= self.edited.get(query, 0.0) or there != view.committed
                moved.append(ended if missed else was)
            if by_hand:
                self.edited[query] = ended + self.second_reading
            # A commit that comes back before anyone missed it looks like the one that was there.
            ended = max(ended, self.edited.get(query, 0.0)) if began < self.edited.get(query, 0.0) else ended
            replaced = bool(changes.steps) and changes.now.query_id != view.query_id
            changes.change(began, ended, view)
            for at, offset in view.committed.items():
                key = (query, at)
                if replaced:
                    self.highest.pop(key, None)
                    # Of what the earlier one lost nobody has to speak any more.
                    self.surely_lost.pop(key, None)
                self.highest[key] = max(offset, self.highest.get(key, 0))

    def wish(self, at: At, began: float, ended: float, upto: int) -> None:
        """Records were asked to be deleted; whether that came about, or stayed, is not known here."""
        with self.lock:
            log = self.logs[at]
            log.wishes.append((began, ended, upto))
            self._account(at, log.sights[-1].earliest, upto, began, ended, surely=False)

    def forget_log(self, topic: str, began: float, ended: float) -> None:
        """The topic is another one from now on. What was unread of the old one is lost."""
        with self.lock:
            for at in [at for at in self.logs if at[0] == topic]:
                log = self.logs.pop(at)
                if log.sights:
                    last = log.sights[-1]
                    self._account(at, 0, last.latest + 1_000_000, last.asked, ended, surely=False)
            self.disturbed.append((topic, began, ended))

    def disturb(self, topic: str, began: float, ended: float) -> None:
        with self.lock:
            self.disturbed.append((topic, began, ended))

    def cause(self, what: str, whose: str = "") -> None:
        with self.lock:
            self.causes.add((what, whose))

    def _account_moved_back(self, query: str, view: View) -> None:
        """What went while it was read already is unread once more."""
        for at, offset in view.committed.items():
            log = self.logs.get(at)
            if log and log.sights and offset < log.sights[-1].earliest:
                self.lost.setdefault((query, at), Ranges()).add(offset, log.sights[-1].earliest)
                self.causes.add(("lost", query))

    def _account(self, at: At, old: int, new: int, asked: float, answered: float, surely: bool = True) -> None:
        for query, changes in self.checkpoints.items():
            views = changes.during(asked, answered)
            positions = [view.committed[at] for view in views if at in view.committed]
            if not positions:
                continue
            self.lost.setdefault((query, at), Ranges()).add(max(old, min(positions)), new)
            if surely and len({view.query_id for view in views}) == 1:
                done = max(*positions, self.highest.get((query, at), 0))
                if max(old, done) < new:
                    self.surely_lost.setdefault((query, at), []).append((answered, max(old, done), new))
            self.causes.add(("lost", query))

    # Read

    def offsets(self, start: float, end: float) -> set[float]:
        """How far the daemon's clock may have been ahead."""
        first = max(index for index, (at, _) in enumerate(self.clock) if at <= start - self.CLOCK_LAG or index == 0)
        return {offset for at, offset in self.clock[first:] if at <= end}

    def is_disturbed(self, topic: str, start: float, end: float) -> bool:
        return any(name == topic and began <= end and ended >= start for name, began, ended in self.disturbed)

    def was_out(self, what: str, start: float, end: float) -> bool:
        """Whether it could not be read all through this time."""
        return any(one.what == what and one.began < start and one.ended > end for one in self.outages)

    def is_hindered(self, start: float, end: float) -> bool:
        """Whether anything hit the brokers, or has just done so."""
        return any(began <= end and ended + 30 >= start for began, ended in self.hindered)

    def has_cause(self, what: str, whose: str = "") -> bool:
        return (what, whose) in self.causes

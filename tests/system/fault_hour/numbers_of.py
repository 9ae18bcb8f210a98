"""The numbers of one partition, held against each other and against the truth."""

import math
from typing import TYPE_CHECKING

from .exposition import Said
from .findings import SKEW, TICK, Part, Round
from .truth import At, View

if TYPE_CHECKING:
    from .checker import Checker


def check_numbers(checker: "Checker", said: Said, one: Round, part: Part, up: bool) -> None:
    """What is made of a position and of the bounds."""
    committed = part.numbers.get("committed_offset")
    place = (part.cluster, part.at[0], str(part.at[1]))
    earliest, latest = said.one("earliest_offset", *place), said.one("latest_offset", *place)
    if None in (committed, earliest, latest):
        return
    doubtful = part.problems & {"recreated", "beyond_end", "unverified", "unconfirmed", "gone", "pending"}
    wanted = {
        "headroom_offsets": committed - earliest,
        "lag_offsets": max(0, latest - max(committed, earliest)),
    }
    for family, number in wanted.items():
        value = part.numbers.get(family)
        if value is not None and not doubtful:
            checker.claim(value == number, said, family, part.key, value, f"{number} by its own offsets")
    gone = max(0, earliest - committed)
    lost, possibly = part.numbers.get("lost_offsets"), part.numbers.get("possibly_lost_offsets", 0)
    if lost is not None:
        checker.claim(lost + possibly == gone, said, "lost_offsets", part.key, (lost, possibly), gone)
    if up and not doubtful:
        check_retention(checker, said, one, part, committed, earliest, latest)


def check_retention(checker: "Checker", said: Said, one: Round, part: Part, committed: float, earliest: float, latest: float):
    retention = checker.truth.retention[part.at[0]]
    ratio = part.numbers.get("retention_remaining_ratio")
    deadline = part.numbers.get("deletion_deadline_timestamp_seconds")
    if earliest > committed:
        if "unknown" in part.problems:
            # No second look at the checkpoint bore it out: what was proved before goes on, and nothing new is said.
            return
        checker.claim(deadline is None, said, "deadline", part.key, deadline, "the record is gone")
        checker.claim(ratio in (None, 0), said, "retention_remaining_ratio", part.key, ratio, "the record is gone")
        return
    if committed >= latest or math.isinf(retention):
        checker.claim(ratio in (None, 1), said, "retention_remaining_ratio", part.key, ratio, 1)
    if math.isinf(retention):
        checker.claim(deadline in (None, math.inf), said, "deadline", part.key, deadline, "never")
        return
    if one.finished is None or one.offsets != {0.0} or deadline is None:
        return
    if ratio is not None and committed < latest:
        left = min(max((deadline - one.finished) / retention, 0), 1)
        near = abs(ratio - left) < 2 * TICK / retention + 1e-9
        checker.claim(near, said, "retention_remaining_ratio", part.key, ratio, left)
    place = (part.at, int(committed))
    if deadline > checker.deadlines.get(place, (-math.inf, 0.0))[0]:
        checker.deadlines[place] = (deadline, said.asked)
        checker.promised.pop(place, None)
        if committed >= latest:
            checker.promised[place] = one.finished
    youngest, oldest = stamped(checker, one, part.at, int(committed), latest)
    if youngest is None:
        return
    best = min(youngest, one.finished) + retention - SKEW
    # Look-ups that a fault keeps from ending prove less: an earlier deadline, a younger record.
    hindered = checker.truth.is_hindered(one.start, one.end)
    worst = -math.inf if hindered else best - retention / 100 - TICK
    checker.claim(worst <= deadline <= best + TICK, said, "deadline", part.key, deadline, f"[{worst}, {best}]")
    unread = part.numbers.get("oldest_unread_timestamp_seconds")
    if unread is not None and oldest is not None:
        latest_good = math.inf if hindered else oldest + max(1.0, 0.05 * (one.finished - oldest)) + TICK
        right = oldest - TICK <= unread <= latest_good
        checker.claim(right, said, "oldest_unread", part.key, unread, f"[{oldest}, {latest_good}]")


def stamped(checker: "Checker", one: Round, at: At, committed: int, latest: float) -> tuple[float | None, float | None]:
    """The youngest stamp from the log's start up to the position, which protects it; and the position's own."""
    if committed >= latest:
        return one.finished, None
    bounds = checker.bounds(one, at)
    if bounds is None or bounds.earliest[0] != bounds.earliest[1]:
        return None, None
    stamps = checker.truth.logs[at].stamps
    found = [stamps.get(offset) for offset in range(bounds.earliest[0], committed + 1)]
    if not found or None in found:
        return None, None
    return max(found), found[-1]


def check_word(checker: "Checker", said: Said, one: Round, part: Part, views: list[View], up: bool) -> None:
    """Whether it is called fine or lost, where nothing moved and nothing was in doubt."""
    bounds = checker.bounds(one, part.at)
    position = {view.committed.get(part.at) for view in views if view.readable}
    if not up or bounds is None or len(position) != 1 or None in position or len(views) != 1:
        return
    if said.one("earliest_offset", part.cluster, part.at[0], str(part.at[1])) is None:
        # Its leader did not answer: a loss that was seen before stays until something else is seen.
        return
    [committed] = position
    fixed = bounds.earliest[0] == bounds.earliest[1] and bounds.latest[0] == bounds.latest[1]
    if not fixed or (part.query, part.at[0]) in checker.truth.astray or "unknown" in part.problems:
        return
    of_loss = part.problems & {"lost", "possibly_lost", "unverified"}
    if bounds.earliest[0] > committed:
        checker.claim(bool(of_loss), said, "verdict", part.key, part.problems or "fine", f"{bounds}, at {committed}")
    elif committed <= bounds.latest[0]:
        bad = part.problems - {"retention_unknown"}
        checker.claim(not bad, said, "verdict", part.key, bad, f"{bounds}, at {committed}: nothing is wrong")

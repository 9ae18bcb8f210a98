"""What can only be judged later: deadlines once the deletion came, records of gaps once all is told."""

from typing import TYPE_CHECKING

from .findings import SKEW, Wrong
from .truth import At, Ranges

if TYPE_CHECKING:
    from .checker import Checker


def judge_deadlines(checker: "Checker") -> None:
    """No deadline was later than the deletion that came."""
    for (at, committed), (deadline, said_at) in checker.deadlines.items():
        log = checker.truth.logs.get(at)
        went = log.passed(committed, said_at) if log else None
        promised = checker.promised.get((at, committed))
        if promised is not None and went is not None and log.stamps.get(committed, 0.0) < promised - SKEW:
            # It waited for a broker before it was written.
            continue
        if went is not None:
            checker.checks["deadline before the deletion"] += 1
            if deadline > went[1]:
                wrong = Wrong(said_at, "deadline before the deletion", (*at, committed), deadline, f"gone {went}")
                checker.wrong.append(wrong)


def check_gaps(checker: "Checker", said_at: float, gaps: list[dict], looked_at: float) -> None:
    """Records of certain loss hold only what was lost; what was surely lost before the newest rounds looked stands
    in some record, once."""
    by_log: dict[tuple[str, At], list[tuple[int, int, str]]] = {}
    for gap in gaps:
        key = (gap["stream_name"], (gap["topic"], gap["partition"]))
        span = (gap["missing_from_offset"], gap["missing_to_offset_exclusive"], gap["certainty"])
        by_log.setdefault(key, []).append(span)
    with checker.truth.lock:
        for key, spans in by_log.items():
            twice = sum(end - start for start, end, _ in spans) - Ranges((a, b) for a, b, _ in spans).size()
            if (key[0], key[1][0]) not in checker.truth.astray:
                _gap(checker, twice == 0, said_at, key, spans, f"{twice} offsets stand in two records")
            lost = checker.truth.lost.get(key, Ranges())
            for start, end, certainty in spans:
                extra = lost.missing(start, end) if certainty == "certain" else []
                _gap(checker, not extra, said_at, key, (start, end), f"not lost: {extra}")
        for key, losses in checker.truth.surely_lost.items():
            astray = (key[0], key[1][0]) in checker.truth.astray
            if astray or key[0] in checker.guests or checker.truth.has_cause("superseded", key[0]):
                continue
            recorded = Ranges((start, end) for start, end, _ in by_log.get(key, []))
            for seen_at, start, end in losses:
                left = recorded.missing(start, end) if seen_at < looked_at else []
                _gap(checker, not left, said_at, key, (start, end), f"in no record: {left}")


def _gap(checker: "Checker", right: bool, said_at: float, key: tuple, said: object, truth: str) -> None:
    checker.checks["gap records"] += 1
    if not right:
        checker.wrong.append(Wrong(said_at, "gap records", key, said, truth))

"""The fault hour's checker: what is true passes, and every kind of lie is found."""

import pytest

from .fault_hour.afterwards import check_gaps, judge_deadlines
from .fault_hour.checker import Checker
from .fault_hour.exposition import Said
from .fault_hour.truth import Outage, Ranges, Sight, Truth, View

AT = ("orders", 0)
NOW = 1_000_000.0
OF = 'query="q",kafka_cluster="main"'
PLACE = f'{OF},topic="orders",partition="0"'
LOG = 'kafka_cluster="main",topic="orders",partition="0"'
# A round that read between 998 and 999 and found 60 of 100 offsets read, and the first 20 deleted; an hour is kept.
TRUE = {
    'cluster_up{kafka_cluster="main"}': 1,
    'cluster_polls_total{kafka_cluster="main"}': 7,
    'cluster_poll_last_attempt_timestamp_seconds{kafka_cluster="main"}': NOW - 2,
    'cluster_poll_last_success_timestamp_seconds{kafka_cluster="main"}': NOW - 1,
    'cluster_poll_duration_seconds{kafka_cluster="main"}': 1,
    f"earliest_offset{{{LOG}}}": 20,
    f"latest_offset{{{LOG}}}": 100,
    'topic_retention_seconds{kafka_cluster="main",topic="orders"}': 3600,
    f"checkpoint_up{{{OF}}}": 1,
    f"committed_offset{{{PLACE}}}": 60,
    f"headroom_offsets{{{PLACE}}}": 40,
    f"lag_offsets{{{PLACE}}}": 40,
    f"lost_offsets{{{PLACE}}}": 0,
    f"possibly_lost_offsets{{{PLACE}}}": 0,
    f"deletion_deadline_timestamp_seconds{{{PLACE}}}": NOW + 3095,
    f"oldest_unread_timestamp_seconds{{{PLACE}}}": NOW - 500,
    f"retention_remaining_ratio{{{PLACE}}}": 3096 / 3600,
    f'query_state{{{OF},state="behind"}}': 1,
    f'query_state{{{OF},state="lost"}}': 0,
    f'query_condition{{{OF},condition="lost"}}': 0,
    f'query_condition{{{OF},condition="stalled"}}': 0,
    f"query_newest_planned_batch{{{OF}}}": 3,
    f"query_newest_committed_batch{{{OF}}}": 3,
    f"query_restartable{{{OF}}}": 1,
    f"query_last_commit_timestamp_seconds{{{OF}}}": NOW - 30,
    f'query_topic_partitions{{{OF},topic="orders",state="behind"}}': 1,
    f'query_topic_partitions{{{OF},topic="orders",state="caught_up"}}': 0,
    f'query_topic_lag_offsets{{{OF},topic="orders"}}': 40,
    f'query_topic_committed_offsets{{{OF},topic="orders"}}': 60,
    f'query_topic_lost_offsets{{{OF},topic="orders"}}': 0,
    f'query_topic_possibly_lost_offsets{{{OF},topic="orders"}}': 0,
    f'query_topic_headroom_offsets{{{OF},topic="orders"}}': 40,
    f'query_topic_deletion_deadline_timestamp_seconds{{{OF},topic="orders"}}': NOW + 3095,
    f'query_topic_oldest_unread_timestamp_seconds{{{OF},topic="orders"}}': NOW - 500,
    f'query_topic_offsets_lost_total{{{OF},topic="orders",certainty="certain"}}': 0,
}


def truth() -> Truth:
    it = Truth()
    it.retention["orders"] = 3600.0
    it.write("q", NOW - 40, NOW - 30, View({AT: 60}, None, 3, 3, NOW - 30, "id"))
    for when in (NOW - 20, NOW + 1):
        it.see(AT, Sight(when, when + 0.1, 20, 100))
    it.logs[AT].stamps = {offset: NOW - 560 + offset for offset in range(100)}
    return it


def said(changes: dict, at: float = NOW) -> Said:
    lines = {**TRUE, **changes}
    text = "".join(f"brinkwatch_{series} {value}\n" for series, value in lines.items() if value is not None)
    return Said(text, at - 0.1, at)


def found(changes: dict, it: Truth | None = None, at: float = NOW) -> set[str]:
    checker = Checker(it or truth(), stale_after=8, stall_after=60)
    checker.judge(said(changes, at))
    return {one.family for one in checker.wrong}


def test_what_is_true_passes():
    assert found({}) == set()


def test_of_more_partitions_than_are_told_only_problems_are():
    numbers = {series: None for series in TRUE if PLACE in series}
    problem = {f'partition_problem{{{PLACE},problem="unknown"}}': 1}
    dropped = {f"query_series_dropped{{{OF}}}": 60_000}
    state = {
        f'query_topic_partitions{{{OF},topic="orders",state="behind"}}': 0,
        f'query_topic_partitions{{{OF},topic="orders",state="unknown"}}': 1,
        f'query_condition{{{OF},condition="unknown"}}': 1,
    }
    assert found(numbers | problem | state | dropped) == set()
    assert "committed_offset" in found(numbers | problem | state)


LIES = {
    "a committed offset that never was": ({f"committed_offset{{{PLACE}}}": 61}, "committed_offset"),
    "a batch that never was": ({f"query_newest_committed_batch{{{OF}}}": 4}, "query_newest_committed_batch"),
    "a plan that never was": ({f"planned_offset{{{PLACE}}}": 70}, "planned_offset"),
    "an earliest that is too low": ({f"earliest_offset{{{LOG}}}": 19}, "earliest_offset"),
    "a latest that is too high": ({f"latest_offset{{{LOG}}}": 101}, "latest_offset"),
    "one unread offset too few": ({f"lag_offsets{{{PLACE}}}": 39}, "lag_offsets"),
    "headroom that is one off": ({f"headroom_offsets{{{PLACE}}}": 41}, "headroom_offsets"),
    "a loss that never was": ({f"lost_offsets{{{PLACE}}}": 1}, "lost_offsets"),
    "a loss that is counted": (
        {f'query_topic_offsets_lost_total{{{OF},topic="orders",certainty="certain"}}': 1},
        "query_topic_offsets_lost_total",
    ),
    "a problem that never was": ({f'partition_problem{{{PLACE},problem="lost"}}': 1}, "verdict"),
    "a deadline that is too late": (
        {f"deletion_deadline_timestamp_seconds{{{PLACE}}}": NOW + 3095.1}, "deadline",
    ),
    "a deadline that gives away too much": ({f"deletion_deadline_timestamp_seconds{{{PLACE}}}": NOW + 3050}, "deadline"),
    "a share that does not fit its deadline": (
        {f"retention_remaining_ratio{{{PLACE}}}": 0.87}, "retention_remaining_ratio",
    ),
    "an age that is overstated": ({f"oldest_unread_timestamp_seconds{{{PLACE}}}": NOW - 501}, "oldest_unread"),
    "another retention": (
        {'topic_retention_seconds{kafka_cluster="main",topic="orders"}': 7200}, "topic_retention_seconds",
    ),
    "a sum that is none": (
        {f'query_topic_lag_offsets{{{OF},topic="orders"}}': 41}, "query_topic_lag_offsets",
    ),
    "a sum that is absent": (
        {f'query_topic_committed_offsets{{{OF},topic="orders"}}': None}, "query_topic_committed_offsets",
    ),
    "a partition in the wrong state": (
        {
            f'query_topic_partitions{{{OF},topic="orders",state="behind"}}': 0,
            f'query_topic_partitions{{{OF},topic="orders",state="caught_up"}}': 1,
        },
        "partitions by state",
    ),
    "a query that is called lost": (
        {f'query_state{{{OF},state="lost"}}': 1, f'query_state{{{OF},state="behind"}}': 0}, "query_state",
    ),
    "two states at once": ({f'query_state{{{OF},state="lost"}}': 1}, "query_state"),
    "a stall that never was": ({f'query_condition{{{OF},condition="stalled"}}': 1}, "query_condition"),
    "a restart that would not fail": ({f"query_restartable{{{OF}}}": 0}, "query_restartable"),
    "a commit at another time": (
        {f"query_last_commit_timestamp_seconds{{{OF}}}": NOW - 31}, "query_last_commit_timestamp_seconds",
    ),
    "a poll in the future": (
        {'cluster_poll_last_attempt_timestamp_seconds{kafka_cluster="main"}': NOW + 1}, "poll times",
    ),
    "numbers of a cluster that is away": ({'cluster_up{kafka_cluster="main"}': 0}, "up"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found(lie):
    changes, family = LIES[lie]
    assert family in found(changes)


def test_a_loss_that_is_kept_quiet_is_found():
    it = truth()
    it.logs[AT].sights = [Sight(when, when + 0.1, 70, 100) for when in (NOW - 20, NOW + 1)]
    quiet = {f"earliest_offset{{{LOG}}}": 70, f"headroom_offsets{{{PLACE}}}": -10, f"lag_offsets{{{PLACE}}}": 30}
    assert {"verdict", "lost_offsets"} <= found(quiet, it)


def test_a_number_of_an_earlier_round_is_found_once_the_round_is_over():
    it = truth()
    it.write("q", NOW - 10, NOW - 10, View({AT: 80}, None, 4, 4, NOW - 10, "id"))
    assert "committed_offset" in found({}, it)


def test_a_number_that_was_true_while_the_round_read_passes():
    it = truth()
    it.write("q", NOW - 1.5, NOW - 1.5, View({AT: 80}, None, 4, 4, NOW - 1.5, "id"))
    assert found({}, it) == set()


def test_a_start_that_only_the_dying_leader_had_passes_while_nobody_knows_better():
    start = {f"earliest_offset{{{LOG}}}": 50, f"headroom_offsets{{{PLACE}}}": 10}
    start |= {f'query_topic_headroom_offsets{{{OF},topic="orders"}}': 10}
    assert "earliest_offset" in found(start)
    it = truth()
    it.wish(AT, NOW - 4, NOW - 3, 50)
    assert found(start, it) == set()
    it.logs[AT].sights = [Sight(when, when + 0.1, 20, 100) for when in (NOW - 2.9, NOW + 1)]
    assert "earliest_offset" in found(start, it)


def test_what_went_while_it_was_read_is_unread_again_once_the_commit_is_taken_back():
    it = Truth()
    for when, start in ((10, 20), (40, 70)):
        it.write("q", when, when, View({AT: 60 + when}, None, 3, 3, when, "id"))
        it.see(AT, Sight(when + 1, when + 1, start, 200))
    assert not it.lost["q", AT].ranges
    it.write("q", 50, 50, View({AT: 65}, None, 3, 2, None, "id"), by_hand=True)
    assert it.lost["q", AT].ranges == [(65, 70)]
    # Nor did the query go on with that commit.
    assert it.moved["q"] == [10]


@pytest.mark.parametrize(("back", "stalled_is_right"), [(60, True), (61, False)], ids=["the same", "further"])
def test_a_commit_that_came_back_before_anyone_missed_it_is_no_progress(back, stalled_is_right):
    it = truth()
    it.checkpoints.clear()
    it.moved.clear()
    it.write("q", NOW - 100, NOW - 100, View({AT: 50}, None, 2, 2, NOW - 100, "id"))
    it.write("q", NOW - 90, NOW - 90, View({AT: 60}, None, 3, 3, NOW - 90, "id"))
    it.write("q", NOW - 20, NOW - 20, View({AT: 50}, None, 3, 2, None, "id"), by_hand=True)
    it.write("q", NOW - 15, NOW - 15, View({AT: back}, None, 3, 3, NOW - 30, "id"))
    stalled = {f'query_condition{{{OF},condition="stalled"}}': 1}
    assert ("query_condition" not in found(stalled, it)) == stalled_is_right


def test_sums_of_a_query_of_which_not_every_partition_is_told_are_not_judged():
    told = {f'query_topic_partitions{{{OF},topic="orders",state="behind"}}': 9}
    told[f'query_topic_lag_offsets{{{OF},topic="orders"}}'] = 360
    assert "query_topic_lag_offsets" in found(told)
    checker = Checker(truth(), stale_after=8, stall_after=60, large=frozenset({"q"}))
    checker.judge(said(told))
    assert not checker.wrong


def test_a_counter_may_go_with_its_topic():
    it = truth()
    checker = Checker(it, stale_after=8, stall_after=60)
    checker.judge(said({}))
    it.ended.add("orders")
    checker.judge(said({f'query_topic_offsets_lost_total{{{OF},topic="orders",certainty="certain"}}': None}))
    assert not checker.wrong


def test_values_that_outlive_their_time_are_found():
    it = truth()
    it.see(AT, Sight(NOW + 30, NOW + 30, 20, 100))
    assert "staleness" in found({}, it, at=NOW + 15)


def test_a_store_that_was_out_can_not_have_been_read():
    it = truth()
    it.outages.append(Outage("checkpoint q", NOW - 10, NOW + 10))
    assert "checkpoint_up" in found({}, it)


def test_a_counter_that_falls_or_vanishes_is_found():
    for value in (6, None):
        checker = Checker(truth(), stale_after=8, stall_after=60)
        checker.judge(said({}))
        checker.judge(said({'cluster_polls_total{kafka_cluster="main"}': value}))
        assert {one.family for one in checker.wrong} == {"counters"}


def test_a_deadline_after_the_deletion_is_found():
    it = truth()
    checker = Checker(it, stale_after=8, stall_after=60)
    checker.judge(said({}))
    it.see(AT, Sight(NOW + 3000, NOW + 3000.1, 70, 100))
    judge_deadlines(checker)
    assert {one.family for one in checker.wrong} == {"deadline before the deletion"}


def gap(start: int, end: int, certainty: str = "certain") -> dict:
    return {
        "stream_name": "q", "topic": "orders", "partition": 0, "certainty": certainty,
        "missing_from_offset": start, "missing_to_offset_exclusive": end,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("records", "wrong"),
    [
        ([gap(60, 90)], 0),
        ([gap(60, 80), gap(80, 90, "possible")], 0),
        ([gap(50, 90)], 1),
        ([gap(60, 80)], 1),
        ([], 1),
        ([gap(60, 80), gap(70, 90)], 1),
    ],
)
def test_records_of_gaps_are_held_against_what_was_deleted_unread(records, wrong):
    it = truth()
    it.see(AT, Sight(NOW + 3, NOW + 3, 90, 100))
    checker = Checker(it, stale_after=8, stall_after=60)
    check_gaps(checker, NOW + 5, records, looked_at=NOW + 4)
    assert len(checker.wrong) == wrong, checker.wrong


def test_ranges_merge_and_tell_what_they_lack():
    ranges = Ranges([(0, 5), (10, 15), (5, 8)])
    assert ranges.ranges == [(0, 8), (10, 15)] and ranges.size() == 13
    assert ranges.missing(6, 20) == [(8, 10), (15, 20)]

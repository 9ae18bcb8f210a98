"""Holds each published number against the truth of the time in which its round was made.

A round reads between its start and its end; so a number must have been so at some instant in between, or be absent
where what it needs was not to be had. Numbers that are made of others must fit them to the last offset.
"""

import time
from collections import Counter
from dataclasses import dataclass, field

from .afterwards import judge_deadlines
from .exposition import Said
from .findings import MEASURED, STATES, TICK, Part, Round, Wrong
from .numbers_of import check_numbers, check_word
from .truth import At, Bounds, Truth, View


@dataclass
class Checker:
    truth: Truth
    stale_after: float
    stall_after: float
    # Queries that come and go with the configuration.
    guests: frozenset[str] = frozenset()
    # Queries of so many partitions that only those with a problem may be told one by one.
    large: frozenset[str] = frozenset()
    checks: Counter = field(default_factory=Counter)
    wrong: list[Wrong] = field(default_factory=list)
    undecided: int = 0
    scrapes: int = 0
    pending: list[Said] = field(default_factory=list)
    counters: dict[tuple, float] = field(default_factory=dict)
    # By partition: when the round began that last read its position.
    last_read: dict[tuple, float] = field(default_factory=dict)
    # By place and position: the latest deadline, and when it was said.
    deadlines: dict[tuple[At, int], tuple[float, float]] = field(default_factory=dict)
    # Those of positions at the end: of a record that comes, unless it is stamped earlier than this.
    promised: dict[tuple[At, int], float] = field(default_factory=dict)

    def claim(self, right: bool, said: Said, family: str, of: tuple, value: object, truth: object) -> None:
        self.checks[family] += 1
        if not right:
            self.wrong.append(Wrong(said.answered, family, of, value, truth))

    # In time: a scrape is judged once the truth of its time is known on both sides.

    def feed(self, said: Said) -> None:
        self.pending.append(said)
        with self.truth.lock:
            known = min((log.known_until() for log in self.truth.logs.values() if log.sights), default=0.0)
            while self.pending and (known > self.pending[0].answered or len(self.pending) > 200):
                self.judge(self.pending.pop(0))

    def judge_rest(self, patience: float = 30) -> None:
        """At the end, once the truth of the last scrape is known as well."""
        until = time.monotonic() + patience
        while self.pending and time.monotonic() < until:
            self.feed(self.pending.pop())
            time.sleep(0.1)
        with self.truth.lock:
            self.undecided += len(self.pending)
            judge_deadlines(self)

    def judge(self, said: Said) -> None:
        self.scrapes += 1
        self.check_counters(said)
        rounds = {key[0]: self.round(said, key[0]) for key in said.of("cluster_up")}
        rounds = {name: one for name, one in rounds.items() if one is not None}
        for one in rounds.values():
            self.check_up(said, one)
            if self.is_stale(said, one):
                self.check_stale(said, one)
            else:
                self.check_logs(said, one)
        for query, cluster in said.of("checkpoint_up"):
            if cluster in rounds and query in self.truth.checkpoints:
                self.check_query(said, rounds[cluster], query)

    # Rounds

    def round(self, said: Said, cluster: str) -> Round | None:
        attempt = said.one("cluster_poll_last_attempt_timestamp_seconds", cluster)
        if attempt is None:
            return None
        took = said.one("cluster_poll_duration_seconds", cluster) or 0.0
        offsets = self.truth.offsets(said.answered - 90, said.answered)
        starts = [attempt - offset for offset in offsets if attempt - offset <= said.answered + 0.05]
        self.claim(bool(starts), said, "poll times", (cluster,), attempt, "a poll that was tried in the future")
        if not starts:
            return None
        near = [start for start in starts if start > said.answered - 90] or starts
        success = said.one("cluster_poll_last_success_timestamp_seconds", cluster)
        up = said.one("cluster_up", cluster) == 1
        finished = success - next(iter(offsets)) if up and success is not None and len(offsets) == 1 else None
        end = min(said.answered, max(near) + took + 0.25)
        return Round(cluster, min(near) - 0.02, end, finished, offsets, up)

    def is_stale(self, said: Said, one: Round) -> bool:
        """Whether the round is certainly too old to be believed."""
        return len(one.offsets) == 1 and said.asked - one.end > self.stale_after + 1

    def check_stale(self, said: Said, one: Round) -> None:
        self.claim(not one.up, said, "staleness", (one.cluster,), "cluster_up 1", f"no round since {one.end:.1f}")
        for family in MEASURED:
            told = [key for key in said.of(family) if key[1] == one.cluster]
            self.claim(not told, said, "staleness", (family,), told[:1], f"no round since {one.end:.1f}")

    def check_up(self, said: Said, one: Round) -> None:
        out = self.truth.was_out(f"cluster {one.cluster}", one.start, one.end)
        self.claim(not (one.up and out), said, "up", (one.cluster,), 1, "no broker could be reached all through")
        told = [key for key in said.of("latest_offset") if key[0] == one.cluster] if not one.up else []
        self.claim(not told, said, "up", (one.cluster,), told[:1], "cluster_up is 0")

    # Logs

    def check_logs(self, said: Said, one: Round) -> None:
        for family in ("earliest_offset", "latest_offset"):
            for (cluster, topic, partition), value in said.of(family).items():
                if cluster != one.cluster:
                    continue
                bounds = self.bounds(one, (topic, int(partition)))
                if bounds is None:
                    self.undecided += 1
                    continue
                low, high = bounds.earliest if family == "earliest_offset" else bounds.latest
                self.claim(low <= value <= high, said, family, (topic, partition), value, f"[{low}, {high}]")
        for (cluster, topic), value in said.of("topic_retention_seconds").items():
            if cluster == one.cluster and topic in self.truth.retention:
                wanted = self.truth.retention[topic]
                self.claim(value == wanted, said, "topic_retention_seconds", (topic,), value, wanted)

    def bounds(self, one: Round, at: At) -> Bounds | None:
        if self.truth.is_disturbed(at[0], one.start - 0.5, one.end + 0.5) or at not in self.truth.logs:
            return None
        return self.truth.logs[at].during(one.start, one.end)

    # Queries

    def check_query(self, said: Said, one: Round, query: str) -> None:
        of = (query, one.cluster)
        up = said.one("checkpoint_up", *of) == 1
        views: list[View] = self.truth.checkpoints[query].during(one.start, one.end)
        readable = [view for view in views if view.readable]
        out = self.truth.was_out(f"checkpoint {query}", one.start, one.end)
        self.claim(not up or (bool(readable) and not out), said, "checkpoint_up", of, 1, "it could not be read")
        if self.is_stale(said, one) or said.one("cluster_polls_total", one.cluster) == 0:
            return
        if up and readable and "superseded" not in said.hot("query_state", *of):
            self.check_checkpoint(said, of, readable)
        parts = self.parts(said, query, one.cluster)
        if said.one("query_series_dropped", *of):
            # Too many partitions to tell each: their problems are told, and no number beside them.
            self.undecided += len(parts)
            parts = []
        for part in parts:
            self.check_position(said, one, part, readable if up else None)
            if one.up:
                check_numbers(self, said, one, part, up)
                check_word(self, said, one, part, views, up)
        if one.up:
            self.check_topics(said, one, of, parts)
        self.check_state(said, one, of, up)
        self.check_losses(said, of)

    def check_checkpoint(self, said: Said, of: tuple, views: list[View]) -> None:
        for family, wanted in (
            ("query_newest_planned_batch", {view.newest_planned for view in views}),
            ("query_newest_committed_batch", {view.newest_committed for view in views}),
            ("query_restartable", set().union(*(view.restartable for view in views))),
        ):
            value = said.one(family, *of)
            self.claim(value in wanted, said, family, of, value, wanted)
        commits = [view.committed_at for view in views]
        value = said.one("query_last_commit_timestamp_seconds", *of)
        if None not in commits and value is not None:
            near = any(abs(value - at) <= TICK for at in commits)
            self.claim(near, said, "query_last_commit_timestamp_seconds", of, value, commits)
        told = said.hot("query_checkpoint_problem", *of)
        known = {view.problem for view in views}
        self.claim(told <= known, said, "query_checkpoint_problem", of, told, known)

    def parts(self, said: Said, query: str, cluster: str) -> list[Part]:
        return [
            Part(query, cluster, at, said.hot_of(key), said.numbers_of(key))
            for key, at in said.partitions_of(query, cluster)
        ]

    def check_position(self, said: Said, one: Round, part: Part, views: list[View] | None) -> None:
        """Without views the checkpoint was not read: what was last read stays. That may have been by a round of which
        nothing was scraped."""
        committed = part.numbers.get("committed_offset")
        if views is None:
            since = self.last_read.get(part.key, 0.0)
            views = self.truth.checkpoints[part.query].during(since, one.end)
            wanted = {view.committed.get(part.at) for view in views} | {None}
            self.claim(committed in wanted, said, "committed_offset", part.key, committed, f"not read; {wanted}")
            return
        if not views:
            return
        wanted = {view.committed.get(part.at) for view in views}
        self.claim(committed in wanted, said, "committed_offset", part.key, committed, wanted)
        planned = part.numbers.get("planned_offset")
        plans = {view.planned.get(part.at) if view.planned else None for view in views}
        self.claim(planned in plans, said, "planned_offset", part.key, planned, plans)
        self.last_read[part.key] = one.start

    # Sums and words

    def check_topics(self, said: Said, one: Round, of: tuple, parts: list[Part]) -> None:
        for topic in {part.at[0] for part in parts}:
            mine = [part for part in parts if part.at[0] == topic]
            states = Counter(self.state(said, part) for part in mine)
            told = {
                key[-1]: value for key, value in said.of("query_topic_partitions").items() if key[:3] == (*of, topic)
            }
            counted = {state: count for state, count in told.items() if count}
            if of[0] in self.large and sum(counted.values()) > len(mine):
                self.undecided += 1
                continue
            if None not in states:
                self.claim(counted == dict(states), said, "partitions by state", (*of, topic), counted, dict(states))
            unknown = told.get("unknown", 0) or any(
                "lag_offsets" not in part.numbers and part.problems & {"lost", "recreated"} for part in mine
            )
            for family, number, fold in (
                ("query_topic_lag_offsets", "lag_offsets", sum),
                ("query_topic_committed_offsets", "committed_offset", sum),
                ("query_topic_lost_offsets", "lost_offsets", sum),
                ("query_topic_possibly_lost_offsets", "possibly_lost_offsets", sum),
                ("query_topic_headroom_offsets", "headroom_offsets", min),
                ("query_topic_deletion_deadline_timestamp_seconds", "deletion_deadline_timestamp_seconds", min),
                ("query_topic_oldest_unread_timestamp_seconds", "oldest_unread_timestamp_seconds", min),
            ):
                numbers = [part.numbers[number] for part in mine if number in part.numbers]
                wanted = fold(numbers) if numbers else None
                if family in ("query_topic_lag_offsets", "query_topic_committed_offsets") and unknown:
                    wanted = None
                value = said.one(family, *of, topic)
                self.claim(value == wanted, said, family, (*of, topic), value, wanted)

    def state(self, said: Said, part: Part) -> str | None:
        for problem, state in STATES.items():
            if problem in part.problems:
                return state
        committed = part.numbers.get("committed_offset")
        latest = said.one("latest_offset", part.cluster, part.at[0], str(part.at[1]))
        if committed is None or latest is None:
            return None
        return "caught_up" if committed >= latest else "behind"

    def check_state(self, said: Said, one: Round, of: tuple, up: bool) -> None:
        states = said.hot("query_state", *of)
        conditions = said.hot("query_condition", *of)
        self.claim(len(states) == 1, said, "query_state", of, states, "one state at a time")
        self.claim(states <= conditions | {"idle", "behind"}, said, "query_state", of, states, conditions)
        if states == {"superseded"}:
            # Nothing else is said of it.
            self.claim(self.truth.has_cause("superseded", of[0]), said, "query_state", of, states, "it is the newest")
            return
        if not up:
            right = bool(conditions & {"unreadable", "unknown"})
            self.claim(right, said, "query_condition", of, conditions, "not read")
        if not one.up and up:
            self.claim("unknown" in conditions, said, "query_condition", of, conditions, "the cluster was not read")
        told = {key[3] for key, value in said.of("query_topic_partitions").items() if key[:2] == of and value}
        for state in told & {"lost", "recreated", "gone", "beyond_end", "unverified", "unknown"}:
            self.claim(state in conditions, said, "query_condition", of, conditions, f"a partition is {state}")
        for condition, cause in (("lost", "lost"), ("recreated", "recreated")):
            if condition in conditions:
                happened = self.truth.has_cause(cause, of[0])
                self.claim(happened, said, "query_condition", of, condition, "that never happened to it")
        if "stalled" in conditions and len(one.offsets) == 1:
            moved = max(at for at in self.truth.moved[of[0]] if at <= one.start or at == self.truth.moved[of[0]][0])
            quiet = one.end - moved
            # The conditions of a round that could not read are those of an earlier one.
            blind = not (up and one.up)
            right = blind or quiet > self.stall_after - 1
            self.claim(right, said, "query_condition", of, "stalled", f"moved {quiet:.0f} s before the round")

    # Counters

    def check_losses(self, said: Said, of: tuple) -> None:
        for key, value in said.of("query_topic_offsets_lost_total").items():
            if key[:2] == of and key[3] == "certain":
                lost = sum(
                    ranges.size() for (query, at), ranges in self.truth.lost.items() if (query, at[0]) == (of[0], key[2])
                )
                self.claim(value <= lost, said, "query_topic_offsets_lost_total", key, value, f"{lost} at most")

    def check_counters(self, said: Said) -> None:
        now = {
            (name, *key): value
            for name, series in said.series.items()
            if name.endswith("_total")
            for key, value in series.items()
        }
        for key, before in self.counters.items():
            if self.guests & set(key) or self.truth.ended & set(key):
                continue
            value = now.get(key)
            self.claim(value is not None and value >= before, said, "counters", key, value, f"{before} before")
        self.counters = now

"""Storms of faults with calms between them; the checker looks on all the time."""

import json
import random
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .. import brinkwatch
from ..brinkwatch import Config
from ..prometheus import Prometheus
from ..story import hurried_rules
from .afterwards import check_gaps
from .alarms import without_cause
from .checker import Checker
from .exposition import Said
from .faults import Stage, Storm
from .recovery import UNKNOWN, left
from .report import Report
from .topics import TIMED
from .watcher import MEMORY, Watcher
from .world import World

POLL = 4
# Seconds from one round to the next over the cluster where thousands of partitions appear; twice as long until a round is
# too old to be believed.
FLOOD_POLL = 8
INTERVAL = 20
# Generous: the machine may be busy, and a store that asked for rest is given it.
RECOVERY = 120
FEW = 10


@dataclass
class Hour:
    folder: Path
    seed: int
    seconds: float
    storm: float
    longest: float
    pause: float
    flood: int
    recoveries: list[tuple[float, float]] = field(default_factory=list)
    alerts: Counter = field(default_factory=Counter)
    causeless: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    # So many wrong numbers have been shown.
    shown: int = 0

    def run(self) -> Report:
        self.world = World(self.folder, self.seed)
        self.watcher = self.prometheus = None
        try:
            self.world.truth.second_reading = 25 + self.longest
            self.world.start()
            self.watcher = Watcher(self.config(), self.world.truth).start()
            self.prometheus = Prometheus(
                self.folder / "prometheus",
                targets=[f"127.0.0.1:{self.watcher.config.port}"],
                rules=hurried_rules(self.watcher.config),
                scrape_interval="2s",
            )
            return self.weather()
        finally:
            for part in (self.watcher, self.prometheus, self.world):
                if part:
                    part.stop()

    def config(self) -> Config:
        world = self.world
        config = Config(self.folder / "brinkwatch", world.brokers.watched_bootstrap)
        config.values |= {"poll_interval": f"{POLL}s", "stale_after": f"{2 * self.flood_poll}s", "confirm_time": "4s"}
        config.values["clusters"] |= {
            "named": {"bootstrap_servers": world.brokers.named_bootstrap},
            UNKNOWN: {"bootstrap_servers": "never.fault-hour.test:9092"},
            "flood": {"bootstrap_servers": world.brokers.bootstrap, "poll_interval": f"{self.flood_poll}s"},
        }
        config.values["stores"] = {"lake": {**world.lake.settings, "endpoint": world.store_wire.url}}
        interval = {"expected_batch_interval": f"{INTERVAL}s"}
        for name, one in world.checkpoints.items():
            if name.startswith("found/"):
                continue
            if name.startswith("lake"):
                config.query(name, world.lake.location(one.place.key), store="lake", **interval)
            else:
                config.query(name, one.place.folder, cluster=world.truth.clusters[name], **interval)
        config.query("flood", self.folder / "checkpoints" / "flood", cluster="flood", **interval)
        config.query(UNKNOWN, self.folder / "checkpoints" / UNKNOWN, cluster=UNKNOWN, **interval)
        config.values["discovery"] = {
            "found": {
                "location": str(self.folder / "found"), "cluster": "main", "name": "found/{path}", "interval": "5s",
                "subscribe": "subscribe", "partition_metrics": "all", **interval,
            }
        }  # fmt: skip
        return config

    @property
    def flood_poll(self) -> int:
        return FLOOD_POLL if self.flood <= 2000 else FLOOD_POLL + 4

    # Weather

    def weather(self) -> Report:
        self.checker = Checker(
            self.world.truth,
            2 * self.flood_poll,
            stall_after=3 * INTERVAL,
            guests=frozenset({"guest"}),
            large=frozenset({"flood"}),
        )
        stage = Stage(self.world, self.watcher, random.Random(self.seed + 1), self.flood)
        self.storm_of_faults = Storm(stage, self.longest)
        began = time.monotonic()
        until = began + self.seconds
        self.calm()
        while time.monotonic() < until:
            end = min(time.monotonic() + self.storm, until)
            blowing = threading.Thread(target=self.blow, args=(end,), daemon=True)
            blowing.start()
            while blowing.is_alive():
                self.look()
                time.sleep(0.3)
            self.calm()
        self.checker.judge_rest()
        # Only now is all known that may have caused them.
        self.causeless = [one for one in self.alerts if without_cause(json.loads(one), self.world.truth)]
        self.problems += self.storm_of_faults.failures + self.world.failures
        if self.watcher.cost.resident > MEMORY:
            self.problems.append(f"{self.watcher.cost.resident} bytes were resident, {MEMORY} are allowed")
        return self.report(time.monotonic() - began)

    def blow(self, end: float) -> None:
        try:
            self.storm_of_faults.blow(end, self.pause)
        except AssertionError as error:
            self.problems.append(str(error))

    def look(self) -> None:
        self.watcher.look()
        said = self.watcher.scrape()
        if said:
            self.checker.feed(said)
            self.last = said
        self.see_alerts()

    def see_alerts(self) -> None:
        for alert in self.prometheus.alerts():
            if alert["state"] == "firing":
                self.alerts[json.dumps(alert["labels"], sort_keys=True)] += 1

    def calm(self) -> None:
        """Every fault has passed, nothing moves: all that is published becomes right, and everything agrees."""
        self.world.frozen.set()
        with self.world.turn:
            began = time.monotonic()
        # The last one may have come while no file could be opened.
        self.watcher.config.write()
        self.watcher.process.child.send_signal(signal.SIGHUP)
        first = None
        wrong = ["nothing was scraped"]
        while wrong and time.monotonic() < began + RECOVERY:
            self.look()
            said = self.last
            with self.world.truth.lock:
                wrong = left(said, self.world, self.world.truth.retention)
            rounds = said.one("cluster_polls_total", "main") or 0
            first = rounds if first is None else first
            time.sleep(0.2)
        if wrong:
            self.problems.append(f"not right again after {RECOVERY} s: {wrong[:10]}")
        else:
            self.recoveries.append((time.monotonic() - began, rounds - first))
            self.compare()
            self.world.latched = True
        told = f"{len(self.checker.wrong)} wrong, {sum(self.checker.checks.values())} checks, {self.problems[-1:]}"
        print(f"calm after {time.monotonic() - began:.1f} s: {told}", flush=True)
        # Who looks on need not wait for the end.
        for one in self.checker.wrong[self.shown : self.shown + FEW]:
            print(f"  {one}", flush=True)
        self.shown = len(self.checker.wrong)
        self.world.frozen.clear()

    def compare(self) -> None:
        """The other ways to ask say the same."""
        status, body = self.watcher.get("/api/v1/gaps")
        if status != 200:
            self.problems.append(f"/api/v1/gaps answered {status}")
            return
        answer = json.loads(body)
        began = self.last.of("cluster_poll_last_attempt_timestamp_seconds")
        looked_at = min(began[cluster,] for cluster in ("main", "named"))
        if self.world.truth.offsets(time.time() - 60, time.time()) == {0.0}:
            check_gaps(self.checker, time.time(), answer["gaps"] if isinstance(answer, dict) else answer, looked_at)
        status, body = self.watcher.get("/api/v1/queries")
        answer = json.loads(body)
        said = self.watcher.scrape()
        for row in answer["queries"] if isinstance(answer, dict) else answer:
            states = said.hot("query_state", row["query"], row["kafka_cluster"])
            one_of = states | self.last.hot("query_state", row["query"], row["kafka_cluster"])
            self.checker.claim(row["state"] in one_of, said, "API: state", (row["query"],), row["state"], one_of)
        for name in [f"disk-{(len(self.recoveries) + step) % 18}" for step in range(6)]:
            self.check_prediction(said, name)
        for page in ("/", "/gaps", "/queries/disk-0", "/api/v1/targets", "/rules"):
            status, _ = self.watcher.get(page)
            self.checker.claim(status == 200, said, "pages", (page,), status, 200)
        self.check_command(said)

    def check_prediction(self, said: Said, name: str) -> None:
        """What a restart of the query would do now."""
        _, body = self.watcher.get(f"/api/v1/queries/{name}")
        [told] = json.loads(body)["clusters"]
        view = self.world.checkpoints[name].view
        with self.world.truth.lock:
            sights = [(self.world.truth.logs[at].sights[-1], offset) for at, offset in view.committed.items()]
        by_time = any(topic in TIMED for topic in self.world.truth.reads[name])
        if by_time or not view.readable or told["restart"] is None:
            return
        lost = any(sight.earliest > offset for sight, offset in sights)
        # failOnDataLoss is on.
        wanted = {"fails"} if view.problem else {"fails", "starts_then_fails"} if lost else {"starts"}
        outcome = told["restart"]["outcome"]
        self.checker.claim(outcome in wanted, said, "restart predictions", (name,), outcome, wanted)

    def check_command(self, said: Said) -> None:
        """`brinkwatch check` of one query, by a process of its own."""
        name = f"disk-{len(self.recoveries) % 18}"
        one = self.world.checkpoints[name]
        argv = ["--checkpoint", one.place.folder, "--bootstrap-servers", self.world.brokers.bootstrap]
        done = brinkwatch.check(*argv)
        if done.code not in (0, 1, 2):
            self.problems.append(f"check {name}: {done}")
            return
        for at, told in brinkwatch.partitions(done.json()["queries"][0]).items():
            wanted = one.view.committed.get(at)
            self.checker.claim(told["committed"] == wanted, said, "check: committed", (name, *at), told, wanted)
            with self.world.truth.lock:
                sight = self.world.truth.logs[at].sights[-1]
            right = told["latest"] == sight.latest
            self.checker.claim(right, said, "check: latest", (name, *at), told, sight)

    def report(self, seconds: float) -> Report:
        return Report(
            seed=self.seed,
            seconds=seconds,
            queries=len(self.world.checkpoints),
            partitions=sum(self.world._sizes.values()),
            flood=self.flood,
            faults=self.storm_of_faults.counts,
            leader_changes=self.world.leader_changes,
            checks=self.checker.checks,
            undecided=self.checker.undecided,
            scrapes=self.checker.scrapes,
            wrong=self.checker.wrong,
            alerts=self.alerts,
            causeless=sorted(self.causeless),
            restarts=0,
            cost=self.watcher.cost,
            blind=self.world.blind,
            recoveries=self.recoveries,
        )

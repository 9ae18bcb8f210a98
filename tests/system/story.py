"""What the stories are told with: the chain from the daemon to the webhook, observers, a narrator."""

import re
import time
from dataclasses import dataclass, field

from . import brinkwatch
from .alertmanager import Alertmanager
from .brinkwatch import Config, Daemon, Metrics
from .kafka import Broker
from .prometheus import Prometheus
from .webhook import Notification


@dataclass(frozen=True)
class Chain:
    """Everything between the query and the person on call."""

    daemon: Daemon
    prometheus: Prometheus
    alertmanager: Alertmanager

    def muted(self) -> set[tuple[str, str]]:
        """Name and severity of the alerts that fire and that another one keeps from being sent."""
        return {
            (one["labels"]["alertname"], one["labels"]["severity"])
            for one in self.alertmanager.alerts()
            if one["status"]["inhibitedBy"]
        }


def hurried_rules(config: Config) -> str:
    """The rules as `brinkwatch rules` prints them for this configuration, with one change: a minute of `for` and
    `keep_firing_for` is a second here. These two are fixed, and fit retentions of days."""
    printed = brinkwatch.run("rules", "--config", config.write())
    assert printed.code == 0, printed
    shorter = {"m": "s", "h": "m"}
    pattern = r'^( +(?:for|keep_firing_for): "\d+)([mh])"$'
    text, count = re.subn(pattern, lambda found: f'{found[1]}{shorter[found[2]]}"', printed.out, flags=re.MULTILINE)
    assert count == len(re.findall(r"^ +(?:for|keep_firing_for): ", printed.out, re.MULTILINE)), "another unit"
    return text


@dataclass
class LogStart:
    """The log start of partition 0 as the broker's own admin answers, with the times before and after each answer."""

    broker: Broker
    topic: str
    seen: list[tuple[float, float, int]] = field(default_factory=list)

    def look(self) -> None:
        asked = time.time()
        earliest = self.broker.earliest(self.topic)[0]
        self.seen.append((asked, time.time(), earliest))

    def safe_until(self, offset: int) -> float:
        """Until this moment at least the log held the offset: this question, or a later one, found it there."""
        return max(asked for asked, _, earliest in self.seen if earliest <= offset)

    def passed(self, offset: int) -> float | None:
        """When an answer first showed that the offset is gone."""
        return next((answered for _, answered, earliest in self.seen if earliest > offset), None)

    def missing(self, offset: int, until: float) -> set[int]:
        """How much was missing from the offset on, in every answer of this time that missed something."""
        return {earliest - offset for asked, _, earliest in self.seen if earliest > offset and asked <= until}


class Tale:
    """What happened, step by step."""

    def __init__(self):
        self.began = time.time()
        self.steps: list[tuple[float, str]] = []

    def tell(self, what: str, at: float | None = None) -> None:
        self.steps.append((at or time.time(), what))

    def tell_delivered(self, one: Notification) -> None:
        what = f"DELIVERED {one.status} {one.name} {one.labels['severity']}: {one.annotations['summary']}"
        self.tell(f"{what}\n{' ' * 11}{one.annotations['description']}" if one.status == "firing" else what, one.at)

    def text(self) -> str:
        return "\n".join(f"{at - self.began:7.1f} s  {what}" for at, what in sorted(self.steps))


# Of the watcher itself; a moment counted from now; an estimate that is made from a past of some length.
MOVES = re.compile(
    r"brinkwatch_(cluster_up|.*_polls?_.*|.*_requests_total"
    r"|(query_topic_)?(deletion_deadline|projected_loss)_timestamp_seconds)"
)


class Still:
    """Everything that is published of a workload that rests. `look` notes each value that is neither as it was at the
    beginning, nor absent, nor a word for unknown. `but` are names that move all the same, as ages of what is unread."""

    def __init__(self, daemon: Daemon, but: tuple[str, ...] = ()):
        self.daemon, self.but = daemon, but
        self.before = self.values(daemon.after_a_round())
        self.broken: set[str] = set()
        self.absent: set[tuple] = set()

    def values(self, metrics: Metrics) -> dict[tuple, float]:
        return {key: value for key, value in values(metrics).items() if not key[0].endswith(self.but or ("\0",))}

    def look(self) -> None:
        now = self.values(self.daemon.metrics())
        self.absent |= self.before.keys() - now.keys()
        self.broken |= {
            f"{key}: {self.before.get(key)} became {value}"
            for key, value in now.items()
            if self.before.get(key) != value and "unknown" not in dict(key[1]).values()
        }

    def check_back(self) -> None:
        """Fails as long as anything is not again as it was."""
        now = self.values(self.daemon.metrics())
        pairs = {key: (self.before.get(key), now.get(key)) for key in self.before.keys() | now.keys()}
        changed = {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
        assert not changed, f"before and now: {changed}"


def values(metrics: Metrics) -> dict[tuple, float]:
    """Every series by name and labels. Of states only those that hold: in which one a partition is not says nothing."""
    return {
        (name, tuple(sorted(labels.items()))): value
        for name, series in metrics.series.items()
        for labels, value in series
        if name.startswith("brinkwatch_") and not MOVES.fullmatch(name) and ("state" not in labels or value)
    }

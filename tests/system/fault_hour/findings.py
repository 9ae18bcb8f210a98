"""What the checker speaks of: a round, a partition in a scrape, and what was wrong."""

from dataclasses import dataclass

from .truth import At

# Numbers that are gone once a round is too old.
MEASURED = (
    "committed_offset", "planned_offset", "headroom_offsets", "lag_offsets", "retention_remaining_ratio",
    "projected_loss_timestamp_seconds", "query_topic_lag_offsets", "query_topic_committed_offsets",
    "query_topic_headroom_offsets", "query_topic_retention_remaining_ratio",
)  # fmt: skip
# Problems that make the state of a partition, the first one that stands.
STATES = {
    "recreated": "recreated", "unverified": "unverified", "beyond_end": "beyond_end", "gone": "gone",
    "gone_caught_up": "gone", "unknown": "unknown", "unconfirmed": "unconfirmed", "pending": "pending", "lost": "lost",
}  # fmt: skip
SKEW = 5.0
# The program tells times to the millisecond.
TICK = 0.0015


@dataclass(frozen=True)
class Wrong:
    """A number that was published and was not so."""

    at: float
    family: str
    of: tuple
    said: object
    truth: object

    def __str__(self) -> str:
        return f"{self.at:.3f} {self.family}{list(self.of)}: {self.said}; {self.truth}"


@dataclass
class Round:
    """What is known of the round that a cluster's numbers come from."""

    cluster: str
    start: float
    end: float
    finished: float | None
    offsets: set[float]
    up: bool


@dataclass
class Part:
    """A partition of a query in one scrape."""

    query: str
    cluster: str
    at: At
    problems: set[str]
    numbers: dict[str, float]

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.query, self.cluster, self.at[0], str(self.at[1])

"""Which topics there are, and how eagerly they are read."""

from .truth import Log, Sight

NEVER = float("inf")
PLAIN = {f"plain-{number}": 4 for number in range(4)}
# By topic: seconds that records live.
TIMED = {"timed-0": 20, "timed-1": 45}
TIMED_PARTITIONS = 2
REBORN, GROWING = "reborn", "growing"
ON_DISK, IN_THE_LAKE, NAMED = 18, 6, 4
# A topic does not grow without end.
MOST_PARTITIONS = 8


class Still(Log):
    """The log of a partition that nobody writes to."""

    def __init__(self):
        super().__init__()
        self.see(Sight(0.0, 0.0, 0, 0))
        self.see(Sight(NEVER, NEVER, 0, 0))


def pace(name: str) -> float:
    """How eagerly a query reads."""
    number = int(name.rsplit("-", 1)[1]) if name[-1].isdigit() and "-" in name else 0
    return (1.0, 0.4, 0.1)[number % 3]


def settings(topic: str) -> dict[str, str]:
    if topic in TIMED:
        return {"retention.ms": str(TIMED[topic] * 1000), "segment.ms": "3000"}
    return {"retention.ms": "-1"}

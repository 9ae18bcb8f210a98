"""One scrape, read quickly: twenty thousand lines a second and more."""

import re

LINE = re.compile(r"^brinkwatch_(\w+?)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
OF_PARTITIONS = (
    "committed_offset", "planned_offset", "headroom_offsets", "lag_offsets", "lost_offsets", "possibly_lost_offsets",
    "deletion_deadline_timestamp_seconds", "oldest_unread_timestamp_seconds", "retention_remaining_ratio",
    "projected_loss_timestamp_seconds",
)  # fmt: skip
LABEL = re.compile(r'\w+="((?:[^"\\]|\\.)*)"')


class Said:
    """What was published, asked for and answered at these times. Series are known by the values of their labels, in
    the order in which they are written: query, kafka_cluster, topic, partition, and then what is special."""

    def __init__(self, text: str, asked: float, answered: float):
        self.asked, self.answered = asked, answered
        self.series: dict[str, dict[tuple[str, ...], float]] = {}
        self._parts = None
        self._hot: dict[str, dict[tuple[str, ...], set[str]]] = {}
        for name, labels, value in LINE.findall(text):
            self.series.setdefault(name, {})[tuple(LABEL.findall(labels))] = float(value)

    def of(self, name: str) -> dict[tuple[str, ...], float]:
        return self.series.get(name, {})

    def one(self, name: str, *labels: str) -> float | None:
        return self.of(name).get(labels)

    def hot(self, name: str, *labels: str) -> set[str]:
        """The last labels of those series of a family that stand at 1."""
        if name not in self._hot:
            found: dict[tuple[str, ...], set[str]] = {}
            for key, value in self.of(name).items():
                if value == 1:
                    found.setdefault(key[:-1], set()).add(key[-1])
            self._hot[name] = found
        return self._hot[name].get(labels, set())

    # Partitions of queries, gathered once

    def partitions_of(self, query: str, cluster: str) -> list[tuple[tuple, tuple[str, int]]]:
        return [(key, (key[2], int(key[3]))) for key in self._gathered()[0].get((query, cluster), ())]

    def numbers_of(self, key: tuple) -> dict[str, float]:
        return self._gathered()[1][key]

    def hot_of(self, key: tuple) -> set[str]:
        return self._gathered()[2].get(key, set())

    def _gathered(self):
        if self._parts is None:
            by_query: dict[tuple, dict[tuple, None]] = {}
            numbers: dict[tuple, dict[str, float]] = {}
            problems: dict[tuple, set[str]] = {}
            for name in OF_PARTITIONS:
                for key, value in self.of(name).items():
                    by_query.setdefault(key[:2], {})[key] = None
                    numbers.setdefault(key, {})[name] = value
            for key in self.of("partition_problem"):
                problems.setdefault(key[:4], set()).add(key[4])
                by_query.setdefault(key[:2], {})[key[:4]] = None
                numbers.setdefault(key[:4], {})
            self._parts = by_query, numbers, problems
        return self._parts

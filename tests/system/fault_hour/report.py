"""The table at the end."""

from collections import Counter
from dataclasses import dataclass

from .checker import Wrong
from .watcher import Cost


@dataclass
class Report:
    seed: int
    seconds: float
    queries: int
    partitions: int
    flood: int
    faults: Counter
    leader_changes: int
    checks: Counter
    undecided: int
    scrapes: int
    wrong: list[Wrong]
    alerts: Counter
    causeless: list[str]
    restarts: int
    cost: Cost
    blind: float
    recoveries: list[tuple[float, float]]

    def text(self) -> str:
        slowest = max(self.recoveries, default=(0.0, 0.0))
        lines = [
            f"seed {self.seed}; {self.seconds:.0f} s; {self.queries} queries over {self.partitions} partitions, and "
            f"{self.flood} more at once now and then",
            "",
            "| faults | how often |",
            "|---|---:|",
            *(f"| {kind} | {count} |" for kind, count in sorted(self.faults.items())),
            f"| **all** | **{sum(self.faults.values())}** |",
            "",
            f"{self.leader_changes} changes of leaders were seen.",
            "",
            "| published numbers held against the truth | how many |",
            "|---|---:|",
            *(f"| {family.replace('_', chr(92) + '_')} | {count:,} |" for family, count in sorted(self.checks.items())),
            f"| **all, in {self.scrapes:,} scrapes** | **{sum(self.checks.values()):,}** |",
            "",
            "| | |",
            "|---|---:|",
            f"| wrong numbers | {len(self.wrong) or 'none'} |",
            f"| not decided, for the truth itself was not known | {self.undecided:,} |",
            f"| alerts that fired | {len(self.alerts)} |",
            f"| alerts without a cause | {len(self.causeless) or 'none'} |",
            f"| unplanned restarts | {self.restarts or 'none'} |",
            f"| memory beyond which it is killed | {f'{self.cost.limit // 2**20} MiB' if self.cost.limit else 'no limit could be set'} |",
            f"| largest resident memory | {self.cost.resident / 2**20:.1f} MiB |",
            f"| most file descriptors | {self.cost.files} |",
            f"| largest ledger, its write-ahead log included | {self.cost.ledger / 2**20:.1f} MiB |",
            f"| longest time without a look of our own at the brokers | {self.blind:.1f} s |",
            f"| longest scrape | {self.cost.scrape:.2f} s |",
            f"| scrapes that nobody answered | {self.cost.unanswered} |",
            f"| times that all was right again | {len(self.recoveries)} |",
            f"| slowest of them | {slowest[0]:.1f} s, {slowest[1]:.0f} rounds |",
        ]
        if self.wrong:
            lines += ["", "Wrong, some of each family:"]
            for family, count in Counter(one.family for one in self.wrong).items():
                some = [one for one in self.wrong if one.family == family][:6]
                lines += [f"- {count} of {family}", *(f"  - {one}" for one in some)]
        if self.causeless:
            lines += ["", "Without a cause:", *(f"- {one}" for one in self.causeless[:20])]
        return "\n".join(lines)

"""A ledger that another process holds, and rounds that wait for it."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .brinkwatch import Config, Daemon
from .waiting import wait_until


@contextmanager
def held(state: Path) -> Iterator[None]:
    """Nobody else writes to the ledger in this folder, nor reads from it."""
    holder = sqlite3.connect(state / "brinkwatch.sqlite", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        holder.close()


@contextmanager
def a_round_that_waits(config: Config, checkpoint: Path | str, serve) -> Iterator[Daemon]:
    """A daemon in the middle of a round that waits for its ledger."""
    state = config.folder / "state"
    config.values["state_dir"] = str(state)
    daemon = serve(config.query("orders", checkpoint))
    with held(state):
        _wait_for_it(daemon)
        yield daemon


def _wait_for_it(daemon: Daemon, patience: float = 30) -> None:
    def since_the_last_round() -> float:
        return time.time() - daemon.metrics().value("cluster_poll_last_attempt_timestamp_seconds", kafka_cluster="main")

    # The next round comes every second, unless the one before waits for the ledger.
    wait_until(lambda: since_the_last_round() > 2.5, patience, "a round waits for the ledger")

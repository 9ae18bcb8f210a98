"""What is not yet as it should be, once every fault has passed and nothing moves any more."""

import math

from .exposition import Said
from .topics import NEVER, REBORN
from .truth import Truth
from .world import World

UNKNOWN = "nowhere"


def left(said: Said, world: World, retained: dict[str, float]) -> list[str]:
    """Everything that a reader of this scrape would still be told wrongly, or not at all."""
    truth: Truth = world.truth
    found = []

    def want(what: str, value: object, *wanted: object) -> None:
        if value not in wanted:
            found.append(f"{what} is {value}, and should be {wanted[0]}")

    for cluster in ("main", "named", "flood"):
        want(f"cluster_up of {cluster}", said.one("cluster_up", cluster), 1)
    want(f"cluster_up of {UNKNOWN}", said.one("cluster_up", UNKNOWN), 0)
    want("ledger_up", said.one("ledger_up"), 1)
    want("ledger_persistent", said.one("ledger_persistent"), 1)
    want("config_last_reload_successful", said.one("config_last_reload_successful"), 1)
    for name, one in world.checkpoints.items():
        of = (name, truth.clusters[name])
        if name in ("flood", "found/app_v1") or said.one("checkpoint_up", *of) is None:
            continue
        view = one.view
        want(f"checkpoint_up of {name}", said.one("checkpoint_up", *of), float(view.readable))
        if not view.readable:
            continue
        in_writing = set() if view.problem == "planned_below_committed" else {None}
        want(f"restartable of {name}", said.one("query_restartable", *of), *view.restartable - in_writing)
        for at, committed in view.committed.items():
            found += of_a_partition(said, truth, of, at, committed, retained)
    return found


def of_a_partition(
    said: Said, truth: Truth, of: tuple[str, str], at: tuple[str, int], committed: int, retained: dict[str, float]
) -> list[str]:
    key = (*of, at[0], str(at[1]))
    log = truth.logs.get(at)
    if log is None or not log.sights:
        return [f"the log of {at} is not known"]
    now = log.sights[-1]
    if truth.astray.get((of[0], REBORN)) == NEVER:
        said_so = said.one("partition_problem", *key, "recreated") == 1
        return [] if said_so else [f"{key} is not said to be recreated"]
    if not math.isinf(retained[at[0]]):
        # Time goes on, and records with it: it is enough that something is told.
        numbers = [said.one(family, *key) for family in ("committed_offset", "headroom_offsets", "lag_offsets")]
        return [f"{key} has no numbers: {numbers}"] if None in numbers else []
    wanted = {
        "committed_offset": committed,
        "headroom_offsets": committed - now.earliest,
        "lag_offsets": max(0, now.latest - max(committed, now.earliest)),
    }
    found = [
        f"{family}{key} is {said.one(family, *key)}, and should be {number}"
        for family, number in wanted.items()
        if said.one(family, *key) != number
    ]
    lost = said.one("lost_offsets", *key)
    if now.earliest > committed and not lost and said.one("partition_problem", *key, "unverified") is None:
        possibly = said.one("possibly_lost_offsets", *key)
        if not possibly:
            found.append(f"{key}: {now.earliest - committed} offsets are gone, and {lost} are said to be")
    # A position that moved back below the log's start has no distance to tell.
    if said.one("partition_problem", *key, "unverified") == 1:
        return []
    return found

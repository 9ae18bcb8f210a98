"""What goes wrong, each for a while. A fault says what it hits, so that two never hit the same at once."""

import contextlib
import random
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from confluent_kafka import ElectionType, KafkaException, TopicPartition

from .topics import PLAIN
from .truth import Outage
from .watcher import Watcher
from .world import World

BAD_FILE = "this is [no configuration\n"
HALF_OPEN = 300
STEPS = (-7200, -3600, -300, 300, 3600, 86_400)


@dataclass(frozen=True)
class Fault:
    kind: str
    hits: str
    happen: Callable[["Stage"], AbstractContextManager]


@dataclass
class Stage:
    """Where faults happen."""

    world: World
    watcher: Watcher
    random: random.Random
    flood: int

    def outage(self, what: list[str], began: float, settle: float = 0.3) -> None:
        """Nothing of it could be read from `began` until now. What was already under way then is let through."""
        ended = time.time()
        with self.world.truth.lock:
            self.world.truth.outages += [Outage(one, began + settle, ended) for one in what]


@contextmanager
def killed(stage: Stage) -> Iterator[None]:
    node = stage.random.choice(list(stage.world.brokers.nodes.values()))
    node.kill()
    yield
    node.launch()
    node.wait_ready()


@contextmanager
def hung(stage: Stage) -> Iterator[None]:
    node = stage.random.choice(list(stage.world.brokers.nodes.values()))
    node.pause()
    yield
    node.resume()


@contextmanager
def leaders_moved(stage: Stage) -> Iterator[None]:
    """Back to those that the brokers prefer: the other faults have moved them away."""
    places = [TopicPartition(topic, partition) for topic, count in PLAIN.items() for partition in range(count)]
    with contextlib.suppress(KafkaException, TimeoutError):
        stage.world.brokers.admin.elect_leaders(ElectionType.PREFERRED, places).result(8)
    yield


def wires(stage: Stage, which: str, how: str, count: int) -> AbstractContextManager:
    @contextmanager
    def harmed() -> Iterator[None]:
        nodes = stage.random.sample(list(stage.world.brokers.nodes.values()), count)
        mine = [node.watched if which == "main" else node.named for node in nodes]
        began = time.time()
        for wire in mine:
            wire.set(how)
        yield
        if count == 3 and how in ("cut", "mute"):
            stage.outage([f"cluster {which}"], began)
        for wire in mine:
            wire.set("pass")

    return harmed()


def store(how: str) -> Callable[[Stage], AbstractContextManager]:
    @contextmanager
    def harmed(stage: Stage) -> Iterator[None]:
        began = time.time()
        stage.world.store_wire.fault = how
        yield
        if how != "slow":
            lake = [f"checkpoint {name}" for name in stage.world.checkpoints if name.startswith("lake")]
            stage.outage(lake, began)
        stage.world.store_wire.fault = "pass"

    return harmed


def torn(kind: str) -> Callable[[Stage], AbstractContextManager]:
    @contextmanager
    def harmed(stage: Stage) -> Iterator[None]:
        one = stage.world.tear(kind)
        if one:
            stage.world.truth.cause("torn", one.name)
        yield
        if one:
            stage.world.mend(one)

    return harmed


@contextmanager
def removed(stage: Stage) -> Iterator[None]:
    one = stage.world.hide()
    if one:
        stage.world.truth.cause("removed", one.name)
    yield
    if one:
        stage.world.show(one)


def at_once(act: Callable[[World], None]) -> Callable[[Stage], AbstractContextManager]:
    @contextmanager
    def done(stage: Stage) -> Iterator[None]:
        with contextlib.suppress(KafkaException):
            act(stage.world)
        yield

    return done


@contextmanager
def nameless(stage: Stage) -> Iterator[None]:
    """The host name is no more, and every connection to it ends."""
    nodes = stage.world.brokers.nodes.values()
    stage.watcher.resolve(False)
    for node in nodes:
        node.named.set("cut")
    for node in nodes:
        # Whoever knew the name would get through again.
        node.named.set("pass")
    began = time.time()
    yield
    stage.outage(["cluster named"], began, settle=3.0)
    stage.watcher.resolve(True)


@contextmanager
def flooded(stage: Stage) -> Iterator[None]:
    topic = stage.world.begin_flood(stage.flood)
    yield
    stage.world.end_flood(topic)


@contextmanager
def disk_full(stage: Stage) -> Iterator[None]:
    stage.world.truth.cause("ledger")
    stage.watcher.fill_disk()
    yield
    stage.watcher.empty_disk()


@contextmanager
def out_of_files(stage: Stage) -> Iterator[None]:
    stage.watcher.limit_files(stage.random.randint(1, 6))
    held = connect(stage.watcher.config.port, 40)
    yield
    stage.watcher.limit_files(None)
    for one in held:
        one.close()


def connect(port: int, count: int) -> list[socket.socket]:
    held = []
    for _ in range(count):
        one = socket.socket()
        one.settimeout(0.2)
        with contextlib.suppress(OSError):
            one.connect(("127.0.0.1", port))
        held.append(one)
    return held


@contextmanager
def half_open(stage: Stage) -> Iterator[None]:
    held = connect(stage.watcher.config.port, HALF_OPEN)
    for one in held[::2]:
        with contextlib.suppress(OSError):
            one.sendall(b"GET /metrics HTTP/1.1\r\nhost: x\r\n")
    yield
    for one in held:
        one.close()


@contextmanager
def slow_scraper(stage: Stage) -> Iterator[None]:
    over = threading.Event()

    def read_slowly() -> None:
        with socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            one.settimeout(2)
            with contextlib.suppress(OSError):
                one.connect(("127.0.0.1", stage.watcher.config.port))
                one.sendall(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n")
                while not over.wait(1):
                    one.recv(1)

    readers = [threading.Thread(target=read_slowly, daemon=True) for _ in range(5)]
    for reader in readers:
        reader.start()
    yield
    over.set()
    for reader in readers:
        reader.join()


@contextmanager
def clock_set(stage: Stage) -> Iterator[None]:
    stage.world.truth.cause("clock")
    stage.watcher.set_clock(stage.random.choice(STEPS))
    yield
    stage.watcher.set_clock(0)


@contextmanager
def stopped(stage: Stage) -> Iterator[None]:
    stage.watcher.process.child.send_signal(signal.SIGSTOP)
    yield
    stage.watcher.process.child.send_signal(signal.SIGCONT)


def reloaded(good: bool) -> Callable[[Stage], AbstractContextManager]:
    @contextmanager
    def read_again(stage: Stage) -> Iterator[None]:
        config = stage.watcher.config
        if good:
            queries = config.values["queries"]
            if "guest" in queries:
                queries.pop("guest")
            else:
                config.query("guest", stage.world.checkpoints["guest"].place.folder, expected_batch_interval="20s")
            config.values["alerts"] = {"risk_warning": stage.random.choice([0.5, 0.45, 0.4])}
            config.write()
        else:
            stage.world.truth.cause("reload")
            stage.watcher.file.write_text(BAD_FILE)
        stage.watcher.process.child.send_signal(signal.SIGHUP)
        yield
        if not good:
            config.write()
            stage.watcher.process.child.send_signal(signal.SIGHUP)

    return read_again


FAULTS = [
    Fault("broker killed, and started again", "brokers", killed),
    Fault("broker hung", "brokers", hung),
    Fault("every broker cut off", "main", lambda stage: wires(stage, "main", "cut", 3)),
    Fault("one broker cut off", "main", lambda stage: wires(stage, "main", "cut", 1)),
    Fault("every broker silent", "main", lambda stage: wires(stage, "main", "mute", 3)),
    Fault("slow network", "main", lambda stage: wires(stage, "main", "slow", 3)),
    Fault("leaders moved back", "brokers", leaders_moved),
    Fault("host name gone", "named", nameless),
    Fault("named brokers silent", "named", lambda stage: wires(stage, "named", "mute", 3)),
    Fault("topic made again", "topics", at_once(World.recreate)),
    Fault("partition added", "topics", at_once(World.add_partition)),
    Fault("partitions by the thousand at once", "flood", flooded),
    Fault("store hung", "store", store("hang")),
    Fault("store failing", "store", store("fail")),
    Fault("store throttling", "store", store("throttle")),
    Fault("store denying", "store", store("deny")),
    Fault("store slow", "store", store("slow")),
    Fault("store cutting off", "store", store("reset")),
    Fault("checkpoint file half written", "checkpoint", torn("half")),
    Fault("checkpoint file empty", "checkpoint", torn("empty")),
    Fault("checkpoint of an unknown version", "checkpoint", torn("unsupported")),
    Fault("checkpoint removed, and put back", "checkpoint", removed),
    Fault("checkpoint replaced", "replaced", at_once(World.replace)),
    Fault("commit taken back", "replaced", at_once(World.step_back)),
    Fault("disk full", "disk", disk_full),
    Fault("file descriptors used up", "files", out_of_files),
    Fault("half-open connections", "clients", half_open),
    Fault("slow scrapers", "clients", slow_scraper),
    Fault("clock set", "clock", clock_set),
    Fault("daemon stopped, and continued", "daemon", stopped),
    Fault("configuration reloaded", "reload", reloaded(True)),
    Fault("configuration with a mistake", "reload", reloaded(False)),
]


class Storm:
    """Faults at random, several at once, for a while each."""

    def __init__(self, stage: Stage, longest: float):
        self.stage, self.longest = stage, longest
        self.counts: Counter[str] = Counter()
        self.deck: list[Fault] = []
        self.active: dict[str, threading.Thread] = {}
        self.failures: list[str] = []
        self.told: list[tuple[float, str]] = []

    def blow(self, until: float, pause: float) -> None:
        """Begins another fault every `pause` seconds, and returns when all that began have passed."""
        while time.monotonic() < until:
            self.active = {hits: one for hits, one in self.active.items() if one.is_alive()}
            fault = self._next()
            if fault:
                lasts = self.stage.random.uniform(1.5, self.longest)
                thread = threading.Thread(target=self._happen, args=(fault, lasts, until), daemon=True)
                self.active[fault.hits] = thread
                thread.start()
            time.sleep(pause)
        for thread in self.active.values():
            thread.join(240)
            assert not thread.is_alive(), "a fault does not end"

    def _next(self) -> Fault | None:
        if not self.deck:
            self.deck = list(FAULTS)
            self.stage.random.shuffle(self.deck)
        for index, fault in enumerate(self.deck):
            if fault.hits not in self.active:
                return self.deck.pop(index)
        return None

    def _happen(self, fault: Fault, lasts: float, until: float) -> None:
        hindered = None
        try:
            self.told.append((time.time(), f"{fault.kind}, {lasts:.1f} s"))
            if fault.hits in ("brokers", "main", "named", "flood"):
                hindered = [time.time(), float("inf")]
                self.stage.world.truth.hindered.append(hindered)
            with fault.happen(self.stage):
                self.counts[fault.kind] += 1
                time.sleep(min(lasts, max(until - time.monotonic(), 1.0)))
            self.told.append((time.time(), f"{fault.kind}: over"))
        except Exception as error:  # noqa: BLE001 - told at the end, in the main thread
            self.failures.append(f"{fault.kind}: {error!r}")
        if hindered:
            hindered[1] = time.time()

"""Free ports on the loopback address."""

import random
import socket

# Below the range from which Linux takes ports of outgoing connections, so that no client takes one in between.
FIRST, LAST = 12000, 32000

# What was given is not given again: whoever asked may not listen there yet, nor for the moment.
given: set[int] = set()


def free_port() -> int:
    while True:
        port = random.randint(FIRST, LAST)
        if port in given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            given.add(port)
            return port


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0

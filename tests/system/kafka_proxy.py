"""A way to a broker on which something can happen in the middle of what a client asks."""

import socket
import struct
import threading
from collections.abc import Callable

LIST_OFFSETS = 2


def any_bounds(api: int, _: bytes) -> bool:
    """The first question for offsets: checkpoints were read before it."""
    return api == LIST_OFFSETS


def look_up_by_time(api: int, frame: bytes) -> bool:
    """A question for offsets at a time, which comes after the partitions were listed. Earliest and latest are -2 and -1."""
    return api == LIST_OFFSETS and b"\xff" * 7 not in frame


class KafkaProxy:
    """Passes everything on. Once, before the first request that `when` picks goes through, `then` happens.

    The broker's own address in an answer becomes the proxy's, so that clients stay with it.
    """

    def __init__(self, port: int, when: Callable[[int, bytes], bool], then: Callable[[], None]):
        self.upstream, self.when, self.then = port, when, then
        self.lock, self.happened, self.failure = threading.Lock(), False, None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.bootstrap = f"127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.upstream))
            for source, sink, through in ((client, server, self.question), (server, client, self.answer)):
                threading.Thread(target=pump, args=(source, sink, through), daemon=True).start()

    def question(self, frame: bytes) -> bytes:
        [api] = struct.unpack_from(">h", frame, 4)
        with self.lock:
            if not self.happened and self.when(api, frame):
                self.happened = True
                try:
                    self.then()
                except Exception as error:  # noqa: BLE001 - told to the test, in its own thread
                    self.failure = error
        return frame

    def answer(self, frame: bytes) -> bytes:
        host = b"127.0.0.1"
        return frame.replace(host + struct.pack(">i", self.upstream), host + struct.pack(">i", self.port))

    def stop(self) -> None:
        self.listener.close()
        assert self.failure is None, self.failure


def pump(source: socket.socket, sink: socket.socket, through: Callable[[bytes], bytes]) -> None:
    try:
        while head := receive(source, 4):
            sink.sendall(through(head + receive(source, struct.unpack(">i", head)[0])))
    except OSError:
        pass
    for one in (source, sink):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            # The other direction has ended it.
            pass
        one.close()


def receive(source: socket.socket, length: int) -> bytes:
    """So many bytes, or none when the connection ends."""
    found = b""
    while len(found) < length:
        more = source.recv(length - len(found))
        if not more:
            return b""
        found += more
    return found

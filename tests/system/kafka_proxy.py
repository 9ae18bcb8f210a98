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
            question, answer = self.connection()
            for source, sink, through in ((client, server, question), (server, client, answer)):
                threading.Thread(target=pump, args=(source, sink, through), daemon=True).start()

    def connection(self) -> tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]:
        """What becomes of the questions and the answers of a new connection."""
        return self.question, self.answer

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


class Forgetful(KafkaProxy):
    """Passes everything on, but spoils the answers to look-ups by time: each row becomes what `spoil` makes of its error,
    timestamp and offset."""

    def __init__(self, port: int, spoil: Callable[[int, int, int], tuple[int, int, int]]):
        self.spoil = spoil
        super().__init__(port, lambda *_: False, lambda: None)

    def connection(self) -> tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]:
        looked_up: set[int] = set()

        def question(frame: bytes) -> bytes:
            api, version, correlation = struct.unpack_from(">hhi", frame, 4)
            if look_up_by_time(api, frame):
                assert version >= 6, "an older form of the request, whose answers have another form"
                looked_up.add(correlation)
            return self.question(frame)

        def answer(frame: bytes) -> bytes:
            [correlation] = struct.unpack_from(">i", frame, 4)
            if correlation in looked_up:
                looked_up.discard(correlation)
                frame = self.spoilt(frame)
            return self.answer(frame)

        return question, answer

    def spoilt(self, frame: bytes) -> bytes:
        """ListOffsets, version 6 and later: all fields have one length, so each row is changed where it stands."""
        frame = bytearray(frame)
        # Length, correlation, no tags, throttle time.
        topics, at = varint(frame, 4 + 4 + 1 + 4)
        for _ in range(topics - 1):
            name, at = varint(frame, at)
            partitions, at = varint(frame, at + name - 1)
            for _ in range(partitions - 1):
                row = struct.unpack_from(">hqq", frame, at + 4)
                struct.pack_into(">hqq", frame, at + 4, *self.spoil(*row))
                # Number, row, leader epoch, no tags.
                at += 4 + 18 + 4 + 1
            at += 1
        return bytes(frame)


def varint(frame: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends."""
    number, shift = 0, 0
    while True:
        number |= (frame[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if frame[at - 1] < 0x80:
            return number, at


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

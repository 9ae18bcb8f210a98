"""Ways to a broker and to a store on which anything can happen."""

import socket
import threading
import time

from ..faults import ANSWERS, FaultProxy


class Wire:
    """Passes bytes on to a port. `mode`: pass, cut (nobody gets through), mute (nothing comes out), slow."""

    PAUSE = 0.02

    def __init__(self, target: int, delay: float = 0.15):
        self.target, self.delay, self.mode = target, delay, "pass"
        self.open: set[socket.socket] = set()
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def set(self, mode: str) -> None:
        self.mode = mode
        if mode == "cut":
            with self.lock:
                cut, self.open = self.open, set()
            for one in cut:
                close(one)

    def stop(self) -> None:
        self.set("cut")
        self.listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.mode == "cut":
                close(client)
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                close(client)
                continue
            server.settimeout(None)
            with self.lock:
                self.open |= {client, server}
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                if self.mode == "slow":
                    time.sleep(self.delay)
                while self.mode == "mute":
                    time.sleep(self.PAUSE)
                sink.sendall(data)
        except OSError:
            # The other end, or a fault, has ended it.
            pass
        with self.lock:
            self.open -= {source, sink}
        close(source)
        close(sink)


def close(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        # It has ended already.
        pass
    one.close()


class StoreWire(FaultProxy):
    """The proxy of the stores' tests, which can be slow as well, hangs only as long as it is told to, and asks for a
    second of rest instead of a minute."""

    def serve(self, handler) -> None:
        if self.fault == "slow":
            time.sleep(0.1)
            self.answer(handler, *self._answered(handler))
        elif self.fault == "hang":
            while self.fault == "hang" and not self.ended.wait(0.05):
                pass
            self.answer(handler, *self._answered(handler))
        elif self.fault == "throttle":
            status, _, body = ANSWERS["throttle"]
            self.answer(handler, status, body, {"Retry-After": "1"})
        else:
            super().serve(handler)
        # Nobody asks what was asked in an hour.
        del self.seen[:-100]

    def _answered(self, handler) -> tuple:
        status, headers, body = self.fetch(handler, handler.path)
        return status, body, headers

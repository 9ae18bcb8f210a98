"""What goes on beside a test: producing, polling."""

import threading
from collections.abc import Callable


class Repeated:
    """Does something again and again, `pause` seconds apart. Leaving the block stops it and raises what it raised."""

    def __init__(self, pause: float, step: Callable[[], None]):
        self.pause, self.step = pause, step
        self.over = threading.Event()
        self.failure: Exception | None = None
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Repeated":
        self.thread.start()
        return self

    def __exit__(self, kind, *_) -> None:
        self.over.set()
        self.thread.join()
        # What the test itself failed of is told first.
        if self.failure and kind is None:
            raise self.failure

    def _run(self) -> None:
        try:
            while not self.over.is_set():
                self.step()
                self.over.wait(self.pause)
        except Exception as error:  # noqa: BLE001 - raised where the block ends
            self.failure = error

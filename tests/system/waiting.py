"""Waiting for what will happen, instead of sleeping for luck."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PAUSE = 0.1


class Ended(RuntimeError):
    """What is waited for can not happen any more: the program ended."""


def wait_until(predicate: Callable[[], T], timeout: float, what: str) -> T:
    """Asks until the answer is true, and returns that answer. An exception of the last try is kept as the cause."""
    deadline = time.monotonic() + timeout
    while True:
        last_error = None
        answer = None
        try:
            answer = predicate()
        except Ended:
            raise
        except Exception as error:  # noqa: BLE001 - a part that is still starting may fail in any way
            last_error = error
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout} s: {what} (last answer: {answer!r})") from last_error
        time.sleep(PAUSE)


def eventually(assertion: Callable[[], T], timeout: float = 20) -> T:
    """Repeats an assertion until it holds. At the end of its time the last failure is raised as it is."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return assertion()
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        time.sleep(PAUSE)

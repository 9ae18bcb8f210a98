"""Commands that a page tells people to type, and a shell to type them into."""

import html
import os
import re
import shlex
import subprocess
from pathlib import Path

from . import brinkwatch
from .kafka import JVM, jars


def commands(page: str) -> list[str]:
    """The command lines of a page, as a browser would copy them."""
    blocks = re.findall(r"<pre><code>(.*?)</code></pre>", page, re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]*>", "", block)) for block in blocks]


def verb(line: str) -> str:
    """Which command it is, such as `gaps show`."""
    words = shlex.split(line)
    if words[0] != "brinkwatch":
        return words[0]
    return " ".join(words[1:3]) if words[1] == "gaps" else words[1]


def programs(folder: Path) -> Path:
    """A folder with `brinkwatch` and Kafka's own tool, by the names that people type."""
    folder.mkdir(parents=True)
    (folder / "brinkwatch").symlink_to(brinkwatch.binary())
    java = shlex.join(["java", *JVM, "-cp", f"{jars('BRINKWATCH_KAFKA_JARS')}/*", "org.apache.kafka.tools.ConfigCommand"])
    (folder / "kafka-configs.sh").write_text(f'#!/bin/sh\nexec {java} "$@"\n')
    (folder / "kafka-configs.sh").chmod(0o755)
    return folder


def typed(line: str, folder: Path, path: Path) -> subprocess.CompletedProcess:
    """Through a shell, with these programs on its path."""
    return subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

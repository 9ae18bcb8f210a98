"""`python -m system.fault_hour [SECONDS] [SEED]`"""

import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

from .hour import Hour


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3600.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1_000_000)
    print(f"seed {seed}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="fault-hour-"))
    # A broker makes no more records of its metadata at once than ten thousand, and the topic is one of them.
    flood = int(os.environ.get("FLOOD", "9990" if seconds >= 900 else "1000"))
    long = seconds >= 900
    hour = Hour(folder, seed, seconds, storm=60 if long else 25, longest=20 if long else 7, pause=2.0, flood=flood)
    try:
        report = hour.run()
    finally:
        log = folder / "brinkwatch" / "brinkwatch.log"
        if log.exists():
            shutil.copy(log, os.environ.get("FAULT_HOUR_LOG", "/dev/null"))
        told = sorted(hour.storm_of_faults.told) if hasattr(hour, "storm_of_faults") else []
        if os.environ.get("FAULT_HOUR_LOG"):
            Path(os.environ["FAULT_HOUR_LOG"] + ".faults").write_text("".join(f"{at:.3f} {what}\n" for at, what in told))
        shutil.rmtree(folder, ignore_errors=True)
    text = report.text()
    print(text)
    if out := os.environ.get("FAULT_HOUR_REPORT"):
        Path(out).write_text(f"{text}\n")
    for problem in hour.problems:
        print(f"PROBLEM: {problem}")
    sys.exit(bool(hour.problems or report.wrong or report.causeless))


if __name__ == "__main__":
    main()

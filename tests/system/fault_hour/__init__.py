"""An hour of faults: the real daemon over real brokers and stores, and a checker that knows the truth.

`tests/fault-hour [SECONDS]` runs it by hand, `test_fault_hour.py` for two minutes. In reading order:

- `exposition` reads one scrape;
- `truth` remembers what was so, and since when: logs as their brokers tell them, checkpoints as they were written;
- `checker` holds each published number against it, with `numbers_of` a partition, and `afterwards` what only shows
  later; `findings` are its words;
- `recovery` says what is not yet as it should be, once every fault has passed;
- `world` is what is watched and what happens there; `brokers` are its brokers, `checkpoint` writes the checkpoints;
- `proxies` lie between the daemon and what it reads; `watcher` is the daemon in its own small world;
- `faults` are what goes wrong; `alarms` what may be paged for;
- `hour` puts it together, `report` tells it.
"""

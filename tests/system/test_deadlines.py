"""No published deadline is later than the deletion: the short form of `tests/bench/deadlines`."""

from .deadlines import KINDS, Run, table


def test_no_deadline_is_late_whatever_the_stamps_and_the_lag(tmp_path):
    seen = Run(tmp_path, [10_000], 2).measure()
    print(table(seen))
    for place, one in seen.items():
        if KINDS[place.kind].proved:
            assert one.before_it_went(), f"no deadline was published of {place}"
            assert not one.late, f"{place}: {one}"
        else:
            assert not one.published, f"nothing can be proved of {place}"
    assert len(seen) >= 20

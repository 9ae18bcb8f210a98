"""axe-core, run inside a page: what would keep people from using it."""

import os
from pathlib import Path

WAIT = "const done = arguments[arguments.length - 1]; axe.run({resultTypes: ['violations']}).then(done, done)"


def findings(chrome) -> list[str]:
    """Serious and critical findings on the page as it stands."""
    chrome.run(Path(os.environ["BRINKWATCH_AXE"]).read_text() + "\nreturn true")
    found = chrome.run_async(WAIT)
    assert "violations" in found, found
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: {[node['html'][:200] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]

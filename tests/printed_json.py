"""What commands print and the API answers as JSON, without what differs from one execution to the next."""

import json
import os
import re
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"
_RUN_ID = re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{6}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(\+00:00|Z)?")
_ATTEMPT = re.compile(r"daybook-[0-9a-f-]{16,}")
# Clocks, processes and random names; what the rows of an output hash to is the subject of other tests.
_VOLATILE = {
    "detail",
    "duration_ms",
    "write_duration_ms",
    "seconds",
    "pid",
    "port",
    "size",
    "token",
    "host",
    "host_id",
    "started",
    "user",
    "changed_by",
    "done_by",
    "backup",
    "damaged",
    "fingerprint",
    "_created_at",
    "_updated_at",
    "_row_id",
    "version",
    "previous_version",
    "project_version",
    "active_version",
}
_WHOLE = {"details", "snapshot"}


def check_golden(name: str, printed: dict[str, str]) -> None:
    """Compare with the files of a folder below `tests/golden`; `DAYBOOK_WRITE_GOLDEN=1` writes them."""
    folder = GOLDEN / name
    if os.environ.get("DAYBOOK_WRITE_GOLDEN"):
        for key, text in printed.items():
            (folder / f"{key}.json").write_text(text, encoding="utf-8")
    expected = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    assert set(printed) == set(expected)
    for key, text in expected.items():
        assert printed[key] == text, key


class Stable:
    """Replaces volatile values by what they are; runs are numbered in the order in which they are first printed."""

    def __init__(self, root: Path) -> None:
        self._root = str(root.resolve())
        self._runs: dict[str, str] = {}

    def text(self, printed: str) -> str:
        """JSON text, which must be indented or one object per line as commands print it."""
        try:
            value = json.loads(printed)
            assert printed.rstrip("\n") == json.dumps(value, indent=2, ensure_ascii=False)
            return json.dumps(self.value(value), indent=2, ensure_ascii=False) + "\n"
        except json.JSONDecodeError:
            lines = [json.loads(line) for line in printed.splitlines()]
            assert printed.splitlines() == [json.dumps(line, ensure_ascii=False) for line in lines]
            return "".join(json.dumps(self.value(line), ensure_ascii=False) + "\n" for line in lines)

    def value(self, value: Any, key: str = "") -> Any:
        if value is not None and (key in _VOLATILE or (key in _WHOLE and isinstance(value, dict))):
            return f"<{type(value).__name__}>"
        match value:
            case dict():
                return {self._in_text(name): self.value(item, name) for name, item in value.items()}
            case list():
                return [self.value(item, key) for item in value]
            case str():
                return self._in_text(value)
            case _:
                return value

    def _in_text(self, text: str) -> str:
        text = text.replace(self._root, "<root>")
        text = _RUN_ID.sub(lambda match: self._runs.setdefault(match[0], f"RUN-{len(self._runs) + 1}"), text)
        return _ATTEMPT.sub("<attempt>", _TIME.sub("<time>", text))

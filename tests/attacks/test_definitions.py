"""Whatever a file below a workspace holds is answered with a code, and never passed over when it defines something."""

from pathlib import Path

import pytest

from daybook.definitions.loading import load_workspace
from daybook.errors import DaybookError, flatten
from tests.attacks.tables import definitions


@pytest.mark.parametrize(("what", "name", "content", "code"), definitions.CASES, ids=lambda value: str(value)[:30])
def test_answered(tmp_path: Path, what: str, name: str, content: bytes, code: str) -> None:
    (tmp_path / "daybook.yaml").write_text("name: w\n")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DaybookError) as caught:
        load_workspace(tmp_path)
    codes = [error.code for error in flatten(caught.value)]
    assert code in codes, what

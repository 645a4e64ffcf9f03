"""The examples of the page on Python, run in the workspace that `daybook init` writes."""

import doctest
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.demo.workspace_files import write_workspace

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "api.md"


def test_the_examples(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_workspace("starter", tmp_path / "sales")
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(
        PAGE.read_text(encoding="utf-8"), {"spark": spark}, PAGE.name, str(PAGE), 0
    )
    shown: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    outcome = runner.run(examples, out=shown.append)
    assert outcome.attempted > 10
    assert outcome.failed == 0, "".join(shown)

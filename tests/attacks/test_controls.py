"""Nothing in data, headers, file names and names steers the terminal that shows an error about it."""

import json
import unicodedata
from pathlib import Path

import pytest

from daybook.definitions.loading import load_text
from daybook.errors import DaybookError, flatten, render
from tests.attacks.landed import csv_rows, dataset, json_rows
from tests.attacks.tables import controls

TEXTS = [text for text, _ in controls.CASES]


def is_harmless(shown: str) -> bool:
    return not any(
        unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in shown if character != "\n"
    )


def shown_error(error: DaybookError) -> str:
    return "".join(render(each) for each in flatten(error))


def csv_field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_as_a_value(tmp_path: Path, text: str) -> None:
    (tmp_path / "in.csv").write_bytes(f"a\n{csv_field(text)}\n".encode())
    (tmp_path / "in.json").write_text(json.dumps({"a": text}))
    for read, name in ((csv_rows, "in.csv"), (json_rows, "in.json")):
        with pytest.raises(DaybookError) as caught:
            read(tmp_path / name, dataset(a="integer"))
        assert caught.value.code == "IO_004"
        assert is_harmless(shown_error(caught.value))
        # As text it is what it is.
        assert read(tmp_path / name, dataset(a="string")) == [{"a": text}]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_as_a_header(tmp_path: Path, text: str) -> None:
    (tmp_path / "in.csv").write_bytes(f"a,{csv_field(text)},{csv_field(text)}\n1,2,3\n".encode())
    with pytest.raises(DaybookError) as caught:
        csv_rows(tmp_path / "in.csv", dataset(a="integer"))
    assert caught.value.code == "IO_014"
    assert is_harmless(shown_error(caught.value))


@pytest.mark.parametrize("text", [text for text in TEXTS if "/" not in text], ids=ascii)
def test_as_a_file_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / f"{text}.csv"
    path.write_text("a\nx\n")
    with pytest.raises(DaybookError) as caught:
        csv_rows(path, dataset(a="integer"))
    assert is_harmless(shown_error(caught.value))


@pytest.mark.parametrize(("text", "is_name"), controls.CASES, ids=ascii)
def test_as_the_name_of_a_column(text: str, is_name: bool) -> None:
    table = {"name": "t", "columns": [{"name": text, "type": "string"}]}
    definition = json.dumps({"dataset": {"id": "d", "main_table": table}})
    if is_name and "." not in text:
        (found,) = load_text(definition, "d.json")
        assert found.model.main_table.columns[0].name == text
        return
    with pytest.raises(DaybookError) as caught:
        load_text(definition, "d.json")
    assert {error.code for error in flatten(caught.value)} & {"MODEL_013", "MODEL_045"}
    assert is_harmless(shown_error(caught.value))

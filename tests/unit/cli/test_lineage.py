"""`daybook lineage`: the tree for people, the shape that machines rely on, the flow chart, what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from daybook.cli.app import main
from tests.workspaces import Folder, assign, no_session, to_table


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    made = Folder.new(tmp_path / "w", no_session)
    made.project(
        assign("net", "amount * 2", selector='region = "EMEA"'),
        to_table(register_as_dataset="booked", columns=["region", "net"]),
        id_="maker",
    )
    made.project(assign("x", "net"), to_table("copy", columns=["x"]), id_="reader", input_="booked")
    monkeypatch.chdir(made.root)
    return made


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["lineage", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["lineage", *arguments, "--json"]) == 2
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    return error


def test_the_json_of_a_project(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "maker", "net") == {
        "columns": [
            {
                "project": "maker",
                "output": 2,
                "column": "net",
                "inputs": [
                    {
                        "dataset": "orders",
                        "column": "amount",
                        "kind": "direct",
                        "how": "transformation",
                        "operations": [1],
                    },
                    {
                        "dataset": "orders",
                        "column": "region",
                        "kind": "indirect",
                        "how": "selector",
                        "operations": [1],
                    },
                ],
            }
        ]
    }


def test_a_project_reads_the_dataset_of_another_unless_all_is_asked_for(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    (column,) = called(capsys, "reader")["columns"]
    assert [(each["dataset"], each["column"], each["how"]) for each in column["inputs"]] == [
        ("booked", "net", "identity")
    ]
    (column,) = called(capsys, "reader", "--all")["columns"]
    assert [(each["dataset"], each["column"], each["how"]) for each in column["inputs"]] == [
        ("orders", "amount", "transformation"),
        ("orders", "region", "selector"),
    ]


def test_without_a_project_all_of_them(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    found = called(capsys)["columns"]
    assert [(each["project"], each["column"]) for each in found] == [
        ("maker", "region"),
        ("maker", "net"),
        ("reader", "x"),
    ]


def test_downstream_names_the_columns_that_come_from_one(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    found = called(capsys, "--downstream", "orders.amount")["columns"]
    assert [(each["project"], each["output"], each["column"]) for each in found] == [
        ("maker", 2, "net"),
        ("reader", 2, "x"),
    ]
    assert found[1]["inputs"] == [
        {"dataset": "orders", "column": "amount", "kind": "direct", "how": "transformation", "operations": [1]}
    ]


def test_the_tree_for_people(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lineage", "maker", "net"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "maker, output 2 to lake.result (dataset booked)",
        "└─ net",
        "   ├─ from orders.amount  transformation  1",
        "   ├─ by   orders.region  selector        1",
        '   ├─ 1: where region = "EMEA"',
        "   └─ 1: net = amount * 2",
    ]


def test_what_all_columns_share_is_said_once(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.project(
        {"type": "delete", "selector": "amount = 0"}, to_table("other", columns=["region", "amount"]), id_="third"
    )
    assert main(["lineage", "third"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:7] == [
        "├─ every column",
        "│  ├─ by   orders.amount  selector        1",
        "│  └─ 1: where amount = 0",
        "├─ region",
        "│  └─ from orders.region  identity",
        "└─ amount",
    ]


def test_a_tree_fits_eighty_columns(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    long = " + ".join(["amount"] * 40)
    folder.project(assign("net", long), to_table("other", columns=["net"]), id_="third")
    assert main(["lineage", "third"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.count("amount") for line in lines) == 41


def test_a_constant_comes_from_no_column(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.project(assign("x", "1"), to_table("other", columns=["x"]), id_="third")
    assert main(["lineage", "third", "x"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["└─ x", "   ├─ from no input column", "   └─ 1: x = 1"]


def test_the_flow_chart(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lineage", "maker", "net", "--mermaid"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "flowchart LR"
    names = dict(line.strip().rstrip("]").split("[", 1) for line in lines if "[" in line)
    assert set(names.values()) == {
        '"maker 2: net"',
        '"1: net = amount * 2"',
        '"1: where region = #quot;EMEA#quot;"',
        '"orders.amount"',
        '"orders.region"',
    }
    ids = {label: number for number, label in names.items()}
    value, selector = ids['"1: net = amount * 2"'], ids['"1: where region = #quot;EMEA#quot;"']
    amount = ids['"orders.amount"']
    assert f"    {amount} --> {value}" in lines
    assert f'    {selector} -.->|"selector"| {value}' in lines


def test_a_column_that_is_not_written_is_refused(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    error = refused(capsys, "maker", "nett")
    assert (error["code"], error["hint"]) == ("RUN_120", "did you mean net?")


def test_a_project_that_is_not_there_is_refused(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "makr")["code"] == "RUN_001"


@pytest.mark.parametrize("name", ["orders", "orders.", "orders.amout", "ordrs.amount", ".amount"])
def test_a_column_that_no_dataset_has_is_refused(folder: Folder, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert refused(capsys, "--downstream", name)["code"] == "RUN_121"


def test_a_project_with_errors_is_named_and_left_out(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.project(assign("x", "unknown"), to_table("other"), id_="third")
    assert main(["lineage", "--json"]) == 0
    found = capsys.readouterr()
    assert {each["project"] for each in json.loads(found.out)["columns"]} == {"maker", "reader"}
    assert "RUN_122" in found.err
    assert refused(capsys, "third")["code"] == "UPDATE_006"

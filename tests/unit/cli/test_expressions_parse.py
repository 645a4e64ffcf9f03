import json
import subprocess
import sys

import pytest

from daybook.cli.app import main

COLUMNS = "amount decimal(18,2), status string, `net amount` float"


def test_type_and_sql(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "if(amount>100, amount*0.9, amount)", "--columns", COLUMNS]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "expression  IF(amount > 100, amount * 0.9, amount)",
        "type        decimal(20,3)",
        "columns     amount",
        "SQL         IF(`amount` > 100BD, `amount` * 0.9BD, `amount`)",
    ]


def test_json_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "`net amount` = 1", "--columns", COLUMNS, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "expression": "`net amount` = 1",
        "type": "boolean",
        "columns": ["net amount"],
        "sql": "`net amount` = 1.0D",
    }


def test_an_aggregation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "SUM(amount)", "--columns", COLUMNS, "--group-by", "status"]) == 0
    assert "decimal(38,2)" in capsys.readouterr().out


def test_a_window_with_names_and_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    text = "{{NET}} / SUM({{NET}}) OVER (status ORDER BY amount DESC) > param.share"
    given = ("--named", "NET=amount - 1", "--parameters", "share decimal(5,2)")
    assert main(["parse", text, "--columns", COLUMNS, *given]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [f"expression  {text}", "type        boolean", "columns     amount, status"]
    assert "OVER (PARTITION BY `status` ORDER BY `amount` DESC NULLS LAST ROWS" in lines[3]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["SUM(amount) OVER ('status')", "--columns", COLUMNS], "EXPR_076"),
        (["SUM(amount) OVER (status)", "--columns", COLUMNS, "--group-by", "status"], "EXPR_074"),
        (["param.x", "--columns", COLUMNS, "--parameters", "y integer"], "EXPR_077"),
        (["{{X}}", "--columns", COLUMNS, "--named", "Y=1"], "EXPR_050"),
        (["{{X}}", "--columns", COLUMNS, "--named", "X"], "RUN_050"),
        (["amout", "--columns", COLUMNS], "EXPR_012"),
        (["1 +", "--columns", COLUMNS], "EXPR_002"),
        (["1", "--columns", "amount deciml"], "EXPR_061"),
        (["1", "--columns", "amount decimal(39,2)"], "EXPR_061"),
        (["1", "--columns", "amount"], "EXPR_060"),
        (["1", "--columns", "amount decimal status string"], "EXPR_060"),
    ],
)
def test_wrong_input(capsys: pytest.CaptureFixture[str], arguments: list[str], code: str) -> None:
    assert main(["parse", *arguments]) == 2
    assert f"[{code}]" in capsys.readouterr().err


def test_neither_spark_nor_other_heavy_packages_are_loaded() -> None:
    program = (
        "import sys; from daybook.cli.app import main; main(['parse', '1 + 1']); "
        "print({'pyspark', 'pyarrow', 'deltalake', 'sqlalchemy', 'daybook.definitions.loading'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_columns_that_were_not_named_can_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "amount * 2"]) == 2
    assert "--columns 'amount decimal(18,2)'" in capsys.readouterr().err
    assert main(["parse", "amount * 2", "--columns", "amout integer"]) == 2
    assert "did you mean amout?" in capsys.readouterr().err


def test_named_expressions_and_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    named = ["--named", "NET=amount - 1", "--parameters", "least decimal(18,2)"]
    assert main(["parse", "2 * {{NET}} > param.least", "--columns", COLUMNS, *named]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "expression  2 * {{NET}} > param.least",
        "type        boolean",
        "columns     amount",
        "SQL         (2BD * (`amount` - 1BD)) > :least",
    ]
    assert main(["parse", "{{NET}}", "--columns", COLUMNS, "--named", "NET"]) == 2
    assert "RUN_050" in capsys.readouterr().err

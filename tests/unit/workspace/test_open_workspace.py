"""Opening a workspace reads its settings, and nothing that a use case does not need."""

import subprocess
import sys
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.runs import list_runs


def test_the_nearest_workspace_above_is_opened(tmp_path: Path) -> None:
    (tmp_path / "daybook.yaml").write_text("name: close\n")
    below = tmp_path / "projects" / "deep"
    below.mkdir(parents=True)
    workspace = open_workspace(below)
    assert workspace.root.resolve() == tmp_path
    assert workspace.settings.name == "close"


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        open_workspace(tmp_path / "nowhere")
    assert caught.value.code == "MODEL_064"


def test_wrong_settings_are_refused(tmp_path: Path) -> None:
    (tmp_path / "daybook.yaml").write_text("name: close\nunknown: 1\n")
    with pytest.raises(DaybookError) as caught:
        open_workspace(tmp_path)
    assert caught.value.code == "MODEL_020"


def test_a_broken_definition_does_not_keep_a_workspace_from_being_opened(tmp_path: Path) -> None:
    (tmp_path / "daybook.yaml").write_text("name: close\n")
    (tmp_path / "broken.yaml").write_text("project: {id: p, operations: [\n")
    workspace = open_workspace(tmp_path)
    assert list_runs(workspace).runs == ()
    with pytest.raises(DaybookError):
        workspace.load_definitions()


def test_looking_at_an_empty_store_creates_none(tmp_path: Path) -> None:
    (tmp_path / "daybook.yaml").write_text("name: close\n")
    with open_workspace(tmp_path).open_store_or_empty() as store, store.read() as transaction:
        assert transaction.projects.all() == ()
    assert not (tmp_path / ".daybook").exists()


def test_opening_needs_neither_spark_nor_a_database(tmp_path: Path) -> None:
    (tmp_path / "daybook.yaml").write_text("name: close\n")
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from daybook.workspace.open_workspace import open_workspace\n"
        f"open_workspace(Path({str(tmp_path)!r}))\n"
        "sys.exit(','.join(sorted({'pyspark', 'pyarrow', 'sqlalchemy', 'deltalake'} & sys.modules.keys())) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_use_cases_need_nothing_of_the_command_line() -> None:
    program = (
        "import sys, pkgutil, importlib, daybook.workspace as package\n"
        "names = [module.name for module in pkgutil.iter_modules(package.__path__)]\n"
        "for name in names: importlib.import_module(f'daybook.workspace.{name}')\n"
        "assert len(names) > 10\n"
        "sys.exit(','.join(sorted({'typer', 'click', 'rich', 'daybook.cli'} & sys.modules.keys())) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

"""An action is repeated when a file changes, and when one appears or goes."""

from collections.abc import Callable
from pathlib import Path

from daybook.workspace.watch import file_states, repeat_on_change


def test_a_change_repeats_the_action_until_it_is_interrupted(tmp_path: Path) -> None:
    file = tmp_path / "project.yaml"
    file.write_text("a", encoding="utf-8")
    seen: list[str] = []
    changes: list[Callable[[], object]] = [
        lambda: file.write_text("bb", encoding="utf-8"),
        lambda: None,
        lambda: (tmp_path / "other.yaml").write_text("c", encoding="utf-8"),
        file.unlink,
    ]

    def wait() -> None:
        if not changes:
            raise KeyboardInterrupt
        changes.pop(0)()

    repeat_on_change(lambda: seen.append(",".join(sorted(file_states([tmp_path])))), [tmp_path], wait=wait)
    names = [[Path(name).name for name in text.split(",")] for text in seen]
    assert names == [["project.yaml"], ["project.yaml"], ["other.yaml", "project.yaml"], ["other.yaml"]]


def test_hidden_files_and_folders_are_not_watched(tmp_path: Path) -> None:
    for path in (".daybook/store.db", "_delta_log/1.json", ".hidden", "data/rates.csv"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("", encoding="utf-8")
    assert [Path(path).name for path in file_states([tmp_path])] == ["rates.csv"]

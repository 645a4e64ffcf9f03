from pathlib import Path

from daybook.cli.app import main
from tests.workspaces import Folder, no_session, to_table


def test_the_comment_goes_to_a_folder_that_need_not_be_there(tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(to_table())
    comment = tmp_path / "build" / "impact.md"
    assert main(["--workspace", str(folder.root), "activate", "--all"]) == 0
    assert main(["--workspace", str(folder.root), "impact", "--markdown", str(comment)]) == 0
    assert comment.read_text(encoding="utf-8")

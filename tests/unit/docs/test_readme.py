"""What the README shows works."""

import re
from pathlib import Path

from daybook.cli.app import main
from daybook.demo.workspace_files import write_workspace

README = Path(__file__).parents[3] / "README.md"


def test_the_project_of_the_readme_is_right(tmp_path: Path) -> None:
    write_workspace("starter", tmp_path)
    (yaml,) = re.findall(r"```yaml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(yaml.splitlines()) == 10
    (tmp_path / "projects" / "monthly-sales.yaml").write_text(yaml, encoding="utf-8")
    assert main(["--workspace", str(tmp_path), "validate"]) == 0


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)", README.read_text(encoding="utf-8")):
        assert (README.parent / target).exists(), target

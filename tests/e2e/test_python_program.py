"""Python programs that use Daybook, each in a process of its own."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """\
from pathlib import Path
import daybook
from daybook.demo.workspace_files import write_workspace

workspaces = []
for name in ("a", "b"):
    write_workspace("starter", Path(name))
    with Path(name, "daybook.yaml").open("a") as settings:
        settings.write("engine: {master: 'local[1]', conf: {spark.driver.memory: 1g, spark.sql.shuffle.partitions: 1,"
            " spark.sql.codegen.wholeStage: false, spark.sql.codegen.factoryMode: NO_CODEGEN}}\\n")
    workspaces.append(daybook.Workspace(name))
frames = [workspace.run("monthly-sales", "2026-01").output() for workspace in workspaces]
print(*(frame.count() for frame in frames))
project = Path("b", "projects", "monthly-sales.yaml")
project.write_text(project.read_text().replace("amount * 0.03", "TO_NUMBER(order_id)"))
try:
    daybook.Workspace("b").run("monthly-sales", "2026-01")
except daybook.RunFailedError as failure:
    print(failure.error.code)
"""


def test_workspaces_that_are_never_closed_end_without_a_traceback_and_failures_without_a_log(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "4 4\nPROJECT_033\n"), done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    # PySpark logs failing queries as JSON.
    assert "level" not in done.stderr

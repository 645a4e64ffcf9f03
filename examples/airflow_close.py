"""An Airflow DAG of a close: one task for each project and period, in the order that Daybook derives.

Put it into the DAGs folder, with `daybook` on the PATH of the workers and the workspace on a shared disk. The graph is
read when the file is parsed: `daybook graph --json` reads definitions and the store, and starts no Spark. Every task
brings its own node up to date; a node that is fresh is not run again. An exit code other than 0 fails the task: 1 for a
run that failed, 2 for wrong input.
"""

import json
import os
import shlex
import subprocess

import pendulum
from airflow import DAG
from airflow.operators.bash import BashOperator

WORKSPACE = os.environ.get("DAYBOOK_WORKSPACE", "/srv/close")
PERIOD = os.environ.get("DAYBOOK_PERIOD", "2026-01")


def read_graph():
    command = ["daybook", "--workspace", WORKSPACE, "graph", "--period", PERIOD, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


with DAG("close", start_date=pendulum.datetime(2026, 1, 1), schedule=None, catchup=False) as dag:
    graph = read_graph()
    tasks = {}
    for node in graph["nodes"]:
        name = f"{node['project']}@{node['period']}"
        command = ["daybook", "--workspace", WORKSPACE, "build", node["project"], "--only", "--period", node["period"]]
        tasks[name] = BashOperator(task_id=name.replace("@", "."), bash_command=shlex.join(command) + " ")
    for edge in graph["edges"]:
        tasks[edge["from"]] >> tasks[edge["to"]]

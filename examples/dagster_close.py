"""A Dagster job of a close: one op for each project and period, in the order that Daybook derives.

    DAYBOOK_WORKSPACE=~/close DAYBOOK_PERIOD=2026-01 dagster job execute -f examples/dagster_close.py

`daybook graph --json` reads definitions and the store, and starts no Spark. Every op brings its own node up to date; a
node that is fresh is not run again. An exit code other than 0 fails the op, and what needs it does not run.
"""

import json
import os
import re
import subprocess

from dagster import DependencyDefinition, Failure, GraphDefinition, In, MultiDependencyDefinition, Nothing, op

WORKSPACE = os.environ.get("DAYBOOK_WORKSPACE", ".")
PERIOD = os.environ["DAYBOOK_PERIOD"]


def daybook(*arguments):
    command = ["daybook", "--workspace", WORKSPACE, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def read_graph():
    found = daybook("graph", "--period", PERIOD, "--json")
    if found.returncode != 0:
        raise RuntimeError(found.stderr)
    return json.loads(found.stdout)


def name_of(node):
    return re.sub(r"\W", "_", node)


def op_of(project, period):
    @op(name=name_of(f"{project}@{period}"), ins={"needs": In(Nothing)})
    def build(context):
        done = daybook("build", project, "--only", "--period", period)
        context.log.info(done.stdout)
        if done.returncode != 0:
            raise Failure(f"daybook build ended with {done.returncode}: {done.stderr}")

    return build


def close_job():
    graph = read_graph()
    makers = {f"{each['project']}@{each['period']}": [] for each in graph["nodes"]}
    for edge in graph["edges"]:
        makers[edge["to"]].append(DependencyDefinition(name_of(edge["from"])))
    return GraphDefinition(
        name="close",
        node_defs=[op_of(each["project"], each["period"]) for each in graph["nodes"]],
        dependencies={
            name_of(node): {"needs": MultiDependencyDefinition(found)} for node, found in makers.items() if found
        },
    ).to_job()


job = close_job()

"""How a scenario names the outputs of its project: by table, path or operation id."""

from collections.abc import Iterator

from daybook.errors import DaybookError
from daybook.model.operation import LocationDestination, OutputArguments, OutputOperation, TableDestination
from daybook.model.project import Project
from daybook.model.suggestion import did_you_mean
from daybook.scenarios.scenario import Rows, Scenario


def place_of(arguments: OutputArguments) -> str:
    match arguments.destination:
        case TableDestination(table=table):
            return table
        case LocationDestination(location=location):
            return location.path


def expected_outputs(scenario: Scenario) -> dict[str, Rows]:
    """The expected rows by the name of their output; `rows` are those of the last one."""
    expect = scenario.frame.expect
    if expect.rows is None or scenario.project is None:
        return dict(expect.outputs or {})
    return {place_of(_outputs(scenario.project.model)[-1].arguments): expect.rows}


def unknown_outputs(scenario: Scenario, project: Project) -> Iterator[DaybookError]:
    """An expectation of an output that does not exist could hold whatever the project does."""
    outputs = _outputs(project)
    if not outputs:
        yield DaybookError("MODEL_070", span=scenario.source.span("project"), problem="its project has no output")
        return
    known = {name for output in outputs for name in (place_of(output.arguments), output.id)}
    for name in scenario.frame.expect.outputs or ():
        if name not in known:
            span = scenario.source.key("expect", "outputs", name)
            problem = f"its project has no output {name}"
            yield DaybookError("MODEL_070", span=span, problem=problem, hint=did_you_mean(name, known))


def _outputs(project: Project) -> list[OutputOperation]:
    return [operation for operation in project.operations if isinstance(operation, OutputOperation)]

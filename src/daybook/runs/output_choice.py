"""Which output of a run somebody means."""

from collections.abc import Iterator

from daybook.errors import DaybookError
from daybook.model.operation import LocationDestination, TableDestination
from daybook.model.suggestion import did_you_mean
from daybook.runs.preparing import Prepared
from daybook.runs.result import OutputResult, RunResult
from daybook.runs.targets import IN_SANDBOX, PlannedOutput


def choose_output(result: RunResult, prepared: Prepared, wanted: str | None) -> OutputResult:
    """The output that has this name, or the last one; a name that two have is that of the first."""
    if wanted is None and result.outputs:
        return result.outputs[-1]
    for output in result.outputs:
        if wanted in _names(output, prepared.output(output.operation_seq)):
            return output
    labels = tuple(output.destination for output in result.outputs)
    hint = did_you_mean(wanted, labels) if wanted else "give the project an output operation"
    raise DaybookError("RUN_019", wanted=wanted or "to show", names=", ".join(labels) or "none", hint=hint)


def _names(output: OutputResult, planned: PlannedOutput) -> Iterator[str | None]:
    """The destination as it was written, with its tokens or for the period, and everything a result tells."""
    yield from (output.destination, output.destination.removesuffix(IN_SANDBOX), output.place)
    yield from (output.operation_id, output.name, output.dataset_id)
    match planned.step.arguments.destination:
        case TableDestination(table=table):
            yield table
        case LocationDestination(location=location):
            yield location.path

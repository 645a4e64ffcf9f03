"""Events as the classes of the OpenLineage client have them: what these do not take is no event."""

import importlib
import inspect
import types
import typing
from collections.abc import Mapping
from typing import Any

import attr
from openlineage.client import facet_v2
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState

_RUN_FACETS = {
    "nominalTime": "nominal_time_run.NominalTimeRunFacet",
    "parent": "parent_run.ParentRunFacet",
    "errorMessage": "error_message_run.ErrorMessageRunFacet",
    "processing_engine": "processing_engine_run.ProcessingEngineRunFacet",
    "tags": "tags_run.TagsRunFacet",
}
_JOB_FACETS = {
    "jobType": "job_type_job.JobTypeJobFacet",
    "sourceCodeLocation": "source_code_location_job.SourceCodeLocationJobFacet",
    "documentation": "documentation_job.DocumentationJobFacet",
}
_DATASET_FACETS = {
    "schema": "schema_dataset.SchemaDatasetFacet",
    "dataSource": "datasource_dataset.DatasourceDatasetFacet",
    "version": "dataset_version_dataset.DatasetVersionDatasetFacet",
    "lifecycleStateChange": "lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet",
    "columnLineage": "column_lineage_dataset.ColumnLineageDatasetFacet",
    "dataQualityAssertions": "data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet",
    "dataQualityMetrics": "data_quality_metrics_dataset.DataQualityMetricsDatasetFacet",
    "outputStatistics": "output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet",
}

_INPUT_FACETS = {"dataQualityMetrics": "data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet"}


def validated(event: Mapping[str, Any]) -> RunEvent:
    """The event made of the client's classes; fails for a key, a type or an address of a schema that they lack."""
    assert event["schemaURL"] == RunEvent._get_schema()
    run, job = event["run"], event["job"]
    return RunEvent(
        eventType=RunState(event["eventType"]),
        eventTime=event["eventTime"],
        producer=event["producer"],
        run=Run(run["runId"], facets=_facets(run["facets"], _RUN_FACETS)),
        job=Job(job["namespace"], job["name"], facets=_facets(job["facets"], _JOB_FACETS)),
        inputs=[_dataset(InputDataset, each, "inputFacets") for each in event["inputs"]],
        outputs=[_dataset(OutputDataset, each, "outputFacets") for each in event["outputs"]],
    )


def _dataset(kind: Any, data: Mapping[str, Any], own: str) -> Any:
    assert data.keys() <= {"namespace", "name", "facets", own}
    facets = {
        own: _facets(
            data.get(own, {}), {**_DATASET_FACETS, **_INPUT_FACETS} if own == "inputFacets" else _DATASET_FACETS
        )
    }
    return kind(data["namespace"], data["name"], facets=_facets(data["facets"], _DATASET_FACETS), **facets)


def _facets(found: Mapping[str, Any], classes: Mapping[str, str]) -> dict[str, Any]:
    return {name: _facet(classes[name], data) for name, data in found.items()}


def _facet(name: str, data: Mapping[str, Any]) -> Any:
    module, _, class_name = name.partition(".")
    kind = getattr(getattr(facet_v2, module), class_name)
    assert data["_schemaURL"] == kind._get_schema()
    assert data["_producer"]
    return _structured(kind, {key: value for key, value in data.items() if not key.startswith("_")})


def _structured(kind: Any, data: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return None if data is None else _structured(next(each for each in arguments if each is not type(None)), data)
    if origin is list:
        return [_structured(arguments[0], each) for each in data]
    if origin is dict:
        return {key: _structured(arguments[1], each) for key, each in data.items()}
    if inspect.isclass(kind) and attr.has(kind):
        hints = typing.get_type_hints(kind, {**vars(typing), **vars(importlib.import_module(kind.__module__))})
        unknown = data.keys() - {each.name for each in attr.fields(kind)}
        assert not unknown, f"{kind.__name__} has no {unknown}"
        return kind(**{key: _structured(hints[key], value) for key, value in data.items()})
    if inspect.isclass(kind) and issubclass(kind, str | int | bool):
        assert isinstance(data, kind)
        return data
    make: Any = kind
    return make(data) if inspect.isclass(kind) else data

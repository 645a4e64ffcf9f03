"""References to datasets: the version they mean, or what is wrong with them."""

from collections.abc import Mapping
from typing import Any

from daybook.errors import DaybookError
from daybook.model.catalog import Catalog, DatasetVersion
from daybook.model.column_names import ENGINE_NAMES
from daybook.model.dataset import DatasetRef
from daybook.model.source_map import SourceMap
from daybook.model.suggestion import did_you_mean


def find_dataset(
    reference: DatasetRef,
    catalog: Catalog,
    source: SourceMap,
    *path: str | int,
    codes: tuple[str, str, str],
    seq: int | None,
    parameters: Mapping[str, Any] | None = None,
) -> DatasetVersion:
    """The version a reference means; `codes` are for a missing dataset, a missing version, a disabled dataset."""
    missing, no_version, disabled = codes
    described: dict[str, Any] = {**(parameters or {}), "dataset_id": reference.dataset_id}
    place = source.span(*path, "dataset_id")
    versions = catalog.dataset_versions(reference.dataset_id)
    if not versions:
        hint = did_you_mean(reference.dataset_id, catalog.ids("dataset"))
        raise DaybookError(missing, span=place, hint=hint, operation_seq=seq, **described)
    found = catalog.dataset(reference.dataset_id, reference.dataset_version)
    if found is None:
        span = source.span(*path, "dataset_version")
        hint = f"versions are {', '.join(map(str, versions))}"
        raise DaybookError(
            no_version, span=span, hint=hint, operation_seq=seq, version=reference.dataset_version, **described
        )
    if found.status == "disabled":
        raise DaybookError(disabled, span=place, operation_seq=seq, **described)
    for column in found.dataset.main_table.columns:
        if ENGINE_NAMES.fullmatch(column.name):
            hint = f"rename the column of dataset {reference.dataset_id}"
            raise DaybookError("PROJECT_027", span=place, hint=hint, operation_seq=seq, column=column.name)
    return found

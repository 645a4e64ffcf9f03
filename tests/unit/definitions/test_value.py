"""What is known of definitions, and the next values: activated, registered, awaited, applied."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from daybook.definitions.activated import ProjectInput, as_activated, validated_inputs
from daybook.definitions.deferred import Deferred
from daybook.definitions.loading import load_text
from daybook.definitions.registered import with_awaited, with_awaited_versions, with_makers, with_registrations
from daybook.definitions.seen import project_digest, seen_digest
from daybook.definitions.value import DatasetVersions, Definitions, LatestVersion, Overlaid, RecordedVersions
from daybook.model.dataset import Dataset, View
from daybook.model.datasource import Resolver
from daybook.model.definition import DatasetVersion, DeclaredVersion, Definition
from daybook.model.project import Project
from tests.unit.resolve.calendars import fiscal


def model(text: str) -> Any:
    (definition,) = load_text(text, "definitions.yaml")
    return definition.model


def dataset(id_: str, *columns: str, location: str | None = "data/{id}.csv") -> Dataset:
    lines = "".join(f"      - {{name: {column}, type: string}}\n" for column in columns or ("a",))
    text = f"dataset:\n  id: {id_}\n  main_table:\n    name: {id_}\n    columns:\n{lines}"
    if location is not None:
        text += f"    location: {{path: {location.format(id=id_)}}}\n"
    made: Dataset = model(text)
    return made


def view(id_: str, of: str, version: int | None = None) -> View:
    pinned = f", dataset_version: {version}" if version is not None else ""
    made: View = model(f"dataset: {{id: {id_}, view: {{of: {of}, window: previous{pinned}}}}}")
    return made


def project(input_: str = "orders", **more: Any) -> Definition[Project]:
    rest = "".join(f"  {key}: {value}\n" for key, value in more.items())
    output = "{type: output, arguments: {destination: {datasource_id: lake, table: t}, register_as_dataset: made}}"
    (definition,) = load_text(
        f"project:\n  id: p\n  input: {{dataset_id: {input_}}}\n{rest}  operations:\n    - {output}\n", "p.yaml"
    )
    return definition


def versions(*models: Dataset | View) -> DatasetVersions:
    declared = [DeclaredVersion(each, number) for number, each in enumerate(models, 1)]
    numbered = {version.version: Deferred.of(version) for version in declared}
    return DatasetVersions(numbered[len(declared)], numbered)


def names(version: DatasetVersion | None) -> list[str]:
    return [column.name for column in version.dataset.main_table.columns] if version is not None else []


DEFAULT_RESOLVER: Resolver = model(
    "resolver: {id: r, is_default: true, rules: [{name: r, data_level: month, "
    "strategy: {type: path, datasource_id: lake, path: '{{identifier}}.csv'}}]}"
)
ORDERS = Definitions({"orders": versions(dataset("orders"), dataset("orders", "a", "b"))})


def test_an_open_reference_means_the_latest_version() -> None:
    assert names(ORDERS.dataset("orders")) == ["a", "b"]
    assert names(ORDERS.dataset("orders", 1)) == ["a"]
    assert ORDERS.dataset("orders", 3) is None
    assert ORDERS.dataset("other") is None
    assert ORDERS.dataset_versions("orders") == (1, 2)


def test_a_view_is_declared_as_a_view_and_read_as_what_it_ends_at() -> None:
    definitions = Definitions({**ORDERS.datasets, "before": versions(view("before", "orders", 1))})
    declared = definitions.declared("before")
    assert declared is not None
    assert isinstance(declared.dataset, View)
    read = definitions.dataset("before")
    assert read is not None
    assert read.view is not None
    assert (read.dataset.id, names(read), read.viewed.version) == ("before", ["a"], 1)


def test_views_that_only_read_each_other_are_nothing() -> None:
    definitions = Definitions({"x": versions(view("x", "y")), "y": versions(view("y", "x"))})
    assert definitions.dataset("x") is None


def test_a_text_is_decoded_once_and_only_when_it_is_read() -> None:
    decoded: list[str] = []

    def decode() -> DeclaredVersion:
        decoded.append("orders")
        return DeclaredVersion(dataset("orders"), 1)

    definitions = Definitions({"orders": DatasetVersions(Deferred(decode))})
    assert definitions.ids("dataset") == ("orders",)
    assert decoded == []
    definitions.dataset("orders")
    definitions.declared("orders")
    assert decoded == ["orders"]


def test_what_is_disabled_is_not_suggested() -> None:
    resolver = DEFAULT_RESOLVER
    definitions = Definitions(resolvers={"r": LatestVersion.of(resolver, status="disabled")})
    assert definitions.ids("resolver") == ()
    assert definitions.default_resolver() is None
    disabled = definitions.resolver("r")
    assert disabled is not None
    assert disabled.status == "disabled"


def test_an_activated_project_does_not_see_columns_that_a_dataset_gained_since() -> None:
    seen = as_activated(ORDERS, [ProjectInput("orders", 1, False)])
    assert names(seen.dataset("orders")) == ["a"]
    latest = seen.dataset("orders")
    assert latest is not None
    assert latest.version == 2
    assert names(ORDERS.dataset("orders")) == ["a", "b"]


def test_a_pinned_input_is_not_cut() -> None:
    assert names(as_activated(ORDERS, [ProjectInput("orders", 1, True)]).dataset("orders")) == ["a", "b"]


def test_the_inputs_of_a_project_are_the_versions_it_is_checked_with() -> None:
    definitions = Definitions({**ORDERS.datasets, "before": versions(view("before", "orders", 1))})
    assert validated_inputs(project("before").model, definitions) == (
        ProjectInput("before", 1, False),
        ProjectInput("orders", 1, True),
    )


def test_what_a_run_will_register_is_seen_as_the_next_version_that_nobody_can_pin() -> None:
    registered = dataset("made", "a", "c", location="made")
    seen = with_registrations(with_makers(ORDERS, [project()]), {"made": registered})
    assert names(seen.dataset("made")) == ["a", "c"]
    assert (seen.dataset_versions("made"), seen.dataset("made", 1)) == ((1,), None)
    assert seen.registering_project("made") == "p"
    again = Definitions({"made": versions(dataset("made", location="made"))})
    changed = with_registrations(again, {"made": registered}).declared("made")
    assert changed is not None
    assert changed.version == 2


def test_a_registration_changes_nothing_of_what_a_file_declares_with_its_location() -> None:
    declared = DeclaredVersion(dataset("made"), 1, contract=dataset("made"))
    definitions = Definitions({"made": DatasetVersions.only(declared)})
    assert with_registrations(definitions, {"made": dataset("made", "z")}).declared("made") == declared


def test_a_registration_fills_in_the_location_that_a_file_leaves_open() -> None:
    contract = dataset("made", location=None)
    definitions = Definitions({"made": DatasetVersions.only(DeclaredVersion(contract, 1, contract=contract))})
    filled = with_registrations(definitions, {"made": dataset("made", location="written")}).declared("made")
    assert filled is not None
    assert isinstance(filled.dataset, Dataset)
    assert (filled.version, filled.contract) == (1, contract)
    assert filled.dataset.main_table.location == dataset("made", location="written").main_table.location


def test_only_what_is_not_registered_yet_is_awaited() -> None:
    expected = with_registrations(ORDERS, {"orders": dataset("orders", "z"), "made": dataset("made", "m")})
    awaiting = with_awaited(ORDERS, expected)
    assert (names(awaiting.dataset("orders")), names(awaiting.dataset("made"))) == (["a", "b"], ["m"])
    of_version_3 = with_awaited_versions(ORDERS, expected, [ProjectInput("orders", 3, False)])
    assert names(of_version_3.dataset("orders")) == ["z"]


def test_one_set_of_rows_may_serve_every_version() -> None:
    declared = DatasetVersions(Deferred.of(DeclaredVersion(dataset("orders"), 1)), serves_every_version=True)
    pinned = Definitions({"orders": declared}).dataset("orders", 7)
    assert pinned is not None
    assert pinned.version == 7
    recorded = DatasetVersion(dataset("orders"), 4)
    read = Definitions({"orders": RecordedVersions(recorded, {4: recorded}, serves_every_version=True)})
    assert read.dataset("orders", 7) == recorded
    assert read.declared("orders") is None


class TestSeenDigest:
    def test_it_stays_when_something_changes_that_the_project_does_not_reach(self) -> None:
        others = Definitions({**ORDERS.datasets, "other": versions(dataset("other"))})
        assert seen_digest(others, project().model) == seen_digest(ORDERS, project().model)

    @pytest.mark.parametrize(
        "definitions",
        [
            Definitions({"orders": versions(dataset("orders"))}),
            Definitions({"orders": versions(dataset("orders"), dataset("orders", "a", "c"))}),
            Definitions({}),
            Definitions({}, makers={"orders": "q"}),
            Definitions(
                ORDERS.datasets,
                resolvers={"r": LatestVersion.of(DEFAULT_RESOLVER)},
            ),
        ],
        ids=["fewer versions", "another column", "missing", "made by a project", "a default resolver"],
    )
    def test_it_changes_with_what_the_project_reaches(self, definitions: Definitions) -> None:
        assert seen_digest(definitions, project().model) != seen_digest(ORDERS, project().model)

    def test_it_reaches_through_views(self) -> None:
        def seen(*columns: str) -> str:
            viewed = {"before": versions(view("before", "orders")), "orders": versions(dataset("orders", *columns))}
            return seen_digest(Definitions(viewed), project("before").model)

        assert seen("a") != seen("b")

    def test_it_has_the_calendar(self) -> None:
        calendars = [fiscal(month) for month in (4, 7)]
        digests = {
            seen_digest(
                Definitions(ORDERS.datasets, calendars={"fiscal": LatestVersion.of(calendar)}),
                project(calendar_id="fiscal").model,
            )
            for calendar in calendars
        }
        assert len(digests) == 2

    def test_a_project_is_another_one_when_its_text_stands_elsewhere(self) -> None:
        (moved,) = load_text(f"# moved\n{project().source.text}", "p.yaml")
        assert moved.model == project().model
        assert project_digest(moved) != project_digest(project())


def test_a_mapping_with_changed_items_asks_for_the_others_when_they_are_read() -> None:
    asked: list[str] = []

    class Asked(Mapping[str, int]):
        def __getitem__(self, key: str) -> int:
            asked.append(key)
            return {"a": 1, "b": 2}[key]

        def __iter__(self) -> Iterator[str]:
            return iter(("a", "b"))

        def __len__(self) -> int:
            return 2

    changed = Overlaid(Overlaid(Asked(), {"b": 3, "c": 4}), {"c": 5})
    assert (changed["b"], changed["c"], asked) == (3, 5, [])
    assert (list(changed), len(changed), "c" in changed, "d" in changed) == (["a", "b", "c"], 3, True, False)
    assert dict(changed) == {"a": 1, "b": 3, "c": 5}

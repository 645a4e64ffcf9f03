"""Which files of a workspace count, and what is said about those that are wrong."""

import os
from pathlib import Path

import pytest

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading import LoadedWorkspace, find_workspace, load_workspace
from daybook.definitions.loading.loaded_workspace import read_workspace
from daybook.errors import DaybookError, flatten

DATASET = "dataset: {{id: {id}, main_table: {{name: t, columns: [{{name: a, type: string}}]}}}}\n"
SOURCE = "datasource: {{id: {id}, type: {type}, options: {{path: {path}}}}}\n"


def workspace(root: Path, files: dict[str, str], settings: str = "name: test\n") -> Path:
    for name, text in {"daybook.yaml": settings, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def ids(found: LoadedWorkspace) -> set[str]:
    return {definition.id for definition in found.all()}


def codes(error: DaybookError) -> list[str]:
    return [single.code for single in flatten(error)]


def test_definitions_of_all_folders_and_formats(tmp_path: Path) -> None:
    root = workspace(
        tmp_path,
        {
            "a.yaml": DATASET.format(id="a") + "---\n" + DATASET.format(id="b"),
            "deep/er/c.yml": DATASET.format(id="c"),
            "d.json": '{"datasource": {"id": "d", "type": "sqlite", "options": {"path": "x"}}}',
            "notes.yaml": "title: no definition\n",
            "list.json": "[1, 2]",
            "README.md": "dataset: no\n",
        },
    )
    found = load_workspace(root)
    assert ids(found) == {"a", "b", "c", "d"}
    assert found.settings.name == "test"
    assert found.get("dataset", "c") is not None
    assert found.get("datasource", "c") is None


@pytest.mark.parametrize(
    "skipped",
    [
        ".hidden/x.yaml",
        "_drafts/x.yaml",
        "deep/_drafts/x.yaml",
        "tests/x.yaml",
        "schemas/x.yaml",
        "sand/x.yaml",
        ".daybook/x.yaml",
        "deep/.git/x.yaml",
        ".x.yaml",
        "lake/x.yaml",
        "lake/deep/x.yaml",
        "inline.json",
        "out/2026-01/x.json",
        "other/x.yaml",
    ],
)
def test_folders_that_hold_no_definitions(tmp_path: Path, skipped: str) -> None:
    broken = "dataset: {broken: 1}\n" if skipped.endswith("yaml") else '{"dataset": {"broken": 1}}'
    project = (
        "project:\n  id: p\n  input: {dataset_id: z}\n  operations:\n"
        "    - {type: output, arguments: {destination: {location: 'out/{{identifier}}/x.json'}}}\n"
    )
    inline = "dataset: {id: z, main_table: {name: t, columns: [{name: a, type: string}], location: inline.json}}\n"
    root = workspace(
        tmp_path,
        {
            # Defined deeper than the folder it names, so that the folder is known only afterwards.
            "deep/down/source.yaml": SOURCE.format(id="lake", type="json", path="lake"),
            "deep/inline.yaml": inline,
            "deep/project.yaml": project,
            "other/daybook.yaml": "name: another workspace\n",
            skipped: broken,
        },
        settings="name: test\nsandbox: sand\n",
    )
    assert ids(load_workspace(root)) == {"lake", "z", "p"}


@pytest.mark.parametrize("name", ["deep/tests/x.yaml", "deep/schemas/x.yaml", "lake2/x.yaml", "sandy/x.yaml"])
def test_folders_that_only_look_alike_are_read(tmp_path: Path, name: str) -> None:
    source = SOURCE.format(id="lake", type="json", path="lake")
    root = workspace(tmp_path, {"s.yaml": source, name: DATASET.format(id="x")}, settings="name: test\nsandbox: sand\n")
    assert ids(load_workspace(root)) == {"lake", "x"}


def test_a_data_source_around_its_own_definition_hides_nothing(tmp_path: Path) -> None:
    root = workspace(
        tmp_path, {"s.yaml": SOURCE.format(id="here", type="csv", path="."), "d.yaml": DATASET.format(id="d")}
    )
    assert ids(load_workspace(root)) == {"here", "d"}


def test_every_error_of_every_file(tmp_path: Path) -> None:
    root = workspace(
        tmp_path,
        {
            "a.yaml": "datset: {id: a}\n",
            "b.yaml": "dataset: {id: b, main_tabel: {}}\n",
            "c.json": '{"project": {"name": "c",}}',
            "d.yaml": DATASET.format(id="d"),
            "e.yaml": DATASET.format(id="d"),
        },
        settings="nmae: test\n",
    )
    with pytest.raises(DaybookError) as caught:
        load_workspace(root)
    found = {
        (single.span.file.removeprefix(f"{root.as_posix()}/"), single.code)
        for single in flatten(caught.value)
        if single.span and single.span.file
    }
    assert found == {
        ("daybook.yaml", "MODEL_020"),
        ("a.yaml", "MODEL_011"),
        ("b.yaml", "MODEL_020"),
        ("c.json", "MODEL_004"),
        ("e.yaml", "MODEL_060"),
    }


def test_unreadable_files_count_only_when_they_define_something(tmp_path: Path) -> None:
    root = workspace(
        tmp_path,
        {
            "lines.json": '{"amount": 1}\n{"amount": }\n',
            "helm.yaml": "a: {{ .Values.x }}\nb: *y\n",
            "template.yaml": "{% for x in y %}\n",
        },
    )
    (root / "latin.yaml").write_bytes("title: Gr\xf6\xdfe\n".encode("latin-1"))
    assert ids(load_workspace(root)) == set()
    (root / "latin.yaml").write_bytes("dataset:\n  name: Gr\xf6\xdfe\n".encode("latin-1"))
    (root / "helm.yaml").write_text("dataset: {{ .Values.x }}\n")
    with pytest.raises(DaybookError) as caught:
        load_workspace(root)
    by_code = {single.code: single for single in flatten(caught.value)}
    assert by_code.keys() == {"MODEL_003", "MODEL_010"}
    place = by_code["MODEL_003"].span
    assert place is not None
    assert (place.line, place.column) == (2, 11)


def test_files_over_ten_megabytes(tmp_path: Path) -> None:
    big = "# " + "x" * 10_000_000 + "\n"
    root = workspace(tmp_path, {"data.json": "[" + "1," * 5_000_001 + "1]", "big.yaml": "dataset:\n" + big})
    with pytest.raises(DaybookError) as caught:
        load_workspace(root)
    assert codes(caught.value) == ["MODEL_002"]
    assert caught.value.parameters["file"] == (root / "big.yaml").as_posix()


def test_a_missing_or_broken_settings_file(tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        load_workspace(tmp_path)
    assert caught.value.code == "MODEL_001"
    workspace(tmp_path, {}, settings="name: x\nstore: postgresql://u:hunter2@h/d\n")
    with pytest.raises(DaybookError) as caught:
        load_workspace(tmp_path)
    assert caught.value.code == "MODEL_051"
    assert caught.value.span is not None
    assert "hunter2" not in caught.value.span.text
    assert caught.value.hint is not None
    assert "PGPASSWORD" in caught.value.hint


def test_secrets_in_the_engine_settings(tmp_path: Path) -> None:
    workspace(tmp_path, {}, settings="name: x\nengine: {conf: {spark.hadoop.fs.s3a.secret.key: hunter2}}\n")
    with pytest.raises(DaybookError) as caught:
        load_workspace(tmp_path)
    assert caught.value.code == "MODEL_051"


def test_find_the_workspace_from_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = workspace(tmp_path, {"deep/er/a.yaml": DATASET.format(id="a")})
    assert find_workspace(root / "deep" / "er").resolve() == root.resolve()
    assert find_workspace(root / "deep" / "er" / "a.yaml").resolve() == root.resolve()
    monkeypatch.chdir(root / "deep")
    assert find_workspace(Path()) == Path("..")
    monkeypatch.chdir(root)
    assert find_workspace(Path()) == Path()
    (definition,) = load_workspace(Path()).all()
    assert definition.file == "deep/er/a.yaml"


def test_no_workspace(tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        find_workspace(tmp_path)
    assert caught.value.code == "MODEL_063"


def test_catalog_of_files(tmp_path: Path) -> None:
    strategy = "{type: path, datasource_id: lake, path: x}"
    root = workspace(
        tmp_path,
        {
            "a.yaml": DATASET.format(id="a"),
            "s.yaml": SOURCE.format(id="lake", type="csv", path="lake"),
            "r.yaml": f"resolver: {{id: r, is_default: true, rules: [{{name: x, strategy: {strategy}}}]}}\n",
            "c.yaml": "calendar: {id: c, levels: [{name: year}]}\n",
        },
    )
    catalog = definitions_of_files(load_workspace(root))
    version = catalog.dataset("a")
    assert version is not None
    assert (version.dataset.id, version.version, version.status) == ("a", 1, "active")
    assert catalog.dataset("a", 1) == version
    assert catalog.dataset("a", 2) is None
    assert catalog.dataset("b") is None
    assert catalog.dataset_versions("a") == (1,)
    assert catalog.dataset_versions("b") == ()
    source, resolver, default = catalog.datasource("lake"), catalog.resolver("r"), catalog.default_resolver()
    assert source is not None
    assert source.id == "lake"
    assert not catalog.is_datasource_disabled("lake")
    assert resolver is not None
    assert resolver == default
    assert catalog.calendar("c") is not None
    assert catalog.ids("dataset") == ("a",)


def test_what_the_file_system_refuses_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = workspace(tmp_path, {"good.yaml": DATASET.format(id="a"), "closed/b.yaml": DATASET.format(id="b")})
    (root / "broken.yaml").symlink_to(root / "nowhere.yaml")
    scan = os.scandir

    def refusing(path: Path) -> object:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(DaybookError) as caught:
        load_workspace(root)
    found = {str(single.parameters["file"]).rpartition("/")[2] for single in flatten(caught.value)}
    assert codes(caught.value) == ["MODEL_001", "MODEL_001"]
    assert found == {"broken.yaml", "closed"}


def test_pipes_are_not_opened(tmp_path: Path) -> None:
    root = workspace(tmp_path, {"good.yaml": DATASET.format(id="a")})
    os.mkfifo(root / "pipe.yaml")
    assert ids(load_workspace(root)) == {"a"}


def test_settings_are_one_document(tmp_path: Path) -> None:
    workspace(tmp_path, {}, settings="name: a\n---\nname: b\n")
    with pytest.raises(DaybookError) as caught:
        load_workspace(tmp_path)
    assert caught.value.code == "MODEL_004"
    assert caught.value.span is not None
    assert caught.value.span.line == 3


def test_the_settings_of_the_design(tmp_path: Path) -> None:
    settings = """\
name: acme-close
store: sqlite:///.daybook/store.db     # embedded default; postgresql://user@host/db for a team
sandbox: sandbox                       # optional: draft projects write below this folder
engine:
  master: local[*]                     # or spark://…, yarn, k8s://…; or  remote: sc://host:15002
  conf: {}                             # any Spark setting
state: .daybook                        # landed inputs, staging, scratch; a shared URI on a cluster
retention: {runs: 90d, versions: 24}   # used by `daybook gc` only; nothing is removed otherwise
"""
    found = load_workspace(workspace(tmp_path, {}, settings=settings)).settings
    assert (found.name, found.sandbox, found.engine.master) == ("acme-close", "sandbox", "local[*]")
    assert (found.retention.runs, found.retention.versions) == ("90d", 24)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ("name: a\nretention: {runs: 90}\n", "MODEL_028"),
        ("name: a\nretention: {versions: 0}\n", "MODEL_025"),
        ("name: a\nengine: {conf: [1]}\n", "MODEL_022"),
        ("name: a\nengine: {sail: true}\n", "MODEL_020"),
        ("name: a\nlineage: {openlineage: {to: lineage.acme.com}}\n", "MODEL_028"),
        ("name: a\nlineage: {openlineage: {to: 'ftp://acme.com/x'}}\n", "MODEL_028"),
        ("name: a\nlineage: {openlineage: {to: 'https://[acme'}}\n", "MODEL_028"),
        ("name: a\nlineage: {openlineage: {to: 'file://relative/events.jsonl'}}\n", "MODEL_028"),
        ("name: a\nlineage: {openlineage: {to: 'file:///'}}\n", "MODEL_028"),
        (
            "name: a\nlineage: {openlineage: {to: 'http://acme.com/x', credential_ref: 'env://TOKEN'}}\n",
            "MODEL_028",
        ),
        ("name: a\nlineage: {openlineage: {to: 'https://acme.com', credential_ref: secret}}\n", "MODEL_052"),
        ("name: a\nlineage: {openlineage: {namespace: acme}}\n", "MODEL_021"),
        ("name: a\nname: b\n", "MODEL_005"),
        ("- a\n", "MODEL_022"),
        ("", "MODEL_021"),
    ],
)
def test_settings_that_are_wrong(tmp_path: Path, settings: str, code: str) -> None:
    with pytest.raises(DaybookError) as caught:
        load_workspace(workspace(tmp_path, {}, settings=settings))
    assert codes(caught.value) == [code]


@pytest.mark.parametrize(
    "text",
    [
        "project: {id: p, input: {dataset_id: a}, operations: [{type: delete}\n",
        "{dataset: {id: a, main_table: {name: a}\n",
        "- dataset: {id: a, main_table: {name: a}\n",
        "dataset\n  id: a\n  main_table: {name: t}\n",
        "dataset {id: a, main_table: {name: t}}\n",
    ],
)
def test_a_broken_text_that_begins_as_a_definition_is_an_error_with_its_place(tmp_path: Path, text: str) -> None:
    _, errors = read_workspace(workspace(tmp_path, {"a.yaml": text}))
    assert [(error.code, error.span is not None) for error in errors] == [("MODEL_004", True)]


FOREIGN_FILES = {
    "docker-compose.yml": "services: {db: {image: postgres}}\n",
    "mkdocs.yml": "site_name: x\nextra: !!python/name:material.extensions.emoji.twemoji\n",
    "models/schema.yml": "version: 2\nmodels: [{name: orders, columns: [{name: id}]}]\n",
    "workflows/ci.yaml": "on: [push]\njobs: {test: {runs-on: linux}}\n",
}


def test_files_of_other_programs_are_skipped_and_counted(tmp_path: Path) -> None:
    files = {**FOREIGN_FILES, "a.yaml": DATASET.format(id="a")}
    loaded, errors = read_workspace(workspace(tmp_path, files))
    assert errors == []
    names = {path.relative_to(tmp_path).as_posix() for path in loaded.skipped}
    assert names == files.keys() - {"a.yaml"}

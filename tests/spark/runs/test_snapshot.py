"""A run's snapshot has everything it takes to explain and repeat it."""

import datetime
import getpass
import platform
import subprocess
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from daybook.io.pins import LandedPin
from daybook.runs.attempt.recorder import recorded_pins
from tests.workspaces import COLUMNS, Folder, assign, to_table


def git(root: Path, *arguments: str) -> str:
    found = subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True)
    return found.stdout.strip()


@pytest.fixture
def repository(spark: SparkSession, tmp_path: Path) -> Folder:
    conf = {"spark.sql.shuffle.partitions": 2}
    folder = Folder.new(tmp_path / "w", lambda: spark, engine={"conf": conf})
    rule = {"name": "all", "strategy": {"type": "path", "datasource_id": "files", "path": "orders.csv"}}
    folder.datasource("files", "csv", path="data")
    folder.define("resolver", {"id": "monthly", "rules": [{**rule, "data_level": "any"}]})
    body = {"id": "orders", "resolver_id": "monthly", "main_table": {"name": "orders", "temporal_mode": "period"}}
    body["main_table"]["columns"] = COLUMNS  # type: ignore[index]
    folder.define("dataset", body)
    folder.project(
        assign("tax", "amount * 2", selector="{{big}}"), to_table(), selectors={"big": "orders.amount   > 60"}
    )
    (folder.root / ".gitignore").write_text(".daybook\nlake\n")
    git(folder.root, "init", "-q")
    git(folder.root, "add", "-A")
    git(folder.root, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "first")
    return folder


def test_the_snapshot_is_complete(repository: Folder) -> None:
    before = datetime.datetime.now(datetime.UTC)
    run = repository.run("2026-01", as_of=datetime.date(2026, 1, 20), allow_empty=True)
    snapshot = repository.snapshot(run.run_id)
    written = (repository.root / "definitions/project-p.yaml").read_text()
    assert snapshot.project_text == written
    assert snapshot.project.selectors == {"big": "orders.amount   > 60"}
    assert snapshot.project_version == 1
    assert [(each.dataset.id, each.version) for each in snapshot.datasets] == [("orders", 1)]
    (source,) = snapshot.sources
    resolution = source.resolution
    assert (resolution.resolver_id, resolution.resolver_version, resolution.rule) == ("monthly", 1, "all")
    assert [location.uri for location in resolution.locations] == [str(repository.root.resolve() / "data/orders.csv")]
    assert (snapshot.period.identifier, snapshot.as_of) == ("2026-01", datetime.date(2026, 1, 20))
    assert before <= snapshot.timestamp <= datetime.datetime.now(datetime.UTC)
    assert snapshot.settings.allow_empty is True
    assert snapshot.settings.is_draft is True
    assert snapshot.settings.engine["spark.sql.shuffle.partitions"] == 2
    provenance = snapshot.provenance
    assert (provenance.user, provenance.host) == (getpass.getuser(), platform.node())
    assert provenance.git is not None
    assert (provenance.git.commit, provenance.git.is_clean) == (git(repository.root, "rev-parse", "HEAD"), True)
    with repository.around() as around, around.store.read() as transaction:
        pins = recorded_pins(transaction, run.run_id)
    (pin,) = pins["input"]
    assert isinstance(pin, LandedPin)
    assert (pin.uris, pin.rows) == ((str(repository.root.resolve() / "data/orders.csv"),), 4)


def test_an_uncommitted_change_is_noted(repository: Folder) -> None:
    repository.project(to_table())
    provenance = repository.snapshot(repository.run().run_id).provenance
    assert provenance.git is not None
    assert provenance.git.is_clean is False


def test_a_snapshot_never_changes(repository: Folder) -> None:
    run = repository.run()
    before = repository.snapshot(run.run_id)
    repository.project(to_table("elsewhere"))
    (repository.root / "daybook.yaml").write_text(yaml.safe_dump({"name": "tests"}))
    repository.run()
    assert repository.snapshot(run.run_id) == before

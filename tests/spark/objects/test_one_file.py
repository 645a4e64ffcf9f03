"""One file on an object store is replaced as a whole, once, whatever happens to the answers."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.io.leftovers import find_staged_leftovers
from daybook.io.registry import writer_for
from tests.object_proxy import Action, Fault, ObjectProxy
from tests.object_store import Bucket
from tests.spark.objects.by_hand import csv_target, stage_csv

WRITER = writer_for("csv")
KEY = "out/Bericht Jän.csv"
OLD, NEW = "id,amount\n1,1.00\n", "id,amount\n1,2.00\n2,2.00\n"


def commit(bucket: Bucket, run_id: str, text: str) -> None:
    target = csv_target(bucket, run_id)
    WRITER.commit(stage_csv(target, text, text.count("\n") - 1), target)


@pytest.mark.parametrize("action", ["drop the answer", "reset", "500", "503", "slow down"])
def test_a_disturbed_commit_is_made_once(action: Action, bucket: Bucket, proxy: ObjectProxy) -> None:
    commit(bucket, "before", OLD)
    target = csv_target(bucket.through(proxy.endpoint), "now")
    staged = stage_csv(target, NEW, 2)
    fault = proxy.meet(action, "PUT", "/" + KEY)
    assert WRITER.commit(staged, target).rows == 2
    assert fault.happened == 1
    assert bucket.read(KEY).decode() == NEW
    assert WRITER.commit(staged, target).is_repeat
    assert [key for key in bucket.keys("out/") if "daybook-" in key] == []


def test_a_commit_whose_store_is_gone_leaves_the_old_file_or_the_new_one(bucket: Bucket, proxy: ObjectProxy) -> None:
    commit(bucket, "before", OLD)
    target = csv_target(bucket.through(proxy.endpoint), "now")
    staged = stage_csv(target, NEW, 2)
    proxy.meet("drop the answer", "PUT", "/" + KEY)
    proxy.faults += [Fault("503", method, "", 10_000) for method in ("PUT", "GET", "HEAD")]
    with pytest.raises(DaybookError) as refused:
        WRITER.commit(staged, target)
    assert refused.value.code in ("IO_026", "IO_073")
    proxy.faults = []
    WRITER.commit(staged, target)
    assert bucket.read(KEY).decode() == NEW


def test_a_file_that_others_changed_is_not_taken_for_the_commit(bucket: Bucket) -> None:
    commit(bucket, "now", NEW)
    target = csv_target(bucket, "now")
    assert WRITER.committed(target) is not None
    bucket.put(KEY, NEW.replace("2.00", "9.00"))
    assert WRITER.committed(target) is None


def test_rows_are_not_replaced_by_none_unless_that_is_meant(bucket: Bucket) -> None:
    commit(bucket, "before", OLD)
    target = csv_target(bucket, "now")
    with pytest.raises(DaybookError) as refused:
        WRITER.commit(stage_csv(target, "id,amount\n", 0), target)
    assert refused.value.code == "IO_023"
    allowed = csv_target(bucket, "now", allow_empty=True)
    WRITER.commit(stage_csv(allowed, "id,amount\n", 0), allowed)
    assert bucket.read(KEY) == b"id,amount\n"


@pytest.mark.parametrize(("mode", "code"), [("error", "IO_032"), ("append", "IO_022"), ("replace_period", "IO_032")])
def test_modes_that_a_store_cannot_keep_are_refused(mode: str, code: str, bucket: Bucket) -> None:
    with pytest.raises(DaybookError) as refused:
        WRITER.check(csv_target(bucket, "now", mode=mode))
    assert refused.value.code == code


def test_what_is_staged_is_removed_with_the_run(bucket: Bucket) -> None:
    target = csv_target(bucket, "now")
    stage_csv(target, NEW, 2)
    other = csv_target(bucket, "other")
    stage_csv(other, NEW, 2)
    WRITER.discard(target)
    assert {key.split("/")[1].split(".")[1] for key in bucket.keys("out/")} == {"daybook-other"}


def test_an_empty_folder_that_the_store_still_lists_is_no_leftover(bucket: Bucket) -> None:
    target = csv_target(bucket, "now")
    stage_csv(target, NEW, 2)
    assert [litter.run_id for litter in find_staged_leftovers([bucket.uri], (), (), Path(), bucket.storage)] == ["now"]
    for key in bucket.keys("out/"):
        bucket.client.delete_object(Bucket=bucket.name, Key=key)
    assert find_staged_leftovers([bucket.uri], (), (), Path(), bucket.storage) == ()

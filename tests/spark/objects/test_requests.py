"""How many requests a small run sends, so that nobody lists a table again and again without noticing."""

from daybook.io.formats.delta.writer import DeltaWriter
from tests.object_proxy import ObjectProxy
from tests.object_store import Bucket
from tests.spark.objects.by_hand import delta_target, rows, stage_delta
from tests.spark.objects.folder import ObjectFolder

# Of one run, from CSV to a Delta table with one commit: 118 when this was written.
MOST_REQUESTS = 140
# Of the table: it is opened three times, each time with one list, and its commit lists three times.
MOST_LOG_LISTS = 6
MOST_FOR_A_COMMIT = 120


def test_a_small_run_sends_few_requests(folder: ObjectFolder, bucket: Bucket, proxy: ObjectProxy) -> None:
    folder.run("2026-01")
    folder.reach(bucket.through(proxy.endpoint))
    folder.run("2026-01")
    assert len(proxy.requests) <= MOST_REQUESTS
    lists = [path for method, path in proxy.requests if method == "GET" and "prefix=lake/result/_delta_log/" in path]
    assert 0 < len(lists) <= MOST_LOG_LISTS
    proxy.requests.clear()
    folder.run("2026-01")
    assert proxy.count("PUT", "state/landing") == 0


def test_a_commit_to_an_old_table_sends_as_many_as_one_to_a_young_table(bucket: Bucket, proxy: ObjectProxy) -> None:
    sent = []
    for number in range(24):
        reached = bucket if number % 11 else bucket.through(proxy.endpoint)
        target = delta_target(reached, f"run-{number}")
        proxy.requests.clear()
        DeltaWriter().commit(stage_delta(target, rows("2.00")), target)
        sent.append(len(proxy.requests))
    assert bucket.keys("lake/t/_delta_log/_last_checkpoint") != []
    assert 0 < sent[11] <= MOST_FOR_A_COMMIT
    assert 0 < sent[22] <= MOST_FOR_A_COMMIT

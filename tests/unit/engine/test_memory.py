"""The heap follows the memory that is available when Java starts."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from daybook.engine.java import memory
from daybook.engine.java.launch import GATEWAY_CLASS
from daybook.engine.java.memory import available_bytes, fit_heap, heap_megabytes, java_engines
from daybook.errors import DaybookError

MEGABYTE = 1 << 20
GIGABYTE = 1 << 30


@pytest.mark.parametrize(
    ("available", "unclaimed", "heap"),
    [
        # Nobody else: all that was planned.
        (20 * GIGABYTE, 0, 12_000),
        # 400 MB are used outside of the heap.
        (8 * GIGABYTE, 0, 8192 - 400),
        # Half of what other engines may still take counts.
        (8 * GIGABYTE, 6 * GIGABYTE, 5120 - 400),
        (2 * GIGABYTE, 20 * GIGABYTE, 512),
        (700 * MEGABYTE, 0, 512),
    ],
)
def test_the_heap_is_what_is_left(available: int, unclaimed: int, heap: int) -> None:
    assert heap_megabytes(12_000, available, unclaimed) == heap


def test_too_little_memory_is_an_error_with_a_code() -> None:
    with pytest.raises(DaybookError) as refused:
        heap_megabytes(12_000, 699 * MEGABYTE, 0)
    assert refused.value.code == "RUN_921"
    assert dict(refused.value.parameters) == {"available": 699, "least": 700}


def test_a_heap_that_the_user_has_chosen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 100 * MEGABYTE)
    assert fit_heap({"spark.driver.memory": "3g"}, is_chosen=True) == {"spark.driver.memory": "3g"}
    with pytest.raises(DaybookError, match="RUN_921"):
        fit_heap({"spark.driver.memory": "3000m"}, is_chosen=False)


def test_where_the_system_hides_its_memory_the_heap_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    assert fit_heap({"spark.driver.memory": "3000m"}, is_chosen=False) == {"spark.driver.memory": "3000m"}


@pytest.mark.parametrize(
    ("limit", "use", "parts", "available"),
    [
        ("1073741824", "536870912", "anon 1\ninactive_file 104857600\n", 512 * MEGABYTE + 100 * MEGABYTE),
        ("1073741824", "2147483648", "anon 1\n", 0),
        ("max", "536870912", "anon 1\n", None),
    ],
)
def test_a_container_has_its_own_memory(
    tmp_path: Path, limit: str, use: str, parts: str, available: int | None
) -> None:
    files = [tmp_path / name for name in ("limit", "use", "parts")]
    for file, text in zip(files, (limit, use, parts), strict=True):
        file.write_text(text)
    group = (*map(str, files), "inactive_file")
    assert memory._group_available(group) == available  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say")
def test_other_engines_are_seen_with_their_limit(tmp_path: Path) -> None:
    """A shell under another name, whose last limit counts as it does for Java."""
    assert (available_bytes() or 0) > 0
    java = shutil.copy("/bin/sh", tmp_path / "java")
    # A limit that no other process has.
    limit = 300_000 * GIGABYTE + os.getpid()
    words = [str(java), "-c", "echo begun; read line", "-Xmx1g", f"-Xmx{limit}", GATEWAY_CLASS]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        # Until then the process may still be a copy of this one.
        assert process.stdout.readline() == b"begun\n"
        limits = [most for most, _ in java_engines()]
        process.communicate(b"\n")
    assert limit in limits

"""Makes the class-data archive: run what Daybook runs, note the classes, dump them, publish the file in one step.

Started as `python -m daybook.engine.build_archive TARGET JAVA ORIGIN`, or without arguments to have it now.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from daybook.engine.class_archive import archive_path, failure_mark
from daybook.engine.classic import open_classic
from daybook.engine.gateway import new_scratch
from daybook.engine.java import Java, find_java, inspect_java
from daybook.engine.launch import Launch, spark_home, spark_jars, virtual_machine_flags
from daybook.engine.machine import memory_bytes, usable_cores
from daybook.engine.session import stop_session
from daybook.engine.session_conf import session_conf
from daybook.engine.training import train
from daybook.model.workspace_file import EngineSettings

_DUMP_SECONDS = 900
_UNUSED_SECONDS = 60 * 24 * 3600


def build(target: Path, java: Java) -> bool:
    """Make the archive unless another process is at it; false when nothing was made."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        if not _locked(target, stack):
            return False
        prefix = f"building-{target.stem}-"
        for leftover in target.parent.glob(f"{prefix}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        classes, archive = folder / "classes.txt", folder / "archive.jsa"
        _record_classes(java, classes, folder)
        _dump(java, classes, archive)
        archive.replace(target)
        failure_mark(target).unlink(missing_ok=True)
        _prune(target)
    return True


def _locked(target: Path, stack: contextlib.ExitStack) -> bool:
    """Whether this process alone builds; the lock goes away with the process."""
    import fcntl

    lock = stack.enter_context(target.with_suffix(".lock").open("w"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _record_classes(java: Java, classes: Path, folder: Path) -> None:
    conf = session_conf(
        EngineSettings(conf={"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": 2}),
        master="local[2]",
        app_name="daybook-class-data",
        ui=False,
        cores=usable_cores(),
        memory=memory_bytes(),
    )
    launch = Launch(
        java=java,
        spark_home=spark_home(),
        conf=conf.application,
        scratch=new_scratch(),
        is_local=True,
        extra_flags=(f"-XX:DumpLoadedClassList={classes}",),
    )
    spark = open_classic(launch, conf.session)
    try:
        train(spark, folder / "data")
    finally:
        stop_session(spark)


def _dump(java: Java, classes: Path, archive: Path) -> None:
    jars = os.pathsep.join(map(str, spark_jars(spark_home())))
    command = [
        str(java.executable),
        "-Xshare:dump",
        f"-XX:SharedClassListFile={classes}",
        f"-XX:SharedArchiveFile={archive}",
        *(flag for flag in virtual_machine_flags("long") if not flag.startswith("-Xshare")),
        "-cp",
        jars,
    ]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=_DUMP_SECONDS)


def _prune(target: Path) -> None:
    """Remove archives that nothing has used for two months: they belong to versions that are gone."""
    for other in target.parent.glob("*.jsa"):
        with contextlib.suppress(OSError):
            if other != target and time.time() - other.stat().st_mtime > _UNUSED_SECONDS:
                other.unlink()


def main(arguments: list[str]) -> int:
    if not arguments:
        return _build_here()
    target, executable, origin = Path(arguments[0]), Path(arguments[1]), arguments[2]
    java = inspect_java(executable, "package" if origin == "package" else "machine")
    if java is None:
        return 1
    with contextlib.suppress(OSError):
        os.nice(19)
    try:
        build(target, java)
    except Exception:
        with contextlib.suppress(OSError):
            failure_mark(target).touch()
        raise
    return 0


def _build_here() -> int:
    """Without arguments: the archive for this machine's Java, now, unless it is there."""
    java = find_java(os.environ)
    target = archive_path(java, spark_home(), os.environ)
    if target is not None and not target.exists():
        build(target, java)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

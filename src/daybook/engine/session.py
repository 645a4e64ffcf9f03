"""Spark sessions that compute as Daybook promises: started here, or brought along and adopted."""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from daybook.engine.class_archive import archive_path, build_in_background, ready_archive
from daybook.engine.classic import build_classic, forget_classic, open_classic
from daybook.engine.connect import forget_connect, is_connect, open_local_connect, open_remote
from daybook.engine.gateway import attached, new_scratch
from daybook.engine.java import find_java
from daybook.engine.launch import Launch, Workload, spark_home
from daybook.engine.machine import memory_bytes, usable_cores
from daybook.engine.sail import open_sail, require_engine
from daybook.engine.session_conf import SEMANTICS, differences, local_threads, remote_conf, session_conf
from daybook.engine.settings import setting
from daybook.errors import DaybookError
from daybook.model.workspace_file import EngineSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Whoever sets one of these wants PySpark's own launcher, with the distribution it names.
_OWN_LAUNCHER = ("SPARK_HOME", "PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS")


def start_session(
    settings: EngineSettings,
    *,
    app_name: str,
    ui: bool = False,
    workload: Workload = "long",
    show_log: bool = False,
) -> "SparkSession":
    """A new session on the settings' master (all local cores by default) or Connect server.

    `remote` may also name a local master: then a Connect server of our own runs in between. `sail` without a remote
    starts Sail, a Connect server without Java. `workload` says whether Java should rather start quickly or run
    quickly; `workload_of` knows from the input's size.
    """
    if settings.master and (settings.remote or settings.sail):
        raise DaybookError("RUN_907", master=settings.master, remote=settings.remote or "sail")
    if settings.remote and settings.remote.startswith("sc://"):
        session = open_remote(settings.remote, remote_conf(settings), app_name)
        return _checked(_able(session) if settings.sail else session)
    if settings.sail:
        return _checked(_able(open_sail(remote_conf(settings), app_name)))
    master = settings.remote or settings.master or "local[*]"
    cores = usable_cores()
    is_local = local_threads(master, cores) is not None
    conf = session_conf(settings, master=master, app_name=app_name, ui=ui, cores=cores, memory=memory_bytes())
    _name_python(conf.application.get("spark.pyspark.python"))
    if not settings.remote and any(os.environ.get(name) for name in _OWN_LAUNCHER):
        return _checked(build_classic(conf.everything))
    java = find_java(os.environ)
    archive = archive_path(java, spark_home(), os.environ)
    launch = Launch(java, spark_home(), conf.application, new_scratch(), is_local, workload, ready_archive(archive))
    if settings.remote:
        session = open_local_connect(launch, conf.session, app_name, show_log=show_log)
    else:
        session = open_classic(launch, conf.session, show_log=show_log)
    if archive is not None and launch.class_archive is None:
        build_in_background(archive, java, os.environ)
    return _checked(session)


def stop_session(spark: "SparkSession", *, quick: bool = False) -> None:
    """Stop the session, and the Java process if we started it.

    `quick` is for a program about to end: a local session is not taken down step by step, its process just ends.
    """
    gateway = attached(spark)
    if gateway is None:
        spark.stop()
    elif is_connect(spark):
        spark.stop()
        gateway.close()
    else:
        if not (quick and _may_end_at_once(spark)):
            spark.stop()
        forget_classic()
        gateway.close()
    forget_connect()


def adopt_session(spark: "SparkSession") -> "SparkSession":
    """The given session, or a sibling of it in the same application where its settings would change results."""
    missing = differences(_current(spark))
    if not missing:
        return spark
    try:
        sibling = _sibling(spark)
        for key, value in missing.items():
            sibling.conf.set(key, value)
    except Exception as refusal:
        raise _unfit(missing) from refusal
    if remaining := differences(_current(sibling)):
        raise _unfit(remaining)
    return sibling


def _name_python(chosen: str | None) -> None:
    """Workers run the Python that the settings name, or what the driver runs.

    PySpark looks at the variable alone, and without it takes the first python3 of PATH.
    """
    if chosen is not None:
        os.environ["PYSPARK_PYTHON"] = chosen
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def _able(session: "SparkSession") -> "SparkSession":
    try:
        require_engine(session)
    except DaybookError:
        stop_session(session)
        raise
    return session


def _checked(session: "SparkSession") -> "SparkSession":
    """An application that ran already keeps its own settings: what we promise is set again."""
    for key, value in differences(_current(session)).items():
        session.conf.set(key, value)
    if remaining := differences(_current(session)):
        raise _unfit(remaining)
    return session


def _current(spark: "SparkSession") -> dict[str, str | None]:
    return {key: setting(spark, key) for key in SEMANTICS}


def _sibling(spark: "SparkSession") -> "SparkSession":
    """A session of its own in the same application, so that the settings of the given one stay as they are."""
    clone = getattr(type(spark), "cloneSession", None)
    sibling: SparkSession = clone(spark) if clone is not None else spark.newSession()
    return sibling


def _unfit(missing: Mapping[str, str]) -> DaybookError:
    return DaybookError("RUN_906", settings=", ".join(f"{key}={value}" for key, value in missing.items()))


def _may_end_at_once(spark: "SparkSession") -> bool:
    return local_threads(setting(spark, "spark.master") or "", 1) is not None and (
        setting(spark, "spark.eventLog.enabled") != "true"
    )

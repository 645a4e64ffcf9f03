"""Spark sessions that compute as Daybook promises: started here, or brought along and adopted."""

import contextlib
import os
import sys
import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from daybook.engine.class_archive import archive_path, build_in_background, ready_archive
from daybook.engine.gateway import Gateway, new_scratch, start_gateway
from daybook.engine.java import find_java
from daybook.engine.launch import Launch, Workload, spark_home
from daybook.engine.machine import memory_bytes, usable_cores
from daybook.engine.session_conf import SEMANTICS, SessionConf, differences, local_threads, remote_conf, session_conf
from daybook.errors import DaybookError
from daybook.model.workspace_file import EngineSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Whoever sets one of these wants PySpark's own launcher, with the distribution it names.
_OWN_LAUNCHER = ("SPARK_HOME", "PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS")
_PROCESS = "daybook_gateway"


def start_session(
    settings: EngineSettings,
    *,
    app_name: str,
    ui: bool = False,
    workload: Workload = "long",
    show_log: bool = False,
) -> "SparkSession":
    """A new session on the settings' master (all local cores by default) or Connect server.

    `workload` says whether Java should rather start quickly or run quickly; `workload_of` knows from the input's size.
    """
    if settings.master and settings.remote:
        raise DaybookError("RUN_907", master=settings.master, remote=settings.remote)
    if settings.remote and settings.remote.startswith("sc://"):
        return _open_remote(settings, settings.remote, app_name)
    master = settings.remote or settings.master or "local[*]"
    cores = usable_cores()
    conf = session_conf(settings, master=master, app_name=app_name, ui=ui, cores=cores, memory=memory_bytes())
    is_connect = settings.remote is not None
    if any(os.environ.get(name) for name in _OWN_LAUNCHER):
        return _build(conf, is_connect=is_connect)
    java = find_java(os.environ)
    archive = archive_path(java, spark_home(), os.environ)
    launch = Launch(
        java=java,
        spark_home=spark_home(),
        conf=conf.application,
        scratch=new_scratch(),
        is_local=local_threads(master, cores) is not None,
        workload=workload,
        class_archive=ready_archive(archive),
    )
    session = open_classic(launch, conf, show_log=show_log, is_connect=is_connect)
    if archive is not None and launch.class_archive is None:
        build_in_background(archive, java, os.environ)
    return session


def open_classic(
    launch: Launch, conf: SessionConf, *, show_log: bool = False, is_connect: bool = False
) -> "SparkSession":
    """Start Java as `launch` says and open a session in it; `is_connect` puts a Connect server in between."""
    defaults = {
        "spark.local.dir": str(launch.scratch),
        "spark.sql.warehouse.dir": str(launch.scratch / "warehouse"),
    }
    conf = SessionConf({**(defaults if launch.is_local else {}), **conf.application}, conf.session)
    connected = start_gateway(launch, os.environ, show_log=show_log)
    # Java needs a moment to come up; importing fills it, pandas behind the last one included.
    import pyspark.sql
    import pyspark.testing.utils  # noqa: F401
    from pyspark.core.context import SparkContext
    from pyspark.java_gateway import launch_gateway

    gateway = connected()
    try:
        with _environment(PYSPARK_GATEWAY_PORT=str(gateway.port), PYSPARK_GATEWAY_SECRET=gateway.secret):
            bridge = launch_gateway()  # type: ignore[no-untyped-call]
        setattr(bridge, _PROCESS, gateway)
        weakref.finalize(bridge, gateway.close)
        SparkContext._ensure_initialized(gateway=bridge)
        return _build(conf, is_connect=is_connect)
    except BaseException:
        gateway.close()
        SparkContext._gateway = SparkContext._jvm = None
        raise


def stop_session(spark: "SparkSession", *, quick: bool = False) -> None:
    """Stop the session and the Java process if we started it.

    `quick` is for a program about to end: a local session is not taken down step by step, its process just ends.
    """
    from pyspark.core.context import SparkContext

    bridge = SparkContext._gateway
    gateway = _process(bridge)
    if bridge is None or gateway is None:
        spark.stop()
        return
    if quick and _may_end_at_once(spark):
        _forget_session()
    else:
        spark.stop()
    with contextlib.suppress(Exception):
        bridge.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    gateway.close()


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


def _build(conf: SessionConf, *, is_connect: bool) -> "SparkSession":
    from pyspark.sql import SparkSession

    settings = conf.everything
    master = settings.pop("spark.master")
    if local_threads(master, 1) is not None:
        # Workers must run what the driver runs; PySpark would take the first python3 of PATH.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = (builder.remote(master) if is_connect else builder.master(master)).getOrCreate()
    # An application that ran already keeps its own settings: what we promise is set again.
    for key, value in differences(_current(session)).items():
        session.conf.set(key, value)
    return session


def _open_remote(settings: EngineSettings, remote: str, app_name: str) -> "SparkSession":
    conf = remote_conf(settings)
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        session = SparkSession.builder.remote(remote).appName(app_name).create()
        for key, value in conf.items():
            session.conf.set(key, value)
    except PySparkException as failure:
        raise DaybookError("RUN_908", remote=_without_parameters(remote), reason=_first_line(failure)) from failure
    if remaining := differences(_current(session)):
        raise _unfit(remaining)
    return session


def _current(spark: "SparkSession") -> dict[str, str | None]:
    return {key: spark.conf.get(key, None) for key in SEMANTICS}


def _sibling(spark: "SparkSession") -> "SparkSession":
    """A session of its own in the same application, so that the settings of the given one stay as they are."""
    clone = getattr(type(spark), "cloneSession", None)
    sibling: SparkSession = clone(spark) if clone is not None else spark.newSession()
    return sibling


def _unfit(missing: Mapping[str, str]) -> DaybookError:
    return DaybookError("RUN_906", settings=", ".join(f"{key}={value}" for key, value in missing.items()))


def _forget_session() -> None:
    """Clear what PySpark remembers of a session whose Java process ends without being asked to stop it."""
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _may_end_at_once(spark: "SparkSession") -> bool:
    master = spark.conf.get("spark.master", "") or ""
    return local_threads(master, 1) is not None and spark.conf.get("spark.eventLog.enabled", "false") != "true"


def _process(bridge: object) -> Gateway | None:
    # Asking py4j's gateway for an attribute it lacks would ask Java.
    return vars(bridge).get(_PROCESS) if bridge is not None else None


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Variables for one call only: child processes must not take our Java process for theirs."""
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)


def _without_parameters(remote: str) -> str:
    """The URL without what follows the host, where tokens stand."""
    return remote.split("/;", 1)[0]


def _first_line(failure: BaseException) -> str:
    return str(failure).strip().split("\n", 1)[0]

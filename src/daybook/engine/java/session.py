"""Spark sessions with the settings that Daybook needs: started by Daybook, or passed in by the caller."""

import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from daybook.engine.java.classic import (
    StartingGateway,
    attach_server,
    attached_server,
    build_classic_session,
    check_master_listens,
    clear_classic_state,
    create_scratch_folder,
    open_classic_session,
    running_classic_session,
    start_gateway,
)
from daybook.engine.java.connect import (
    clear_connect_mode,
    clone_session,
    is_connect,
    is_unavailable,
    open_local_connect_session,
    open_remote_session,
    read_connect_settings,
    stop_connect_session,
)
from daybook.engine.java.launch import (
    Launch,
    Workload,
    archive_path,
    build_in_background,
    existing_archive,
    find_java,
    memory_bytes,
    spark_home,
    usable_cores,
)
from daybook.engine.java.memory import fit_heap
from daybook.engine.java.session_conf import (
    REQUIRED_CONF,
    SessionConf,
    build_session_conf,
    differing_conf,
    foreign_locale_error,
    local_threads,
    read_setting,
    remote_conf,
    threads_of_session,
)
from daybook.engine.java.spark_version import require_spark, require_supported
from daybook.engine.java.warm_folder import LAUNCHER_VARIABLES
from daybook.errors import DaybookError
from daybook.model.settings import EngineSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from daybook.engine.java.warm_engines import WarmEngines


def start_session(
    settings: EngineSettings,
    *,
    app_name: str,
    ui: bool = False,
    workload: Workload = "long",
    show_log: bool = False,
    ahead: StartingGateway | None = None,
) -> "SparkSession":
    """A new session on the settings' master (all local cores by default) or Connect server.

    `remote` may also name a local master: then a Connect server of our own runs in between. `workload`
    says whether Java should rather start quickly or run quickly; `choose_workload` knows from the input's size. `ahead`
    is a Java process that was started for the same settings and work.
    """
    if settings.master and settings.remote:
        raise DaybookError("RUN_907", master=settings.master, remote=settings.remote)
    require_spark(java_side=settings.needs_java_here)
    if settings.remote is not None and not settings.needs_java_here:
        session = open_remote_session(settings.remote, remote_conf(settings))
        return _checked_foreign(_with_required_conf(session))
    conf = application_conf(settings, app_name=app_name, ui=ui)
    _set_worker_python(conf.application.get("spark.pyspark.python"))
    if not settings.remote and any(os.environ.get(name) for name in LAUNCHER_VARIABLES):
        return _checked_foreign(_with_required_conf(build_classic_session(conf.everything)))
    if settings.remote:
        launch = prepare_launch(fitting_conf(settings, conf.application), workload)
        session = open_local_connect_session(launch, conf.session, show_log=show_log)
    else:
        starting = ahead or _start_java(settings, conf, workload, show_log=show_log)
        launch, session = starting.launch, open_classic_session(starting, conf.session)
    build_missing_archive(launch)
    return _with_required_conf(session)


def start_java_ahead(settings: EngineSettings, *, app_name: str, workload: Workload, show_log: bool) -> StartingGateway:
    """Java for a classic session that `start_session` opens later, when it is known that there is work for it."""
    require_spark(java_side=True)
    return _start_java(settings, application_conf(settings, app_name=app_name), workload, show_log=show_log)


def _start_java(settings: EngineSettings, conf: SessionConf, workload: Workload, *, show_log: bool) -> StartingGateway:
    _set_worker_python(conf.application.get("spark.pyspark.python"))
    check_master_listens(conf.application["spark.master"])
    launch = prepare_launch(fitting_conf(settings, conf.application), workload)
    return start_gateway(launch, os.environ, show_log=show_log)


def join_running_session(settings: EngineSettings) -> "SparkSession | None":
    """A new session in the Java process that Daybook started for this program; None where there is none.

    A program can have one classic application only. Settings of the application stay as it was started.
    """
    running = None if settings.remote else running_classic_session()
    server = attached_server(running) if running is not None else None
    if running is None or server is None or server.has_ended():
        return None
    conf = application_conf(settings, app_name="daybook")
    session = running.newSession()
    for key, value in conf.session.items():
        session.conf.set(key, value)
    attach_server(session, server)
    return _with_required_conf(session)


def application_conf(settings: EngineSettings, *, app_name: str, ui: bool = False) -> SessionConf:
    """The settings of an application that Daybook starts on this machine."""
    master = settings.remote or settings.master or "local[*]"
    cores, memory = usable_cores(), memory_bytes()
    return build_session_conf(settings, master=master, app_name=app_name, ui=ui, cores=cores, memory=memory)


def fitting_conf(settings: EngineSettings, conf: Mapping[str, str]) -> dict[str, str]:
    """The settings with a heap for which there is memory now, unless the user has chosen one."""
    return fit_heap(conf, is_chosen="spark.driver.memory" in settings.conf)


def prepare_launch(conf: Mapping[str, str], workload: Workload) -> Launch:
    """What to start for these settings, with the class-data archive that there is for it."""
    java = find_java(os.environ)
    archive = archive_path(java, spark_home(), os.environ)
    is_local = local_threads(conf["spark.master"], 1) is not None
    return Launch(java, spark_home(), conf, create_scratch_folder(), is_local, workload, existing_archive(archive))


def build_missing_archive(launch: Launch) -> None:
    """Let the next launch of this kind start with a class-data archive, where this one had none."""
    archive = archive_path(launch.java, launch.spark_home, os.environ)
    if archive is not None and launch.class_archive is None:
        build_in_background(archive, launch.java, os.environ)


def open_warm_session(engines: "WarmEngines", *, app_name: str) -> "SparkSession | str":
    """A session on the user's warm engine, or why there is none that fits."""
    conf = application_conf(engines.settings, app_name=app_name)
    # These settings hold all that results depend on, and our own server takes every one of them.
    return engines.open_session(conf.session)


def stop_session(spark: "SparkSession", *, quick: bool = False) -> None:
    """Stop the session, and the Java process if we started it.

    `quick` is for a program about to end: a local session is not taken down step by step, its process just ends.
    """
    gateway = attached_server(spark)
    if gateway is None:
        spark.stop()
    elif is_connect(spark):
        stop_connect_session(spark, has_server=not gateway.has_ended())
        gateway.close()
    elif gateway.has_ended():
        # Java has ended; PySpark only has to forget the session.
        clear_classic_state()
        gateway.close()
    else:
        if not (quick and _can_end_abruptly(spark)):
            spark.stop()
        clear_classic_state()
        gateway.close()
    clear_connect_mode()


# Java has a moment to end after its connections broke.
_JAVA_END_SECONDS = 5.0


def session_failure(spark: "SparkSession | None", failure: Exception) -> DaybookError | None:
    """RUN_030 when something failed because the Java process behind the session ended; None for other failures."""
    server = attached_server(spark) if spark is not None else None
    chain = tuple(_failure_chain(failure))
    is_disconnected = any(_is_disconnection(link) for link in chain)
    if server is not None:
        is_lost = any(is_unavailable(link) for link in chain)
        # A Java process that is killed refuses connections before it has ended; others may refuse them as well.
        is_ending = is_lost or is_disconnected or any(isinstance(link, ConnectionError | EOFError) for link in chain)
        is_disconnected = server.has_ended(_JAVA_END_SECONDS if is_ending else 0) or is_lost
    return DaybookError("RUN_030") if is_disconnected else None


def current_session() -> "SparkSession | None":
    """The session of this thread, else the first one of this program; nothing is started for the question."""
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkException:
        return None


def has_session_ended(spark: "SparkSession") -> bool:
    """Whether the Java process that was started for the session is gone."""
    server = attached_server(spark)
    return server is not None and server.has_ended()


def _failure_chain(failure: BaseException | None) -> Iterator[BaseException]:
    # An error that is raised again from itself is its own cause.
    seen: set[int] = set()
    while failure is not None and id(failure) not in seen:
        seen.add(id(failure))
        yield failure
        failure = failure.__cause__ or failure.__context__


def _is_disconnection(failure: BaseException) -> bool:
    """Whether py4j got no answer; one that carries an exception of Java did."""
    # The client of Spark Connect does without py4j, and then no failure is one of py4j's.
    if "py4j" not in sys.modules:
        return False
    from py4j.protocol import Py4JError, Py4JJavaError

    return isinstance(failure, Py4JError) and not isinstance(failure, Py4JJavaError)


def adopt_session(spark: "SparkSession") -> "SparkSession":
    """The given session, or a sibling of it in the same application where its settings would change results."""
    require_supported("The Spark of the session", spark.version)
    check_text_functions(spark)
    missing = differing_conf(_current_conf(spark))
    if not missing:
        return spark
    try:
        sibling = clone_session(spark)
        # A query of the given session may have set some there alone, as extensions of Delta do.
        missing = differing_conf(_current_conf(sibling))
        for key, value in missing.items():
            sibling.conf.set(key, value)
    except Exception as refusal:
        raise _conf_error(missing) from refusal
    if remaining := differing_conf(_current_conf(sibling)):
        raise _conf_error(remaining)
    return sibling


def _set_worker_python(chosen: str | None) -> None:
    """Workers run the Python that the settings name, or what the driver runs.

    PySpark looks at the variable alone, and without it takes the first python3 of PATH.
    """
    if chosen is not None:
        os.environ["PYSPARK_PYTHON"] = chosen
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def _checked_foreign(session: "SparkSession") -> "SparkSession":
    """A session whose Java process was not started by Daybook."""
    try:
        require_supported("The Spark of the session", session.version)
        check_text_functions(session)
    except DaybookError:
        stop_session(session)
        raise
    return session


# The letters that Turkish, Azerbaijani and Lithuanian map to others than all other languages do.
_CASE_PROBE = "istanbul I\u0307"


def check_text_functions(session: "SparkSession") -> None:
    """Refuse Java processes that compute texts by the language of their machine; executors do it, so they are asked."""
    query = f"UPPER(CONCAT('{_CASE_PROBE}', id)) AS upper", f"LOWER(CONCAT('{_CASE_PROBE}', id)) AS lower"
    row = session.range(1).selectExpr(*query).collect()[0]
    expected = (f"{_CASE_PROBE}0".upper(), f"{_CASE_PROBE}0".lower())
    if (row["upper"], row["lower"]) != expected:
        raise foreign_locale_error(f'UPPER("istanbul") is {row["upper"].split()[0]}')


def _with_required_conf(session: "SparkSession") -> "SparkSession":
    """An application that ran already keeps its own settings: what we promise is set again."""
    for key, value in differing_conf(_current_conf(session)).items():
        session.conf.set(key, value)
    if remaining := differing_conf(_current_conf(session)):
        raise _conf_error(remaining)
    return session


def _current_conf(spark: "SparkSession") -> dict[str, str | None]:
    if is_connect(spark):
        # A round trip for each setting would take time.
        return read_connect_settings(spark, REQUIRED_CONF)
    return {key: read_setting(spark, key) for key in REQUIRED_CONF}


def separate_session(spark: "SparkSession") -> "SparkSession":
    """A session with the same settings in the same application, whose settings can be changed by themselves."""
    return _with_required_conf(clone_session(spark))


def _conf_error(missing: Mapping[str, str]) -> DaybookError:
    return DaybookError("RUN_906", settings=", ".join(f"{key}={value}" for key, value in missing.items()))


def _can_end_abruptly(spark: "SparkSession") -> bool:
    return threads_of_session(spark) is not None and read_setting(spark, "spark.eventLog.enabled") != "true"

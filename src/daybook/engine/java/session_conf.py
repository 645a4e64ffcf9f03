"""The Spark settings of a session: those that results depend on, and those that only affect speed."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from daybook.engine.java.launch import driver_memory_megabytes, page_megabytes, usable_cores
from daybook.errors import DaybookError, raise_all
from daybook.model.settings import EngineSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read_setting(spark: "SparkSession", key: str) -> str | None:
    """The value in force; asking with a default would hide Spark's own."""
    from pyspark.errors import PySparkException

    try:
        return spark.conf.get(key)
    except PySparkException:
        return None


@contextlib.contextmanager
def temporary_settings(spark: "SparkSession", values: Mapping[str, str]) -> Iterator[None]:
    before = {key: read_setting(spark, key) for key in values}
    for key, value in values.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        # A session that is gone has no settings.
        with contextlib.suppress(Exception):
            for key, earlier in before.items():
                if earlier is None:
                    spark.conf.unset(key)
                else:
                    spark.conf.set(key, earlier)


# Of options of readers and writers: what Spark hides by itself has one of the first names, keys of Azure have the last.
# Written so that the expression finds no part of itself: Spark Connect tells no value that looks like a secret.
_SECRET_NAMES = r"s[e]cret|passw[o]rd|tok[e]n|access[.]?key|account[.]key"

# Keys of object stores are options of one reader or writer. Spark hides them in plans; Spark Connect also writes each
# request as text into event logs and into the names of jobs, and hides there what this expression finds.
REDACTION_CONF: Mapping[str, str] = {
    "spark.sql.redaction.options.regex": rf"(?i)url|{_SECRET_NAMES}",
    "spark.sql.redaction.string.regex": (rf"""(?is)key: "[^"]*(?:{_SECRET_NAMES})[^"]*"\s*value: "(?:[^"\\]|\\.)*\""""),
}

# Results depend on these: a session that differs in one of them computes something else. And no secret may be shown.
REQUIRED_CONF: Mapping[str, str] = {
    **REDACTION_CONF,
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.variable.substitute": "false",
    # It takes UPPER(LOWER(x)) for UPPER(x), which is wrong for letters such as ß and İ.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.SimplifyCaseConversionExpressions",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # The partition value 2026 is a period, not a number.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    # Delta readers expect microseconds; Spark's own default is the older INT96.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Only schemas with field ids are read by them: those of Iceberg tables, whose columns may have been renamed.
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "false",
    "spark.sql.parquet.fieldId.write.enabled": "true",
}

_LEGACY_PREFIX = "spark.sql.legacy."

# Java takes these from the environment. UPPER and LOWER follow the language, so that LC_ALL would change keys and row
# ids; the character set and the time zone decide how drivers of databases and old readers understand values.
JAVA_PROPERTIES: Mapping[str, str] = {
    "user.language": "en",
    "user.country": "US",
    "file.encoding": "UTF-8",
    "user.timezone": "UTC",
}
_JAVA_OPTION_KEYS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")

# Settable in every session, and the user may choose others.
_DEFAULT_SESSION_CONF: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.analyzer.maxIterations": "1000",
    "spark.sql.optimizer.maxIterations": "1000",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
}

# For queries of a few rows: compiling code takes longer than computing them without it; rows are the same either way.
QUICK_CONF: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

_DEFAULT_APPLICATION_CONF: Mapping[str, str] = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "ERROR",
    # What was counted comes with the events of a job, and those of a huge one must not be dropped.
    "spark.scheduler.listenerbus.eventqueue.capacity": "100000",
    # It sends Spark with every column the line of ours that asked for it: half of all calls between Python and Java.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # A close compiles forty classes; with Spark's hundred a session that does more than one thing compiles all again.
    "spark.sql.codegen.cache.maxEntries": "500",
}

_LOOPBACK_CONF: Mapping[str, str] = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class SessionConf:
    """All settings of a new application; `session` of them can also be set while it runs."""

    application: Mapping[str, str]
    session: Mapping[str, str]

    @property
    def everything(self) -> dict[str, str]:
        return {**self.application, **self.session}


def build_session_conf(
    settings: EngineSettings, *, master: str, app_name: str, ui: bool, cores: int, memory: int
) -> SessionConf:
    """The settings of a session on `master`, with the user's above our preferences and below the semantics."""
    chosen = user_conf(settings)
    application = {
        **_DEFAULT_APPLICATION_CONF,
        "spark.master": master,
        "spark.app.name": app_name,
        "spark.ui.enabled": _conf_text(ui),
    }
    session = dict(_DEFAULT_SESSION_CONF)
    if is_on_this_machine(master):
        application |= _LOOPBACK_CONF
    threads = local_threads(master, cores)
    if threads is not None:
        heap = driver_memory_megabytes(memory)
        application["spark.driver.memory"] = f"{heap}m"
        if "spark.driver.memory" not in chosen:
            application["spark.buffer.pageSize"] = f"{page_megabytes(heap)}m"
        # More than the threads, so that a large shuffle spills less; adaptive execution joins the small ones.
        session["spark.sql.shuffle.partitions"] = str(max(4, min(200, 4 * threads)))
    for key, value in chosen.items():
        (session if is_session_key(key) else application)[key] = value
    for key in _JAVA_OPTION_KEYS:
        application[key] = " ".join([*filter(None, [application.get(key)]), *java_property_flags()])
    return SessionConf(application, {**session, **REQUIRED_CONF})


def java_property_flags() -> list[str]:
    """Flags for every Java process that computes."""
    return [f"-D{name}={value}" for name, value in JAVA_PROPERTIES.items()]


def foreign_locale_error(locale: str) -> DaybookError:
    return DaybookError("RUN_912", found=locale, flags=" ".join(java_property_flags()))


def remote_conf(settings: EngineSettings) -> dict[str, str]:
    """What is set in a session of a running Connect server; settings of its application are refused."""
    chosen = user_conf(settings)
    raise_all(DaybookError("RUN_903", key=key) for key in chosen if not is_session_key(key))
    return {**_DEFAULT_SESSION_CONF, **chosen, **REQUIRED_CONF}


def user_conf(settings: EngineSettings) -> dict[str, str]:
    """The user's settings as text; those that would change results are refused, all at once."""
    chosen = {key: _conf_text(value) for key, value in settings.conf.items()}
    raise_all(_refusals(chosen))
    return chosen


def is_session_key(key: str) -> bool:
    """Whether a setting belongs to a session rather than to the application that runs it."""
    return key.startswith("spark.sql.") and key not in _STATIC_SQL and not key.startswith(_STATIC_SQL_PREFIXES)


_STATIC_SQL = frozenset(
    {
        "spark.sql.catalogImplementation",
        "spark.sql.warehouse.dir",
        "spark.sql.extensions",
        "spark.sql.globalTempDatabase",
        "spark.sql.cache.serializer",
        "spark.sql.codegen.cache.maxEntries",
        "spark.sql.queryExecutionListeners",
        "spark.sql.event.truncate.length",
        "spark.sql.filesourceTableRelationCacheSize",
        "spark.sql.broadcastExchange.maxThreadThreshold",
    }
)
_STATIC_SQL_PREFIXES = ("spark.sql.hive.", "spark.sql.streaming.ui.", "spark.sql.ui.")


def local_threads(master: str, cores: int) -> int | None:
    """How many threads a local master uses; None for a cluster."""
    if master == "local":
        return 1
    threads = re.fullmatch(r"local\[(\*|\d+)(?:\s*,.*)?\]", master)
    if threads is None:
        return None
    return cores if threads.group(1) == "*" else int(threads.group(1))


# The master of an application never changes, so a server is asked once.
_MASTER_ATTRIBUTE = "_daybook_master"


def threads_of_session(spark: "SparkSession") -> int | None:
    """How many threads of this machine a session uses; None on a cluster."""
    kept = vars(spark)
    if _MASTER_ATTRIBUTE not in kept:
        kept[_MASTER_ATTRIBUTE] = read_setting(spark, "spark.master") or ""
    return local_threads(kept[_MASTER_ATTRIBUTE], usable_cores())


def is_on_this_machine(master: str) -> bool:
    """Whether Spark runs only on this machine, so that other machines need not reach the driver."""
    return re.match(r"local\b|spark://(127\.[\d.]+|localhost):\d+$", master) is not None


def differing_conf(actual: Mapping[str, str | None]) -> dict[str, str]:
    """Those of our semantics that a session does not have yet, with the value they must take."""
    return {key: value for key, value in REQUIRED_CONF.items() if not _is_same_value(actual.get(key), value)}


def _refusals(chosen: Mapping[str, str]) -> list[DaybookError]:
    refused = [
        DaybookError("RUN_902", key=key, value=chosen[key], needed=needed)
        for key, needed in REQUIRED_CONF.items()
        if key in chosen and not _is_same_value(chosen[key], needed)
    ]
    refused += [
        DaybookError("RUN_902", key=f"{key}: -D{name}", value=value, needed=JAVA_PROPERTIES[name])
        for key in _JAVA_OPTION_KEYS
        for name, value in re.findall(r"-D([\w.]+)=(\S*)", chosen.get(key, ""))
        if value != JAVA_PROPERTIES.get(name, value)
    ]
    return refused + [DaybookError("RUN_904", key=key) for key in chosen if key.startswith(_LEGACY_PREFIX)]


def _is_same_value(actual: str | None, needed: str) -> bool:
    return actual is not None and actual.strip().lower() == needed.lower()


def _conf_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

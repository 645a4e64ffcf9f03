"""The folder of a warm engine, which only its user can read, and whether a command can use the engine.

The process that keeps the engine holds the file `lock`, commands that use it share the file `users`; the system frees
both when their process ends, however it ends. `engine.json` says where the engine listens and has its token,
`warm-up.json` how far its warm-up is; folders `sample.*` are what the warm-up computes.
"""

import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import platform
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from daybook.engine.java.launch import find_java, memory_bytes, usable_cores
from daybook.engine.java.session_conf import build_session_conf, local_threads
from daybook.engine.java.spark_version import require_spark
from daybook.errors import DaybookError
from daybook.model.settings import EngineSettings, duration_seconds

# What Spark, Java, Python workers and the clients of object stores read.
_VARIABLE_PREFIXES = (
    "SPARK_",
    "PYSPARK_",
    "HADOOP_",
    "YARN_",
    "JAVA_",
    "JDK_JAVA_",
    "_JAVA_",
    "AWS_",
    "AZURE_",
    "GOOGLE_",
    "GCS_",
    "CLOUDSDK_",
    "OSS_",
    "KRB5",
    "PG",
)
_VARIABLES = frozenset(
    {
        *("HOME", "USER", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "TMPDIR"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"),
    }
)
# Set by PySpark and by us while a session is open; the Python of the workers is compared by itself.
_OWN_VARIABLES = frozenset({"SPARK_CONNECT_MODE_ENABLED", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"})
# A user who sets one of these wants PySpark's own launcher, with the distribution it names.
LAUNCHER_VARIABLES = ("SPARK_HOME", "PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS")

STATE_FOLDER = "the state folder"


@dataclass(frozen=True, slots=True)
class EngineFit:
    """`plain` are texts that may be shown; of settings and variables, which may be secret, only digests are kept."""

    plain: Mapping[str, str]
    digests: Mapping[str, str]

    @property
    def key(self) -> str:
        """The name of the folder of engines that fit."""
        content = json.dumps([dict(self.plain), dict(self.digests)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:24]

    def differences(self, other: "EngineFit") -> list[str]:
        """The differences to the other, as text."""
        shown = [
            f"{name} is {other.plain.get(name, 'not set')}, not {self.plain.get(name, 'set')}"
            for name in sorted({*self.plain, *other.plain})
            if self.plain.get(name) != other.plain.get(name)
        ]
        hidden = [
            f"{name} differs"
            for name in sorted({*self.digests, *other.digests})
            if self.digests.get(name) != other.digests.get(name)
        ]
        return shown + hidden


def find_warm_problem(settings: EngineSettings, environment: Mapping[str, str]) -> str | None:
    """Why these settings are not for an engine that is kept; None where they are."""
    if settings.remote:
        return "engine.remote names another server"
    if local_threads(settings.master or "local[*]", 1) is None:
        return f"engine.master is {settings.master}, not on this machine"
    if name := next((name for name in LAUNCHER_VARIABLES if environment.get(name)), None):
        return f"{name} is set, so PySpark starts Java"
    if sys.platform == "win32":
        return "this system does not support the needed file locks"
    return None


def engine_fit(settings: EngineSettings, state: str, environment: Mapping[str, str], salt: bytes) -> EngineFit:
    """What an engine with these settings is made of; `salt` keeps digests from being guessed."""
    cores, memory = usable_cores(), memory_bytes()
    conf = build_session_conf(
        settings, master=settings.master or "local[*]", app_name="daybook", ui=False, cores=cores, memory=memory
    )
    spark, java = require_spark(), find_java(environment)
    workers = conf.application.get("spark.pyspark.python") or environment.get("PYSPARK_PYTHON") or "the same"
    plain = {
        "Daybook": f"{version('daybook')} in {Path(__file__).parents[4]}",
        "Spark": f"{spark.version} in {spark.home}",
        "Java": f"{java.build.strip()} in {java.executable}",
        # Of one environment, `python` and `python3` are the same.
        "Python": f"{platform.python_version()} in {sys.prefix}",
        "Python of workers": workers,
        "the number of cores": str(cores),
        "the memory": str(memory),
        STATE_FOLDER: state,
        "the user": str(os.geteuid()),
    }
    hidden = {f"the setting {key}": value for key, value in conf.application.items()}
    hidden |= {f"the variable {name}": value for name, value in environment.items() if _is_read(name)}
    return EngineFit(plain, {name: _digest(value, salt) for name, value in hidden.items()})


def _is_read(name: str) -> bool:
    return name not in _OWN_VARIABLES and (name in _VARIABLES or name.startswith(_VARIABLE_PREFIXES))


def _digest(value: str, salt: bytes) -> str:
    return hmac.new(salt, value.encode(errors="surrogateescape"), hashlib.sha256).hexdigest()[:16]


_POLL_SECONDS = 0.02
_PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class EngineRecord:
    """An engine that runs, as its keeper wrote it down."""

    pid: int
    port: int
    token: str = field(repr=False)
    idle: str
    fit: EngineFit

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def record_from_json(text: str) -> EngineRecord:
    data: dict[str, Any] = json.loads(text)
    return EngineRecord(**{**data, "fit": EngineFit(**data["fit"])})


@dataclass(frozen=True, slots=True)
class WarmUpProgress:
    """How many rounds of its warm-up an engine has computed; when it is over, no more follow."""

    rounds: int
    wanted: int
    is_over: bool


@dataclass(frozen=True, slots=True)
class EngineFolder:
    """The folder of one engine."""

    path: Path

    def record(self) -> EngineRecord | None:
        """The engine that runs here; None if its keeper has ended."""
        try:
            engine_record = record_from_json(_read_own_file(self.path / "engine.json"))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        # A new keeper may hold the lock already while the record is still that of the keeper before it.
        return engine_record if self.is_kept() and _is_process(engine_record.pid) else None

    def is_kept(self) -> bool:
        """Whether a process keeps an engine here."""
        try:
            with _opened(self.path / "lock") as handle:
                return not try_lock(handle, fcntl.LOCK_SH)
        except OSError:
            return False

    def started(self) -> float:
        """When the engine that runs here was ready, in seconds of the system's clock."""
        try:
            return (self.path / "engine.json").stat().st_mtime
        except OSError:
            return time.time()

    def is_used(self) -> bool:
        try:
            with _opened(self.path / "users") as handle:
                return not try_lock(handle, fcntl.LOCK_EX)
        except OSError:
            return False

    def share(self) -> "EngineUse | None":
        """Keep the engine from ending while it is used; None when it is about to end."""
        try:
            handle = os.open(self.path / "users", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return None
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not try_lock(handle, fcntl.LOCK_SH):
            if time.monotonic() > deadline:
                os.close(handle)
                return None
            time.sleep(_POLL_SECONDS)
        os.utime(handle)
        return EngineUse(self, handle)

    def is_idle_over(self, idle: str, last_used: float) -> bool:
        """Whether nothing has used the engine for so long; `last_used` is a time of the system's clock."""
        with contextlib.suppress(OSError):
            last_used = max(last_used, (self.path / "users").stat().st_mtime)
        return time.time() - last_used > duration_seconds(idle)

    def is_quiet(self, seconds: float) -> bool:
        """Whether an engine runs here that nothing uses, and nothing began to use within these seconds."""
        try:
            last_used = (self.path / "users").stat().st_mtime
        except OSError:
            return False
        return time.time() - last_used > seconds and self.record() is not None and not self.is_used()

    def last_use(self) -> int:
        """When something last began to use the engine, in nanoseconds of the system's clock."""
        try:
            return (self.path / "users").stat().st_mtime_ns
        except OSError:
            return 0

    def publish(self, record: EngineRecord) -> None:
        self._write("engine.json", record.to_json())

    def withdraw(self) -> None:
        (self.path / "engine.json").unlink(missing_ok=True)

    def warm_up(self) -> WarmUpProgress | None:
        """How far the warm-up is; None where there is none, which is everywhere but on Linux."""
        try:
            return WarmUpProgress(**json.loads(_read_own_file(self.path / "warm-up.json")))
        except (OSError, ValueError, TypeError):
            return None

    def write_warm_up(self, progress: WarmUpProgress) -> None:
        self._write("warm-up.json", json.dumps(asdict(progress)))

    def sample_folder(self) -> Path:
        """Where the warm-up that this process is computes; nothing is there yet."""
        return self.path.absolute() / f"sample.{os.getpid()}"

    def remove_samples(self) -> None:
        """Remove what warm-ups have computed."""
        for path in self.path.glob("sample.*"):
            shutil.rmtree(path, ignore_errors=True)

    def clear_warm_up(self) -> None:
        """Remove everything that the warm-up of an engine that has ended left."""
        (self.path / "warm-up.json").unlink(missing_ok=True)
        self.remove_samples()

    def _write(self, name: str, text: str) -> None:
        """Replace a file in one step; only this user can read it."""
        fresh = self.path / f"{name}.{os.getpid()}"
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)
        fresh.replace(self.path / name)


@dataclass(frozen=True, slots=True)
class EngineUse:
    """A command's share in an engine, held until the command ends."""

    home: EngineFolder
    handle: int

    def has_ended(self, seconds: float = 0) -> bool:
        """Whether the engine is gone, or goes within these seconds; its keeper needs a moment to notice."""
        deadline = time.monotonic() + seconds
        while self.home.record() is not None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.handle)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        yield handle
    finally:
        os.close(handle)


def try_lock(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_process(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def make_private(folder: Path) -> None:
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    require_private(folder)


def require_private(folder: Path) -> None:
    """RUN_916 for a folder that another user owns, can read or write, or that is a link."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise DaybookError("RUN_916", folder=str(folder))


def _read_own_file(path: Path) -> str:
    """A file that only this user can read."""
    with _opened(path) as handle:
        status = os.fstat(handle)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise OSError("not a file of this user alone")
        return os.read(handle, status.st_size).decode()


def read_salt(folder: Path) -> bytes:
    """Random bytes of this user, made once; safe when two processes make them at the same time."""
    path = folder / "salt"
    if not path.exists():
        fresh = folder / f"salt.{os.getpid()}.{secrets.token_hex(4)}"
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, secrets.token_bytes(32))
        finally:
            os.close(handle)
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
        fresh.unlink()
    return path.read_bytes()

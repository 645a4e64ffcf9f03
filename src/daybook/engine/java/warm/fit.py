"""What a running engine and a command must have in common, so that the command can use the engine."""

import hashlib
import hmac
import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from daybook.engine.java.launch import find_java, memory_bytes, spark_home, usable_cores
from daybook.engine.java.session_conf import build_session_conf, local_threads
from daybook.model.settings import EngineSettings

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
        """What the other has else, in words."""
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
    if settings.remote or settings.sail:
        return "engine.remote or engine.sail names another server"
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
    java = find_java(environment)
    workers = conf.application.get("spark.pyspark.python") or environment.get("PYSPARK_PYTHON") or "the same"
    plain = {
        "Daybook": f"{version('daybook')} in {Path(__file__).parents[4]}",
        "Spark": f"{version('pyspark')} in {spark_home()}",
        "Java": f"{java.build.strip()} in {java.executable}",
        # Of one environment, `python` and `python3` are the same.
        "Python": f"{platform.python_version()} in {sys.prefix}",
        "Python of workers": workers,
        "the number of cores": str(cores),
        "the memory": str(memory),
        "the state folder": state,
        "the user": str(os.geteuid()),
    }
    hidden = {f"the setting {key}": value for key, value in conf.application.items()}
    hidden |= {f"the variable {name}": value for name, value in environment.items() if _is_read(name)}
    return EngineFit(plain, {name: _digest(value, salt) for name, value in hidden.items()})


def _is_read(name: str) -> bool:
    return name not in _OWN_VARIABLES and (name in _VARIABLES or name.startswith(_VARIABLE_PREFIXES))


def _digest(value: str, salt: bytes) -> str:
    return hmac.new(salt, value.encode(errors="surrogateescape"), hashlib.sha256).hexdigest()[:16]

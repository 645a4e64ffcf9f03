"""The versions of Spark that Daybook works with, and what differs between them. Nothing else asks for a version."""

import contextlib
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daybook.errors import DaybookError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Later minor versions may change results, so each is added when the tests pass on it.
OLDEST, NEWEST = (4, 0), (4, 3)


@dataclass(frozen=True, slots=True)
class InstalledSpark:
    """The package `pyspark` of this environment; that of `pyspark-client` has no jars."""

    home: Path
    version: str

    @property
    def has_java_side(self) -> bool:
        return (self.home / "jars").is_dir()

    @property
    def newest_java(self) -> int | None:
        """The newest Java that this Spark runs on; None where every newer one is supported."""
        # Hadoop 3.4.1 calls a part of Java's security manager that Java 24 has removed.
        return 23 if _minor_version(self.version) == (4, 0) else None


def find_spark() -> InstalledSpark | None:
    """The installed Spark, without importing it, which takes a second."""
    specification = find_spec("pyspark")
    if specification is None or specification.origin is None:
        return None
    home = Path(specification.origin).parent
    text = (home / "version.py").read_text(encoding="utf-8")
    version = re.search(r"""__version__[^=]*=\s*["']([^"']+)["']""", text)
    return InstalledSpark(home, version[1] if version else "unknown")


def require_spark(*, java_side: bool = True) -> InstalledSpark:
    """The installed Spark; RUN_919 or RUN_920 where it cannot be used."""
    spark = find_spark()
    if spark is None or (java_side and not spark.has_java_side):
        raise missing_spark(only_client=spark is not None)
    require_supported("PySpark", spark.version)
    return spark


def missing_spark(*, only_client: bool) -> DaybookError:
    if only_client:
        return DaybookError(
            "RUN_919", missing="only the client of Spark Connect is installed, which cannot start Spark"
        )
    return DaybookError("RUN_919", missing="no Spark is installed")


def require_supported(side: str, version: str) -> None:
    """Refuse a Spark on which results are not tested; `side` says whose version it is."""
    if not OLDEST <= _minor_version(version) <= NEWEST:
        oldest, newest = (".".join(map(str, minor)) for minor in (OLDEST, NEWEST))
        raise DaybookError("RUN_920", side=side, version=version, oldest=oldest, newest=newest)


def sibling_session(session: "SparkSession", *, is_connect: bool) -> "SparkSession":
    """A new session in the same application, with settings of its own."""
    kind: Any = type(session)
    if hasattr(kind, "cloneSession"):
        sibling: SparkSession = kind.cloneSession(session)
    elif is_connect:
        # The client of Spark 4.0 cannot ask for one, but its address and credentials open one.
        client: Any = session.client
        sibling = kind(client._builder)
        _copy_settings(session, sibling)
    else:
        sibling = session.newSession()
    return sibling


def _copy_settings(session: "SparkSession", sibling: "SparkSession") -> None:
    """What the given session has set; those of the server cannot be set, and need not."""
    own = sibling.conf.getAll
    for key, value in session.conf.getAll.items():
        if own.get(key) != value:
            with contextlib.suppress(Exception):
                sibling.conf.set(key, value)


def allow_repeated_observations() -> None:
    """Let a plan of Spark Connect read what is counted twice, as an append of the rows that it reads does.

    The clients of Spark 4.0 and 4.1 refuse to merge the same observation from both sides of a union or a join.
    """
    spark = find_spark()
    if spark is None or _minor_version(spark.version) > (4, 1):
        return
    from pyspark.sql.connect import plan

    def with_side(name: str) -> property:
        def observations(self: Any) -> dict[str, Any]:
            child: Any = plan.LogicalPlan.observations
            side = getattr(self, name)
            return {**child.fget(self), **(side.observations if side is not None else {})}

        return property(observations)

    for kind, side in ((plan.Join, "right"), (plan.AsOfJoin, "right"), (plan.SetOperation, "other")):
        kind.observations = with_side(side)  # type: ignore[method-assign,assignment]


def _minor_version(version: str) -> tuple[int, int]:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)

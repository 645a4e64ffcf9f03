"""Month-end calculations on Spark: declared in YAML, versioned, rerun, explained and audited."""

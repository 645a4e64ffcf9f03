"""What stands where a database expects one name or one server, and is more than that."""

# Hosts that libpq would take for more than a server.
HOSTS = [
    "localhost dbname=other",
    "localhost/other?x=",
    "localhost:5433/other",
    "h1,h2",
    "/run/a,/run/b",
    "user@host",
    "host?host=evil",
    "host#",
    "a b",
    "",
    "-h",
]
SERVERS = ["localhost", "db.example", "db_1.example.", "127.0.0.1", "::1", "[::1]", "fe80::1%eth0", "/run/postgresql"]

# Tables of JDBC that are no tables.
QUERIES = [
    "(select * from secrets) t",
    "orders; drop table orders",
    'orders" union select 1 --',
    "a.b.c",
    "orders t",
]

# Two names that PostgreSQL cuts to the same 63 bytes; the second has fewer letters than bytes.
LONG_NAMES = ["x" * 64, "x" * 62 + "é"]

"""Addresses of stores and databases with a password in every form that their drivers accept.

The secret is `hunter2`, or has it before and after a character that ends something in an address.
"""

# (address, how it is shown)
WITH_SECRETS: list[tuple[str, str]] = [
    # Store and PostgreSQL
    ("postgresql://ann:hunter2@db.example:5432/close", "postgresql://ann@db.example:5432/close"),
    ("postgres://ann:hunter2@db/close", "postgres://ann@db/close"),
    ("postgresql://:hunter2@db/close", "postgresql://db/close"),
    ("postgresql://ann:hunter2/hunter2@db/close", "postgresql://ann@db/close"),
    ("postgresql://ann:hunter2#hunter2@db/close", "postgresql://ann@db/close"),
    ("postgresql://ann:hunter2?hunter2@db/close", "postgresql://ann@db/close"),
    ("postgresql://ann:hunter2:hunter2@db/close", "postgresql://ann@db/close"),
    ("postgresql://ann:hunter2@hunter2@db/close", "postgresql://…"),
    ("postgresql://ann:12/hunter2@db/close", "postgresql://…"),
    ("postgresql://ann:12#hunter2@db/close", "postgresql://…"),
    ("postgresql://ann:%68unter2hunter2@db/close", "postgresql://ann@db/close"),
    ("postgresql://ann@db/close?password=hunter2", "postgresql://ann@db/close?…"),
    ("postgresql://ann@db/close?sslpassword=hunter2", "postgresql://ann@db/close?…"),
    ("postgresql://ann@db/close?PASSWORD=hunter2", "postgresql://ann@db/close?…"),
    ("postgresql://ann@db/close?sslmode=require&password=hunter2", "postgresql://ann@db/close?…"),
    ("postgresql://ann@db/close?password=hunter2&password=hunter2", "postgresql://ann@db/close?…"),
    ("postgresql://ann@db/close?password=hunter2@hunter2", "postgresql://…"),
    ("postgresql://db:5432/close?password=hunter2@hunter2", "postgresql://…"),
    ("postgresql://ann:hunter2@h1:1,h2:2/close", "postgresql://ann@h1:1,h2:2/close"),
    ("postgresql://ann:hunter2@[::1]:5432/close", "postgresql://ann@[::1]:5432/close"),
    ("postgresql+psycopg://ann:hunter2@db/close", "postgresql+psycopg://ann@db/close"),
    ("jdbc:postgresql://db/close?user=ann&password=hunter2", "jdbc:postgresql://db/close?…"),
    ("jdbc:postgresql://ann:hunter2@db/close", "jdbc:postgresql://ann@db/close"),
    # MySQL and MariaDB
    ("jdbc:mysql://db:3306/close?user=ann&password=hunter2", "jdbc:mysql://db:3306/close?…"),
    ("jdbc:mysql://ann:hunter2@db:3306/close", "jdbc:mysql://ann@db:3306/close"),
    ("jdbc:mysql://ann:hunter2@h1,bob:hunter2@h2/close", "jdbc:mysql://…"),
    ("jdbc:mysql://(host=db,port=3306,user=ann,password=hunter2)/close", "jdbc:mysql://…"),
    ("jdbc:mysql://address=(host=db)(port=3306)(user=ann)(password=hunter2)/close", "jdbc:mysql://…"),
    ("jdbc:mysql://address=(host=db)(user=ann)( password = hunter2)/close", "jdbc:mysql://…"),
    ("jdbc:mysql:loadbalance://h1,h2/close?password=hunter2", "jdbc:mysql:loadbalance://h1,h2/close?…"),
    ("jdbc:mysql:replication://address=(type=master)(host=h)(password=hunter2)/d", "jdbc:mysql:replication://…"),
    ("mysqlx://ann:hunter2@[db1,db2]/close", "mysqlx://…"),
    ("jdbc:mariadb://db/close?user=ann&password=hunter2", "jdbc:mariadb://db/close?…"),
    ("jdbc:mysql://db/close?trustCertificateKeyStorePassword=hunter2", "jdbc:mysql://db/close?…"),
    # Teradata
    ("jdbc:teradata://db/USER=ann,PASSWORD=hunter2", "jdbc:teradata://db/…"),
    ("jdbc:teradata://db/DATABASE=close,USER=ann,PASSWORD=hunter2,TMODE=ANSI", "jdbc:teradata://db/…"),
    ("jdbc:teradata://db/PASSWORD='hunter2,hunter2'", "jdbc:teradata://db/…"),
    # Oracle
    ("jdbc:oracle:thin:ann/hunter2@db:1521:close", "jdbc:oracle:thin:@db:1521:close"),
    ("jdbc:oracle:thin:ann/hunter2@//db:1521/close", "jdbc:oracle:thin:@//db:1521/close"),
    ('jdbc:oracle:thin:ann/"hunter2@hunter2"@//db:1521/close', "jdbc:oracle:…"),
    ("jdbc:oracle:oci8:ann/hunter2@close", "jdbc:oracle:oci8:@close"),
    ("jdbc:oracle:thin:ann[x]/hunter2@db:1521:close", "jdbc:oracle:thin:@db:1521:close"),
    ("jdbc:oracle:thin:@tcps://db:1522/close?wallet_password=hunter2", "jdbc:oracle:…"),
    ("jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(HOST=db))(SECURITY=(MY_PASSWORD=hunter2)))", "jdbc:oracle:…"),
    ("jdbc:oracle:thin:@db:1521/close?javax.net.ssl.keyStorePassword=hunter2", "jdbc:oracle:thin:@db:1521/close?…"),
    # SQL Server
    ("jdbc:sqlserver://db:1433;databaseName=close;user=ann;password=hunter2", "jdbc:sqlserver://db:1433;…"),
    ("jdbc:sqlserver://db;user=ann;password={hunter2;hunter2};encrypt=true", "jdbc:sqlserver://db;…"),
    ("jdbc:sqlserver://db\\prod;user=ann;password={hunter2}}hunter2}", "jdbc:sqlserver://db\\prod;…"),
    ("jdbc:sqlserver://db;user=ann;password={hunter2@hunter2}", "jdbc:sqlserver://…"),
    ("jdbc:sqlserver://;serverName=db;PWD=hunter2", "jdbc:sqlserver://;…"),
    ("jdbc:sqlserver://db;accessToken=hunter2", "jdbc:sqlserver://db;…"),
    ("jdbc:sqlserver://db;trustStorePassword=hunter2", "jdbc:sqlserver://db;…"),
    # Others
    ("jdbc:db2://db:50000/close:user=ann;password=hunter2;", "jdbc:db2://db:50000/close:…"),
    ("jdbc:derby:/data/close;user=ann;password=hunter2", "jdbc:derby:…"),
    ("jdbc:derby:memory:close;bootPassword=hunter2", "jdbc:derby:…"),
    ("jdbc:h2:mem:close;USER=sa;PASSWORD=hunter2", "jdbc:h2:…"),
    ("jdbc:snowflake://x.example/?user=ann&private_key_file_pwd=hunter2", "jdbc:snowflake://x.example/?…"),
    ("jdbc:redshift:iam://db/close?AccessKeyID=x&SecretAccessKey=hunter2", "jdbc:redshift:iam://db/close?…"),
    ("mongodb+srv://ann:hunter2@db/close", "mongodb+srv://ann@db/close"),
    ("https://ann:hunter2@catalog.example/tables", "https://ann@catalog.example/tables"),
    ("https://catalog.example/tables?token=hunter2", "https://catalog.example/tables?…"),
    ("sc://spark.example:15002/;token=hunter2", "sc://spark.example:15002/;…"),
]

# (address, how it is shown) of what no driver takes apart: a secret may be anywhere in it.
WITHOUT_SCHEME: list[tuple[str, str]] = [
    ("ann:hunter2@db/close", "…"),
    ("hunter2", "…"),
    ("host=db user=ann password=hunter2", "…"),
    ("//ann:hunter2@db/close", "…"),
    ("postgresql:ann:hunter2@db", "…"),
    ("", "…"),
]

# Hosts that are more than a host.
HOSTS: list[str] = [
    "ann:hunter2@db",
    "ann@db",
    "host=db password=hunter2",
    "db password=hunter2",
    "postgresql://ann:hunter2@db/close",
    "db?password=hunter2",
    "(host=db,password=hunter2)",
]

# Addresses that are shown as they are, and accepted.
PLAIN: list[str] = [
    "postgresql://ann@db.example:5432/close",
    "postgresql://ann@%2Frun%2FPG/close",
    "postgresql://ann@[::1]:5432/close",
    "sqlite:///.daybook/store.db",
    "sqlite:////var/lib/day book.db",
    "jdbc:mysql://db:3306/close",
    "jdbc:oracle:thin:@db:1521:close",
    "jdbc:oracle:thin:@//db.example:1521/close.example",
    "jdbc:sqlserver://db\\prod:1433",
    "https://host:8080/tables/me",
]

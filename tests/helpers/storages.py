"""Storages as tests need them: HDFS, an S3 server that checks keys and one for gs, processes on loopback; a small disk.

What they are made of comes from Maven Central, PyPI and the Go module proxy, into a folder of the user's cache; where
one is missing, its tests are skipped with the reason.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers.spark_cluster import free_port, until

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "groupsim-tests"
FAKE_GCS = "github.com/fsouza/fake-gcs-server@v1.56.1"


@contextmanager
def _process(log: Path, *command: str | Path, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A program for as long as the block lasts; what it prints is in the log."""
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


@contextmanager
def hdfs(folder: Path) -> Iterator[str]:
    """A name node and a data node: their `hdfs://` address."""
    if find_spec("hdfs_native") is None:
        pytest.skip("hdfs-native is not installed (pip install groupsim[hdfs])")
    if shutil.which("java") is None or shutil.which("javac") is None:
        pytest.skip("HDFS needs a JDK on PATH")
    jars = CACHE / "hadoop-3.4.2"
    if not list(jars.glob("hadoop-client-minicluster-*.jar")):
        if shutil.which("mvn") is None:
            pytest.skip("Hadoop's jars come by Maven, which is not on PATH")
        fetch = ["mvn", "-q", "-B", "-f", HERE / "hadoop_pom.xml", "dependency:copy-dependencies"]
        done = subprocess.run([*fetch, f"-DoutputDirectory={jars}"], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"Maven does not give Hadoop's jars: {done.stdout[-300:]}")
    log = folder / "hdfs.log"
    with _process(log, "java", "-Xmx512m", "-cp", f"{jars}/*", HERE / "Hdfs.java", folder / "hdfs") as process:

        def ready() -> re.Match[str] | None:
            assert process.poll() is None, log.read_text("utf-8", "replace")
            return re.search(r"ready (hdfs://\S+)", log.read_text("utf-8", "replace"))

        until(ready, "no HDFS")
        found = ready()
        assert found is not None
        yield found[1]


READS_ONLY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": ["s3:Get*", "s3:List*"], "Resource": "*"}],
}


@contextmanager
def s3(folder: Path) -> Iterator[dict[str, dict[str, str]]]:
    """An S3 server with the bucket `bucket`: for its users `writer` and `reader` what goes into the environment."""
    if find_spec("moto") is None or find_spec("flask") is None:
        pytest.skip("moto is not installed (pip install 'moto[server,s3,iam]')")
    import boto3

    port = free_port()
    url = f"http://127.0.0.1:{port}"
    os.environ.pop("AWS_SESSION_TOKEN", None)
    # Keys and rights are checked from the call to `reset-auth` on.
    with _process(folder / "s3.log", sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)):
        until(lambda: _answers(url), "no S3 server")
        given = {
            "endpoint_url": url,
            "region_name": "us-east-1",
            "aws_access_key_id": "root",
            "aws_secret_access_key": "root",
        }
        boto3.client("s3", **given).create_bucket(Bucket="bucket")
        iam = boto3.client("iam", **given)
        users = {}
        for name, allowed in (("writer", "s3:*"), ("reader", None)):
            policy = json.loads(json.dumps(READS_ONLY))
            if allowed:
                policy["Statement"][0]["Action"] = allowed
            iam.create_user(UserName=name)
            iam.put_user_policy(UserName=name, PolicyName=name, PolicyDocument=json.dumps(policy))
            key = iam.create_access_key(UserName=name)["AccessKey"]
            users[name] = {
                "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
                "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
                "AWS_ENDPOINT_URL": url,
                "AWS_REGION": "us-east-1",
            }
        request = urllib.request.Request(f"{url}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"})
        urllib.request.urlopen(request, timeout=5).close()
        yield users


@contextmanager
def gs(folder: Path) -> Iterator[str]:
    """A server for gs with the bucket `bucket`: what a URL of it ends with."""
    binary = CACHE / "bin/fake-gcs-server"
    if not binary.exists():
        if shutil.which("go") is None:
            pytest.skip("fake-gcs-server comes as a Go module, and Go is not on PATH")
        environment = {**os.environ, "GOBIN": str(binary.parent)}
        made = subprocess.run(["go", "install", FAKE_GCS], capture_output=True, text=True, check=False, env=environment)
        if made.returncode:
            pytest.skip(f"Go does not make fake-gcs-server: {made.stderr[-300:]}")
    port = free_port()
    options = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory"]
    address = f"127.0.0.1:{port}"
    with _process(folder / "gs.log", binary, *options, "-public-host", address):
        until(lambda: _answers(f"http://{address}/storage/v1/b"), "no server for gs")
        body, kind = json.dumps({"name": "bucket"}).encode(), {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"http://{address}/storage/v1/b", data=body, headers=kind, method="POST")
        urllib.request.urlopen(asked, timeout=5).close()
        yield f"?scheme=http&endpoint_override={address}"


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """A file system that is full after so many kilobytes."""
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(folder)]
    tried = subprocess.run(mounting, capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no file system can be mounted here: {tried.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def enlarge(folder: Path, kilobytes: int) -> None:
    """Give a small disk more room."""
    subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", str(folder)], check=True)

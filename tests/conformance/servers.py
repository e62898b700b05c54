"""The real broker's tools, which live in `tools/`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import kafka_broker as kafka_broker
import kafka_jars as kafka_jars
import kafka_releases as kafka_releases
from kafka_broker import KafkaBroker as KafkaBroker

VERSION = kafka_jars.VERSION
BEFORE = kafka_jars.BEFORE

"""Serves a synthetic web on loopback addresses: fast, logging everything, hostile on request.

    async with serve(Web(pages=1000)) as site:
        await crawl(site.url)
        assert not violations(site.log, delay=0.1)

`python -m freki.testing.server --pages 10000 --port 8081` does it in a process of its own.

A path `/hostile/NAME` misbehaves; `HOSTILE` is the table. Each behaviour is a
generator of bytes to send and of seconds to wait, so it knows no socket, and one
small loop plays them all.
"""

import argparse
import asyncio
import email.utils
import json
import signal
import socket
import struct
import sys
import time
import zlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, fields
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple, TextIO
from urllib.parse import parse_qs

from freki.testing.auditor import Access
from freki.testing.synthetic import Answer, Web, address

"""A long soak of the pool of browsers; see `freki.testing.soak`.

./bench browser_soak [CAPTURES [KILLS]]
"""

import asyncio
import sys

import msgspec

from freki.testing.soak import hostile_share, soak

if __name__ == "__main__":
    words = [int(word) for word in sys.argv[1:]]
    captures = words[0] if words else 1_000
    kills = words[1] if len(words) > 1 else 20
    report = asyncio.run(soak(captures, kills, hostile_share(captures)))
    print(msgspec.json.format(msgspec.json.encode(report)).decode())
    sys.exit(0 if report.is_clean else 1)

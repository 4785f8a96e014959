"""The service with a real browser: the screenshot API as a plain client uses it."""

import time
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from tests.background import background
from tests.serve.conftest import whole

from freki.testing.server import serve
from freki.testing.synthetic import Web

PATIENCE = 60


def test_a_page_and_ten_of_its_links_as_pictures(tmp_path: Path) -> None:
    web = Web(pages=60, missing=0.1)
    with (
        background(serve(web)) as site,
        whole(tmp_path / "data", "--workers", "1", "--browsers", "1") as client,
    ):
        assert client.get("/isalive").status_code == 200
        wish = {"start_url": site.url, "number_of_links": 10}
        answer = client.post("/screenshots", json=wish)
        assert answer.status_code == 202
        until = time.monotonic() + PATIENCE
        task: dict[str, Any] = answer.json()
        while task["status"] in ("queued", "running"):
            assert time.monotonic() < until
            task = client.get(answer.json()["status_url"]).json()
        assert (task["requested"], task["attempted"], task["captured"]) == (11, 11, 11)
        digests = set()
        for shot in task["screenshots"]:
            (capture,) = shot["captures"]
            picture = client.get(capture["image_url"])
            image = Image.open(BytesIO(picture.content))
            assert (image.format, image.size) == ("WEBP", (1280, 800))
            assert not capture["blank"]
            digests.add(capture["sha256"])
        assert len(digests) >= 10
        crawl = {"urls": [site.url], "max_pages": 2, "screenshot": True, "delay": 0}
        id_ = client.post("/crawls", json=crawl).json()["id"]
        while client.get(f"/crawls/{id_}").json()["status"] in ("queued", "running"):
            assert time.monotonic() < until
        seen = client.get(f"/crawls/{id_}/captures").json()["items"]
        assert len(seen) == 2
        digest = seen[0]["captures"][0]["sha256"]
        assert client.get(f"/crawls/{id_}/images/{digest}.webp").status_code == 200
        again = client.post("/screenshots", json=wish).json()
        assert (again["cached"], again["status"]) == (True, "done")

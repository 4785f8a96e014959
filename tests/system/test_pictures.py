"""Pictures that were looked at by eye once, and are compared by their hash ever since."""

import asyncio

import pytest

from freki.fetch.browser.find import find
from freki.fetch.browser.pool import Size, pool
from freki.fetch.browser.process import Terms
from freki.fetch.egress import Egress
from freki.pictures import Rendering, Shot, likeness
from freki.testing.scenes import stage

# Fonts differ from machine to machine, and with them some of 64 bits.
NEAR = 10

LOOKED_AT = {
    "plain": 0x8060606161610000,
    "heavy": 0x6B6B6B6B2B2B6B6B,
    "lazy": 0x3030303030303030,
    "observed": 0x0101010101010101,
    "banner": 0x606165616B616161,
    "unnamed-banner": 0x406165616B616161,
    "tall": 0x8080808080808080,
    "shell": 0x80092E0000000000,
    "dark": 0x8000000000000000,
}


@pytest.fixture(scope="module")
def seen() -> dict[str, Rendering]:
    async def visit() -> dict[str, Rendering]:
        made = {}
        terms = Terms(found=find(), agent="Freki")
        async with (
            stage() as site,
            pool(terms, Size(browsers=1), Egress(allow_private=True)) as render,
        ):
            wishes = {
                name: Shot(
                    url=site.url(name), full_page=name in ("lazy", "observed", "tall"),
                    hide_banners="banner" in name, dark=name == "dark",
                )
                for name in LOOKED_AT
            }  # fmt: skip
            answers = await asyncio.gather(*map(render, wishes.values()))
        for name, answer in zip(wishes, answers, strict=True):
            assert isinstance(answer, Rendering), (name, answer)
            made[name] = answer
        return made

    return asyncio.run(visit())


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_picture_looks_as_it_did_when_people_looked_at_it(
    name: str, seen: dict[str, Rendering]
) -> None:
    phash = seen[name].captures[0].phash
    assert phash is not None
    assert likeness(phash, LOOKED_AT[name]) <= NEAR, f"{phash:#018x}"


def test_lazy_images_are_there(seen: dict[str, Rendering]) -> None:
    assert seen["lazy"].requests == 9
    assert seen["tall"].captures[-1].tiles == 4


def test_what_scripts_make_is_waited_for(seen: dict[str, Rendering]) -> None:
    assert seen["heavy"].title == "Built"
    assert seen["shell"].title == "App"

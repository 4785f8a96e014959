"""What changed between two pictures, and what only moved."""

from io import BytesIO

import pytest
from PIL import Image, ImageDraw

from freki.fetch.browser.compare import compare, marked
from freki.fetch.browser.look import encoded, opened


def page(*, banner: int = 0, box: tuple[int, int, int, int] | None = None, grey: int = 60) -> bytes:
    """Lines of a text that are all different, with a banner above them or a box over them."""
    image = Image.new("RGB", (640, 1_200 + banner), "white")
    draw = ImageDraw.Draw(image)
    for line in range(60):
        for word in range(1 + line * 7 % 11):
            x, y = 20 + word * 55, banner + 10 + line * 19
            draw.rectangle((x, y, x + 20 + (line * word * 13) % 30, y + 9), fill=(grey, grey, grey))
    if banner:
        draw.rectangle((0, 0, 640, banner - 1), fill=(200, 30, 30))
    if box:
        draw.rectangle(box, fill=(0, 90, 200))
    return encoded(image, "webp", 78)


def test_the_same_bytes_are_the_same() -> None:
    assert compare(page(), page()).same


def test_what_compression_changes_is_no_change() -> None:
    image = opened(page())
    again = encoded(image, "jpeg", 90)
    difference = compare(page(), again)
    assert not difference.same
    assert difference.changed == 0
    assert difference.boxes == []


def test_a_box_is_found_where_it_is() -> None:
    difference = compare(page(), page(box=(100, 400, 260, 480)))
    share = 161 * 81 / (640 * 1_200)
    assert share * 0.9 < difference.changed < share * 2
    left = min(box.x for box in difference.boxes)
    right = max(box.x + box.width for box in difference.boxes)
    top = min(box.y for box in difference.boxes)
    bottom = max(box.y + box.height for box in difference.boxes)
    assert 80 <= left <= 100
    assert 260 <= right <= 285
    assert 384 <= top <= 400
    assert 480 <= bottom <= 505
    assert difference.removed == []


@pytest.mark.parametrize("height", [7, 90, 159, 160, 500])
def test_a_banner_that_pushes_everything_down_is_one_change_of_its_height(height: int) -> None:
    difference = compare(page(), page(banner=height))
    assert difference.grown == height
    assert difference.changed < 1.1 * height / (1_200 + height) + 0.01
    assert difference.shifted >= 1_000
    assert difference.boxes[0].y == 0


def text(gone: int | None = None, sale: int = 0) -> bytes:
    """Paragraphs that look alike but for a word of theirs."""
    image = Image.new("RGB", (640, 2_000), "white")
    draw = ImageDraw.Draw(image)
    y = 20 + sale
    for paragraph in range(20):
        if paragraph == gone:
            continue
        for line in range(3):
            for word in range(10):
                wide = 5 + paragraph * 37 % 50 if (line, word) == (1, 4) else 18 + word * 7 % 20
                draw.rectangle((20 + word * 60, y, 20 + word * 60 + wide, y + 9), fill=(60, 60, 60))
            y += 19
        y += 30
    return encoded(image.crop((0, 0, 640, y)), "webp", 78)


def test_a_paragraph_that_is_gone_changes_none_of_those_that_look_like_it() -> None:
    difference = compare(text(), text(gone=5))
    assert sum(box.height for box in difference.removed) == 87
    assert difference.changed < 0.1


def test_what_came_above_and_what_went_below_are_two_changes() -> None:
    difference = compare(text(), text(gone=12, sale=133))
    assert sum(box.height for box in difference.removed) >= 87
    assert difference.changed < 0.2
    assert difference.shifted >= 1_500


def test_what_went_away_is_told_where_it_was() -> None:
    difference = compare(page(banner=160), page())
    assert difference.changed < 0.2
    assert difference.grown == -160
    assert sum(box.height for box in difference.removed) >= 144
    assert difference.removed[0].y == 0


def test_another_colour_everywhere_is_a_change_everywhere_there_is_ink() -> None:
    assert compare(page(), page(grey=180)).changed > 0.3


def test_changes_are_framed() -> None:
    after = page(box=(100, 400, 260, 480))
    framed = Image.open(BytesIO(marked(after, compare(page(), after))))
    assert framed.size == (640, 1_200)
    assert (230, 0, 60) in {colour for _, colour in framed.getcolors(1 << 20) or []}

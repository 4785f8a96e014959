"""Pictures of a page that changed, as a browser would have taken them."""

from io import BytesIO

from PIL import Image, ImageDraw

from freki.ledger import captures
from freki.ledger.database import Database
from freki.pictures import Capture, Picture, Rendering, Viewport

WIDTH, HEIGHT = 320, 400


def store_change(db: Database, crawl: int, title: str) -> list[str]:
    """A visit before and one after a box turned red, at 64,160; answers with their digests."""
    digests = []
    for colour in ("white", "red"):
        image = Image.new("RGB", (WIDTH, HEIGHT), "white")
        draw = ImageDraw.Draw(image)
        draw.rectangle((16, 16, 300, 60), fill="navy")
        draw.rectangle((64, 160, 127, 191), fill=colour)
        out = BytesIO()
        image.save(out, "PNG")
        picture = Picture(data=out.getvalue(), format="png", width=WIDTH, height=HEIGHT)
        seen = Capture(picture=picture, viewport=Viewport())
        url = "https://a.example/"
        shot = Rendering(url=url, final_url=url, title=title, captures=(seen,))
        captures.store(db, 3.0, shot, crawl)
        digests.append(picture.digest.hex())
    return digests


def store_many(db: Database, crawl: int, count: int, after: str = "") -> None:
    """So many visits of so many pages, which all look the same; every third one is blank.

    `after` ends their titles.
    """
    out = BytesIO()
    Image.new("RGB", (WIDTH, HEIGHT), "navy").save(out, "WEBP")
    picture = Picture(data=out.getvalue(), format="webp", width=WIDTH, height=HEIGHT)
    for number in range(count):
        blank = number % 3 == 2
        seen = Capture(
            picture=picture, viewport=Viewport(), phash=7, blank=blank, thumbnails=(picture,)
        )
        url = f"https://a.example/{number}"
        captures.store(
            db,
            3.0,
            Rendering(url=url, final_url=url, title=f"Page {number}{after}", captures=(seen,)),
            crawl,
        )

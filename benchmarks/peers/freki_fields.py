"""Five CSS fields of every page: the spider of `benchmarks/fields.py`."""

import freki


class Fields(freki.Spider):
    follow_links = True

    def parse(self, page: freki.Page) -> dict[str, object]:
        return {
            "title": page.css("title").text,
            "heading": page.css("h1").text,
            "description": page.css("meta[name=description]").attr("content"),
            "canonical": page.css("link[rel=canonical]").attr("href"),
            "code": page.css("pre code").text,
        }

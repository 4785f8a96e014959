import gzip
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.admit.sitemaps import CHUNK, MAX_GZIP_MEMBERS, MAX_TAGS, Entry, Problem, Sitemap, read
from freki.url import MAX_LENGTH

NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*records: str) -> str:
    return f'<?xml version="1.0"?>\n<urlset {NAMESPACE}>{"".join(records)}</urlset>\n'


def url(loc: str) -> str:
    return f"<url><loc>{loc}</loc></url>"


def urls(document: str | bytes) -> list[str]:
    body = document.encode() if isinstance(document, str) else document
    return [entry.url for entry in read(body).entries]


# --- formats ---


def test_a_sitemap_names_urls_with_date_and_priority() -> None:
    text = urlset(
        "\n <url>\n  <loc>https://a/1</loc>\n  <lastmod>2024-05-01</lastmod>"
        "<changefreq>daily</changefreq><priority>0.8</priority>\n </url>",
        "<url><priority>1</priority><loc>https://a/2</loc></url>",
    )
    assert read(text.encode()) == Sitemap(
        entries=(Entry("https://a/1", "2024-05-01", 0.8), Entry("https://a/2", None, 1.0))
    )


def test_an_index_names_sitemaps() -> None:
    text = (
        f"<sitemapindex {NAMESPACE}><sitemap><loc>https://a/1.xml</loc><lastmod>2024</lastmod>"
        "</sitemap><sitemap><loc>https://a/2.xml</loc></sitemap></sitemapindex>"
    )
    assert read(text.encode()) == Sitemap(
        children=(Entry("https://a/1.xml", "2024"), Entry("https://a/2.xml"))
    )


def test_an_empty_sitemap_is_no_problem() -> None:
    assert read(urlset().encode()) == Sitemap()
    assert read(b"<urlset/>") == Sitemap()


def test_a_text_names_a_url_per_line() -> None:
    body = b"https://a/1\r\nHTTP://a/2\r  https://a/3  \n\n# no URL\nftp://a/\nhttps://a/4"
    assert urls(body) == ["https://a/1", "HTTP://a/2", "https://a/3", "https://a/4"]


def test_an_rss_feed_names_the_links_of_its_items() -> None:
    text = """<?xml version="1.0"?>
        <rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
        <title>News</title><link>https://a/</link><atom:link href="https://a/feed" rel="self"/>
        <image><url>https://a/logo.png</url><link>https://a/</link></image>
        <item><title>One</title><link>https://a/1</link><guid>https://a/?p=1</guid>
          <atom:link>https://a/no</atom:link><pubDate>Wed, 01 May 2024 10:00:00 GMT</pubDate></item>
        <item><description><![CDATA[<p>a</p><item><link>https://a/no</link></item>]]></description>
          <guid isPermaLink="true">https://a/2</guid></item>
        <item><guid isPermaLink="false">https://a/no</guid></item>
        </channel></rss>"""
    assert read(text.encode()) == Sitemap(
        entries=(Entry("https://a/1", "Wed, 01 May 2024 10:00:00 GMT"), Entry("https://a/2"))
    )


def test_an_rss_1_feed_is_read_too() -> None:
    text = (
        '<rdf:RDF xmlns="http://purl.org/rss/1.0/"><channel><link>https://a/</link></channel>'
        '<item rdf:about="https://a/1"><link>https://a/1</link></item></rdf:RDF>'
    )
    assert urls(text) == ["https://a/1"]


def test_an_atom_feed_names_the_alternate_links_of_its_entries() -> None:
    text = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://a/"/>
        <entry><link rel="self" href="https://a/no"/><link rel="alternate" href="https://a/1"/>
          <link href="https://a/no"/><updated>2024-05-01T10:00:00Z</updated></entry>
        <entry><link type='text/html' href = 'https://a/2?b&amp;c'></link></entry>
        <entry><link rel="edit" href="https://a/no"/></entry></feed>"""
    assert read(text.encode()) == Sitemap(
        entries=(Entry("https://a/1", "2024-05-01T10:00:00Z"), Entry("https://a/2?b&c"))
    )


@pytest.mark.parametrize(
    "body", [b"", b" \n", b"%PDF-1.7\n\x00\xff", b"<html><a href='https://a/'>a</a></html>", b"\0"]
)
def test_what_is_no_sitemap_is_told_apart(body: bytes) -> None:
    assert read(body) == Sitemap(problem=Problem.not_a_sitemap)


# --- tolerance ---


def test_a_loc_of_an_image_is_no_page() -> None:
    image = "<image:image><image:loc>https://a/1.png</image:loc></image:image>"
    text = urlset(f"<url>{image}<loc>https://a/1</loc>{image}</url>", f"<url>{image}</url>")
    assert urls(text) == ["https://a/1"]


def test_prefixes_case_and_attributes_of_tags_do_not_matter() -> None:
    text = (
        '<sm:urlset xmlns:sm="x"><sm:url a="b"><sm:loc\n c="d" >https://a/1</sm:loc ></sm:url >'
        "<sm:URL><sm:Loc>https://a/2</sm:LOC></sm:url></sm:urlset>"
    )
    assert urls(text) == ["https://a/1", "https://a/2"]


def test_white_space_and_cdata_around_urls_are_left_out() -> None:
    text = urlset(url("\n\t https://a/1 \n"), url(" <![CDATA[ https://a/2?b&c ]]> "))
    assert urls(text) == ["https://a/1", "https://a/2?b&c"]


def test_the_five_entities_and_numbers_are_resolved_outside_of_cdata() -> None:
    text = urlset(url("https://a/?&amp;&lt;&gt;&quot;&apos;&#65;&#x42;&#X43;"))
    assert urls(text) == ["https://a/?&<>\"'ABC"]
    assert urls(urlset(url("<![CDATA[https://a/?&amp;]]>"))) == ["https://a/?&amp;"]


@pytest.mark.parametrize("reference", ["&nbsp;", "&xxe;", "&#0;", "&#xD800;", "&#x110000;", "& "])
def test_no_other_reference_is_resolved(reference: str) -> None:
    assert urls(urlset(url(f"https://a/?{reference}b"))) == [f"https://a/?{reference}b"]


def test_a_bare_ampersand_costs_nothing() -> None:
    assert urls(urlset(url("https://a/?b=1&c=2"), url("https://a/2"))) == [
        "https://a/?b=1&c=2",
        "https://a/2",
    ]


def test_what_follows_broken_markup_is_still_read() -> None:
    broken = "<url><loc>https://a/1</lc><url <<loc>>x</loc><priority>high</priority></url></x>&<"
    assert urls(urlset(broken, url("https://a/2"))) == ["https://a/1", "https://a/2"]


def test_records_that_are_not_closed_are_closed_by_the_next() -> None:
    assert urls("<urlset><url><loc>https://a/1</loc><url><loc>https://a/2</loc></urlset>") == [
        "https://a/1",
        "https://a/2",
    ]


def test_comments_name_nothing() -> None:
    text = urlset("<!-- <url><loc>https://a/no</loc></url> -->", url("https://a/1"), "<!---->")
    assert urls(text) == ["https://a/1"]


def test_a_warning_before_the_document_is_passed_over() -> None:
    assert urls("Warning: deprecated in line 3\n" + urlset(url("https://a/1"))) == ["https://a/1"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_unicode_is_recognised_whatever_is_declared(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="Shift_JIS"?><urlset>{url("https://a/ツ")}</urlset>'
    assert urls(text.encode(encoding)) == ["https://a/ツ"]


def test_a_byte_order_mark_hides_no_line() -> None:
    assert urls("\ufeffhttps://a/1\nhttps://a/2\n".encode()) == ["https://a/1", "https://a/2"]


def test_bytes_that_are_not_utf_8_are_latin_1() -> None:
    assert urls(urlset(url("https://a/é"), url("https://a/ü")).encode("latin-1")) == [
        "https://a/é",
        "https://a/ü",
    ]


@pytest.mark.parametrize("value", ["2", "-0.1", "nan", "high", ""])
def test_a_priority_outside_of_0_to_1_is_none(value: str) -> None:
    record = f"<url><loc>https://a/1</loc><priority>{value}</priority></url>"
    assert read(urlset(record).encode()).entries == (Entry("https://a/1"),)


def test_records_without_a_url_or_with_one_too_long_name_nothing() -> None:
    text = urlset(
        "<url><lastmod>2024</lastmod></url>", url(" "), url("https://a/" + "b" * MAX_LENGTH)
    )
    assert read(text.encode()) == Sitemap()
    assert urls(b"https://a/1\nhttps://a/" + b"b" * 3 * CHUNK + b"\nhttps://a/2") == [
        "https://a/1",
        "https://a/2",
    ]


@pytest.mark.parametrize("end", range(len(url("https://a/2"))))
def test_a_truncated_document_keeps_its_whole_urls(end: int) -> None:
    text = "<urlset>" + url("https://a/1") + url("https://a/2")[:end]
    whole = end > len("<url><loc>https://a/2")  # then something follows that is no URL
    expected = ["https://a/1", "https://a/2"] if whole else ["https://a/1"]
    assert urls(text) == expected
    assert read(text.encode()).problem is Problem.truncated


@pytest.mark.parametrize("offset", range(0, 140, 3))
def test_urls_are_whole_wherever_a_chunk_ends(offset: int) -> None:
    records = [
        url("https://a/1"),
        "<!-- </url> -->",
        url("<![CDATA[https://a/2?b]]>"),
        url("https://a/3"),
    ]
    padding = " " * (CHUNK - len(urlset()) - offset)
    assert urls(urlset(padding, *records)) == ["https://a/1", "https://a/2?b", "https://a/3"]
    lines = b"\n" * (CHUNK - offset) + b"https://a/1\r\nhttps://a/2\r\n" * 10
    assert urls(lines) == ["https://a/1", "https://a/2"] * 10


# --- compression and limits ---


def test_gzip_is_recognised_by_its_first_bytes() -> None:
    assert urls(gzip.compress(urlset(url("https://a/1")).encode())) == ["https://a/1"]


def test_gzip_may_have_several_members_and_padding() -> None:
    text = urlset(url("https://a/1"), url("https://a/2")).encode()
    body = b"".join(gzip.compress(text[at : at + 40]) for at in range(0, len(text), 40))
    assert read(body + b"\0" * 100) == Sitemap(entries=(Entry("https://a/1"), Entry("https://a/2")))


def test_what_was_read_before_damage_is_kept() -> None:
    text = "<urlset>" + "".join(url(f"https://a/{number}") for number in range(20_000))
    body = gzip.compress(text.encode())
    truncated = read(body[:-1000])
    assert truncated.problem is Problem.truncated
    assert 15_000 < len(truncated.entries) < 20_000
    damaged = read(body[:-8] + bytes(8))  # its checksum
    assert damaged.problem is Problem.damaged
    assert 15_000 < len(damaged.entries) < 20_000


def test_a_cut_list_does_not_end_with_part_of_a_url() -> None:
    assert read(b"https://a/1\nhttps://a/23", max_bytes=23) == Sitemap(
        entries=(Entry("https://a/1"),), problem=Problem.too_large
    )


def test_bytes_are_limited_after_decompression() -> None:
    text = urlset(url("https://a/1"), " " * 1000, url("https://a/2")).encode()
    for body in (text, gzip.compress(text)):
        assert read(body, max_bytes=len(text)).problem is None
        assert read(body, max_bytes=len(text) - 900) == Sitemap(
            entries=(Entry("https://a/1"),), problem=Problem.too_large
        )


def test_urls_are_limited() -> None:
    text = urlset(
        url("https://a/1"), "<sitemap><loc>https://a/2</loc></sitemap>", url("https://a/3")
    )
    assert read(text.encode(), max_urls=3).problem is None
    assert read(text.encode(), max_urls=2) == Sitemap(
        entries=(Entry("https://a/1"),),
        children=(Entry("https://a/2"),),
        problem=Problem.too_many,
    )
    assert read(b"https://a/1\nhttps://a/2\n", max_urls=1) == Sitemap(
        entries=(Entry("https://a/1"),), problem=Problem.too_many
    )


def test_tags_are_limited() -> None:
    body = urlset(url("https://a/1"), "<!--").encode() + b"<" * MAX_TAGS
    assert read(body) == Sitemap(entries=(Entry("https://a/1"),), problem=Problem.too_large)


def test_gzip_members_are_limited() -> None:
    body = gzip.compress(b"https://a/1\n") + gzip.compress(b"") * MAX_GZIP_MEMBERS
    assert read(body) == Sitemap(entries=(Entry("https://a/1"),), problem=Problem.damaged)


# --- hostile documents ---


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE urlset SYSTEM "file:///etc/passwd">',
        '<!doctype x [<!ENTITY e SYSTEM "http://127.0.0.1/">]>',
        '<!ENTITY % e SYSTEM "file:///etc/passwd">',
        "<!DOCTYPE html>",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_declaration_is_refused_with_all_it_names(
    declaration: str, encoding: str
) -> None:
    text = f"{declaration}<urlset>{url('https://a/1')}{url('&e;')}</urlset>"
    assert read(text.encode(encoding)) == Sitemap(problem=Problem.doctype)
    text = f"<urlset>{url('https://a/1')}{declaration}{url('https://a/2')}</urlset>"
    assert read(text.encode(encoding)) == Sitemap(problem=Problem.doctype)


def test_a_declaration_in_a_comment_or_cdata_declares_nothing() -> None:
    text = urlset("<!-- <!DOCTYPE a> -->", "<b><![CDATA[<!DOCTYPE a>]]></b>", url("https://a/1"))
    assert urls(text) == ["https://a/1"]


HOSTILE = {
    "tags": b"<url>",
    "fields": b"<loc>",
    "open tags": b"<loc ",
    "open closing tags": b"</",
    "open comments": b"<!--",
    "open sections": b"<![CDATA[",
    "comments": b"<!---->",
    "prefixes": b"<a:",
    "quotes": b"<link href='",
    "letters": b"<" + b"a" * 100_000,
    "spaces": b"<loc" + b" " * 100_000,
    "references": b"&#38;",
    "lines": b"https://a\n",
    "nothing": b"\n",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("head", [b"", b"<urlset><url><loc>", b"<feed><entry>"])
def test_a_hostile_document_costs_no_more_than_an_honest_one(head: bytes, piece: bytes) -> None:
    body = head + piece * (500_000 // len(piece))
    start = time.process_time()
    read(body)
    assert time.process_time() - start < 1.0  # about 0.05; quadratic reading takes minutes


def test_a_bomb_is_cut() -> None:
    body = gzip.compress(b"<urlset>" + b" " * 8_000_000, 9)
    assert len(body) < 10_000
    assert read(body, max_bytes=1_000_000).problem is Problem.too_large


FRAGMENTS = st.from_regex(
    r"(</?(urlset|url|loc|rss|item|link|feed|entry) ?/?>|https://a/1|<!\[CDATA\[|\]\]>|<!--|-->"
    r"|href='x'|&amp;|&#38;|&#xD800;|[<>/]|<!DOCTYPE|\ufeff|\0|ツ)*",
    fullmatch=True,
)


@given(FRAGMENTS.map(str.encode) | st.binary())
def test_no_document_makes_it_raise(body: bytes) -> None:
    for document in (body, gzip.compress(body), gzip.compress(body)[:-5], b"\x1f\x8b" + body):
        for entry in read(document).entries:
            assert entry.url.encode()  # no lone surrogates: it can be stored

import pytest

from freki.extract.page import extract
from freki.messages import Link, Response, Via

PAGE = "http://h/a/page?q"


def links(body: str, url: str = PAGE) -> list[Link]:
    return extract(Response(url, 200, (), body.encode(), "text/html; charset=utf-8")).links


def urls(body: str, url: str = PAGE) -> list[str]:
    return [link.url for link in links(body, url)]


# --- where a page leads ---


@pytest.mark.parametrize(
    ("body", "url", "via"),
    [
        ("<a href=x>", "http://h/a/x", Via.link),
        ("<A HREF='x'>", "http://h/a/x", Via.link),
        ("<map><area href=x></map>", "http://h/a/x", Via.link),
        ("<svg><a href=x>", "http://h/a/x", Via.link),
        ("<svg><a xlink:href=x>", "http://h/a/x", Via.link),
        ("<svg><a xlink:href=y href=x>", "http://h/a/x", Via.link),
        ("<noscript><a href=x></noscript>", "http://h/a/x", Via.link),
        ("<template><a href=x></template>", "http://h/a/x", Via.link),
        ("<p><template shadowrootmode=open><a href=x></template>", "http://h/a/x", Via.link),
        ("<iframe src=x></iframe>", "http://h/a/x", Via.frame),
        ("<frameset><frame src=x></frameset>", "http://h/a/x", Via.frame),
        ("<link rel=next href=x>", "http://h/a/x", Via.link),
        ("<link rel='foo PREV' href=x>", "http://h/a/x", Via.link),
        ("<link rel=alternate hreflang=de href=x>", "http://h/a/x", Via.link),
        ("<link rel=canonical href=x>", "http://h/a/x", Via.canonical),
        ("<meta http-equiv=Refresh content='0;url=x'>", "http://h/a/x", Via.refresh),
    ],
)
def test_a_page_leads_where(body: str, url: str, via: Via) -> None:
    assert [(link.url, link.via) for link in links(body)] == [(url, via)]


@pytest.mark.parametrize(
    "body",
    [
        "<a>",
        "<a href>",
        "<a href=''>",
        "<a href='#top'>",
        "<a href=mailto:me@h>",
        "<a href='javascript:go()'>",
        "<a href='http://[/'>",
        "<a name=x>",
        "<link href=x>",
        "<link rel=stylesheet href=x>",
        "<link rel='alternate stylesheet' href=x>",
        "<link rel='alternate icon' href=x>",
        "<link rel=icon href=x>",
        "<iframe>",
        "<iframe srcdoc='<a href=x>'>",
        "<meta http-equiv=refresh content=5>",
        "<meta http-equiv=refresh content='5;url='>",
        "<meta name=refresh content='0;url=x'>",
        "<img src=x><script src=x></script><form action=x><button formaction=x></form>",
        "<!-- <a href=x> -->",
        "<script>'<a href=x>'</script>",
        "<textarea><a href=x></textarea>",
    ],
)
def test_a_page_leads_nowhere(body: str) -> None:
    assert links(body) == []


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0;url=x", "x"),
        ("0; URL = x", "x"),
        ("5,x", "x"),
        ("5 x", "x"),
        (".5;x", "x"),
        ("1.5.;url='x'y", "x"),
        ('0;"x"y', "x"),
        ("0;url='x", "x"),
        ("0;urlx", "urlx"),
        ("  0  ;  url=x  ", "x"),
        ("x", None),
        ("url=x", None),
        ("-1;url=x", None),
        ("0url=x", None),
        ("", None),
    ],
)
def test_a_refresh_is_read_as_browsers_read_it(content: str, target: str | None) -> None:
    body = f"<meta http-equiv=refresh content='{content.replace(chr(39), '&#39;')}'>"
    assert urls(body) == ([f"http://h/a/{target}"] if target else [])


# --- each once, in order ---


@pytest.mark.parametrize(
    ("charset", "href", "url"),
    [
        ("windows-1251", "/я?я=я#я", "http://h/%D1%8F?%FF=%FF"),
        ("shift_jis", "?q=日本", "http://h/a/page?q=%93%FA%96{"),
        ("gbk", "?q=日", "http://h/a/page?q=%C8%D5"),
        ("windows-1252", "?q=日é", "http://h/a/page?q=%26%2326085%3B%E9"),
        ("windows-1252", "x#?é", "http://h/a/x"),
        ("iso-8859-8-i", "?א", "http://h/a/page?%E0"),
        ("utf-8", "?q=é", "http://h/a/page?q=%C3%A9"),
        ("utf-16le", "?q=é", "http://h/a/page?q=%C3%A9"),
    ],
)
def test_the_query_of_a_link_is_spelled_in_the_charset_of_its_page(
    charset: str, href: str, url: str
) -> None:
    codec = charset.removesuffix("-i")
    body = f"<a href='{href}'>x</a>".encode(codec, "xmlcharrefreplace")
    response = Response("http://h/a/page", 200, (), body, f"text/html; charset={charset}")
    assert [link.url for link in extract(response).links] == [url]


def test_each_url_comes_once_and_the_first_link_names_it() -> None:
    body = "<a href=/b>first</a><a href=/a>a</a><a href='/b#part'>second</a><a href=//h/b>third</a>"
    assert links(body) == [Link("http://h/b", "first"), Link("http://h/a", "a")]


def test_head_and_frames_come_before_anchors() -> None:
    body = "<link rel=next href=1><a href=3>3</a><iframe src=2></iframe><a href=1>1</a>"
    assert urls(body) == ["http://h/a/1", "http://h/a/2", "http://h/a/3"]


def test_a_link_to_the_page_itself_is_a_link() -> None:
    assert urls("<a href='?q'>") == [PAGE]


def test_only_the_first_hundred_thousand_anchors_count() -> None:
    assert urls("<a href=x>" * 99_999 + "<a href=y>" + "<a href=z>") == [
        "http://h/a/x",
        "http://h/a/y",
    ]


def test_a_long_address_is_not_multiplied_without_bound() -> None:
    body = f"<base href='/{'d' * 8000}/'>" + "".join(f"<a href={n}>" for n in range(10_000))
    assert sum(map(len, urls(body))) < 33_000_000


# --- from where links are meant ---


@pytest.mark.parametrize(
    ("body", "url"),
    [
        ("<a href=x>", "http://h/a/x"),
        ("<a href='?x'>", "http://h/a/page?x"),
        ("<a href=' /x\n'>", "http://h/x"),
        ("<a href='http:?x'>", "http://h/a/page?x"),
        ("<base href=/b/><a href=x>", "http://h/b/x"),
        ("<base href=/b/c><a href='?x'>", "http://h/b/c?x"),
        ("<base href=//other.example><a href=x>", "http://other.example/x"),
        ("<base target=_top><base href=/b/><base href=/c/><a href=x>", "http://h/b/x"),
        ("<a href=x><base href=/b/>", "http://h/b/x"),
        ("<base href=mailto:x><a href=x>", "http://h/a/x"),
        ("<base href=''><a href=x>", "http://h/a/x"),
        ("<head><noscript><base href=/b/></noscript><a href=x>", "http://h/a/x"),
        ("<head><noscript><base href=/b/></noscript><base href=/c/><a href=x>", "http://h/c/x"),
        ("<head><noscript><p></noscript><base href=/b/></head><a href=x>", "http://h/b/x"),
        ("<body><noscript><base href=/b/></noscript><a href=x>", "http://h/a/x"),
        ("<head><base href=/b/><noscript><base href=/c/></noscript><a href=x>", "http://h/b/x"),
        ("<a href='//me:secret@h/x'>", "http://h/x"),
        ("<a href='/a&amp;b?c=&lt;'>", "http://h/a&b?c=%3C"),
        ("<a href='é'>", "http://h/a/%C3%A9"),
    ],
)
def test_a_link_is_meant_from_the_base_of_the_page(body: str, url: str) -> None:
    assert urls(body) == [url]


def test_pages_of_one_directory_do_not_share_what_is_meant_from_the_page() -> None:
    body = "<a href='?x'><a href=y>"
    assert urls(body, "http://h/a/one") == ["http://h/a/one?x", "http://h/a/y"]
    assert urls(body, "http://h/a/two") == ["http://h/a/two?x", "http://h/a/y"]


def test_what_is_remembered_of_directories_is_forgotten_in_time() -> None:
    body = "<a href=x>" + "".join(f"<a href='x#{number}'>" for number in range(10_000))
    for site in range(8):
        assert urls(body, f"http://h{site}/") == [f"http://h{site}/x"]
    assert urls(body, "http://h0/") == ["http://h0/x"]


# --- the words of a link ---


@pytest.mark.parametrize(
    ("anchor", "text"),
    [
        ("<a href=x> some \n <b>bold</b>  words </a>", "some bold words"),
        ("<a href=x title=t>words</a>", "words"),
        ("<a href=x title=' the\ttitle '> </a>", "the title"),
        ("<a href=x title=t><img alt=i></a>", "t"),
        ("<a href=x><p><img alt=' a  picture '></p></a>", "a picture"),
        ("<a href=x><img></a>", ""),
        ("<a href=x></a>", ""),
        ("<map><area href=x alt='an area' title=t></map>", "an area"),
        ("<a href=x><svg><style>.a{b:c}</style></svg>logo</a>", "logo"),
        (f"<a href=x>{'word ' * 100}</a>", ("word " * 40).strip()),
        (f"<a href=x>{' ' * 1000}indented</a>", "indented"),
        ("<svg><a href=x>outer<a href=y>inner</a></a></svg>", ""),
    ],
)
def test_the_words_of_a_link(anchor: str, text: str) -> None:
    assert links(anchor)[0].text == text


@pytest.mark.parametrize(
    ("element", "rel"),
    [
        ("<a href=x rel=nofollow>", "nofollow"),
        ("<a href=x rel=' NoFollow\n UGC '>", "nofollow ugc"),
        ("<a href=x rel>", ""),
        ("<area href=x rel=sponsored>", "sponsored"),
        ("<link rel='Next NoFollow' href=x>", "next nofollow"),
        (f"<a href=x rel='nofollow {'x' * 5000}'>", f"nofollow {'x' * 91}"),
    ],
)
def test_the_relation_of_a_link_is_kept(element: str, rel: str) -> None:
    assert links(element)[0].rel == rel

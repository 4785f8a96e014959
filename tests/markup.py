"""Pieces of markup that a parser has a rule of its own for, and pages made of them."""

import random

_NAMES = """
a abbr address applet area article aside b base blockquote body br button caption center code
col colgroup custom-x dd desc details dialog div dl dt em embed fieldset figure font footer
foreignObject form frame frameset h1 h2 head header hr html i iframe image img input li link
listing main marquee math menu meta nav nobr noembed noframes noscript object ol optgroup option
p param path plaintext pre rb rp rt rtc ruby s script section select small source span strong
style sub summary svg table tbody td template textarea tfoot th thead title tr track tt u ul
unknown var wbr xmp keygen g circle use
"""
TAGS = _NAMES.split()

ATTRIBUTES = [
    " href=x",
    ' href="y?a=1&amp;b=2"',
    ' href="#z"',
    " href='q#z' rel=\"nofollow  UGC\"",
    ' href=w title="T &lt; t"',
    " src=s rel=r",
    ' href="a&copy=1&copyx"',
    " href=1 href=2",
    " xlink:href=k",
    " rel=next href=n",
    " rel=canonical href=c",
    ' name=robots content="noindex, nofollow"',
    ' http-equiv=refresh content="0;url=m"',
    ' alt="pic &amp; c"',
    " /",
    " href=u/",
    " type=hidden",
    " lang=de",
    ' href=" s "',
    " href=a\tb",
    "=",
    ' "x"',
    ' class="a>b"',
    " name=description content=D",
    " id=a b=c",
]

PIECES = [
    "<a href=1>one</a>",
    "<a href=2>two <b>bold</b></a>",
    "<a href=3><div>block</a>x</div>",
    "<p><a href=4>a<p>b</a>c",
    "<table><tr><td><a href=5>t</a></td></tr></table>",
    "<table><a href=6>f</a></table>",
    "<table>text<tr><td>x",
    "<a href=7><table><tr><td><a href=8>in</a></td></tr></table>out</a>",
    "<b><p>x</b>y</p>",
    "<b><i><a href=9>z</b></i>w</a>",
    '<svg><a href=10>s<title>tt</title></a><path d="M0"/></svg>',
    "<svg><style>a{b}</style></svg>",
    "<a href=11><svg><title>icon</title><path/></svg></a>",
    '<a href=12><img alt="alt text"></a>',
    '<a href=13 title="ti"> </a>',
    '<script>"<a href=no>"</script>',
    "<script><!--<script></script>--></script>",
    "<style><a href=no></style>",
    "<textarea><a href=no></textarea>",
    "<title>T &amp; <b>t</title>",
    "<!-- <a href=no> -->",
    "<!--><a href=c1>",
    "<!--x--!><a href=c2>",
    "<![CDATA[<a href=cd>]]>",
    "<svg><![CDATA[<a href=cd>]]></svg>",
    "<?pi <a href=pi> ?>",
    "</ bogus><a href=b1>",
    "</><a href=b2>",
    "<!bogus><a href=b3>",
    "<select><option>o<option><a href=se>p</select>",
    "<ul><li><a href=l1>x<li>y</ul>",
    "<dl><dt><a href=d1>x</a><dd>y</dl>",
    "<h1><a href=h1>x<h2>y</h2></h1>",
    "<form><a href=fo>x</form>y</a>",
    "<form><div></form></div><form>",
    "<noscript><a href=ns>x</a></noscript>",
    "<noscript><base href=/nb/></noscript>",
    "<base href=/base/>",
    "<head><title>a</title></head>",
    "<body>",
    "</body>",
    "</html>",
    "<template><a href=te>x</a></template>",
    "<math><mi>x</mi><a href=ma>y</a></math>",
    "<iframe src=if><a href=no></iframe>",
    '<map><area href=ar alt=" A  b "></map>',
    "<a href=e1>&#x41;&#65;&notit;&notin;&hellip</a>",
    "<a href=e2>&#0;&#x80;&#xD800;&#x110000;&#99999999999;</a>",
    "<a href=e3>{x}</a>",
    "<a href=e4>a\rb\r\nc\n</a>",
    "<a href=e5>" + "word " * 60 + "</a>",
    "<a href=e6>" + " " * 1700 + "late</a>",
    '<a href="e7&#10;x">nl</a>',
    "<a href=é>ü\u00a0\u3000ß</a>",
    "<button><a href=bu>x<button>y",
    "<nobr>x<nobr>y",
    "<object><a href=ob>x</object></a>",
    "<applet></applet>",
    "<ruby><rb>a<rt>b<a href=ru>c</ruby>",
    "<p><button></p></button>",
    "<pre>\n<a href=pr>\nx</a></pre>",
    "<option><optgroup><option>",
    "<table><caption><a href=ca>x</caption><colgroup><col><thead><tr><th>y",
    "<table><tr><td><table><tr><td></table></td><td><a href=nt>",
    "<font><font><font><font>",
    "<b><b><b><b><b>",
    "<a name=n1>",
    "<a>",
    "</a>",
    "</p>",
    "</br>",
    "<frameset><frame src=fr></frameset>",
    '<link rel="alternate stylesheet" href=as>',
    "<link rel=alternate href=al>",
    "<meta name=robots content=none>",
    "<meta name=FREKI content=noindex>",
    '<meta http-equiv="&#114;efresh" content="1;url=ref">',
    "<input type=hidden>",
    "<table><input type=hidden><form><tr><td>",
    "<plaintext><a href=pl>",
    "<xmp><a href=xm></xmp>",
    "<a href=u1/><a href=u2 / ><br/>",
    '<a\nhref\n=\n"sp"\n>sp</a>',
    "<A HREF=UP>up</A >",
    '<a href=x"y>q</a>',
    "<a href=nul>x</a x=y>",
    "<s><table><tr><td></s><a href=st>q",
    "<svg><foreignObject><p><a href=fob>x</p></foreignObject></svg>",
    "<svg><desc>d</desc><g><a href=sg>q</g>r</svg>",
    "<hr><hr>",
    "<center><p><a href=ce>x</center>",
]

HEADS = ["", "", "<!doctype html>", "<!doctype html><body>",
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x">',
    '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">',
]  # fmt: skip
WORDS = ["x", "foo bar", " ", "\n", "&amp;", "&nbsp", "\r\n", "<", "é", "{"]
BYTES = b"<>/=\"'&- !\n\ra\x80\xc3;#\0"


class Markup:
    """Pages that nobody would write; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)

    def soup(self, most: int = 14) -> str:
        return "".join(self._piece() for _ in range(self._dice.randint(1, most)))

    def page(self) -> bytes:
        return (self._dice.choice(HEADS) + self.soup()).encode()

    def mutated(self, pages: list[bytes]) -> bytes:
        """A real page with bytes that flipped, and pieces of others in it."""
        dice = self._dice
        body = bytearray(dice.choice(pages))
        for _ in range(dice.randint(1, 6)):
            at = dice.randrange(len(body) + 1)
            match dice.randrange(4):
                case 0 if body:
                    body[at % len(body)] = dice.choice(BYTES)
                case 1:
                    del body[at : at + dice.randint(1, 40)]
                case 2:
                    body[at:at] = self.soup().encode()
                case _:
                    other = dice.choice(pages)
                    start = dice.randrange(len(other))
                    body[at:at] = other[start : start + dice.randint(1, 300)]
        return bytes(body)

    def _piece(self) -> str:
        dice = self._dice
        chance = dice.random()
        if chance < 0.35:
            return dice.choice(PIECES)
        if chance < 0.6:
            return f"<{dice.choice(TAGS)}{dice.choice(['', dice.choice(ATTRIBUTES)])}>"
        return f"</{dice.choice(TAGS)}>" if chance < 0.85 else dice.choice(WORDS)

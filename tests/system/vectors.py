"""What a hostile page tries, to make a browser reach where it must not: one page for each way.

In a page `{at}` is the secret's host and port for this way.
"""

from collections.abc import Callable, Mapping

from tests.system.scripted import Script, answer

HOSTS = {
    "IPv6": "[::1]",
    "mapped": "[::ffff:127.0.0.1]",
    "mapped_hex": "[::ffff:7f00:1]",
    "decimal": "2130706433",
    "hexadecimal": "0x7f000001",
    "octal": "0177.0.0.1",
    "short": "127.1",
    "zero": "0",
    "unspecified": "0.0.0.0",
    "unspecified6": "[::]",
    "other_loopback": "127.9.9.9",
    "localhost": "localhost",
    "subdomain": "a.localhost",
    "full_width": "\uff11\uff12\uff17\u3002\uff10\u3002\uff10\u3002\uff11",
    "name": "inside.example",
    "name_mapped": "mapped.example",
    "mixed_name": "mixed.example",
    "rebinding": "rebind.example",
}

# What a name server says of the names above: each time the next answer.
NAMES = {
    "inside.example": [["127.0.0.1"]],
    "mapped.example": [["::ffff:127.0.0.1"]],
    "mixed.example": [["127.0.0.1", "127.0.0.77"], ["127.0.0.77", "127.0.0.1"]],
    "rebind.example": [["127.0.0.77"], ["127.0.0.1"]],
}


def _rules(kind: str) -> str:
    urls = '{{"urls": ["http://{at}/"]}}'
    return f'<script type=speculationrules>{{{{"{kind}": [{urls}]}}}}</script>'


# Ways of a page without script.
MARKUP = {
    "refresh": "<meta http-equiv=refresh content='0;url=http://{at}/'>",
    "iframe": "<iframe src='http://{at}/'></iframe>",
    "srcdoc": "<iframe srcdoc=\"<img src='http://{at}/'>\"></iframe>",
    "frame": "<frameset><frame src='http://{at}/'></frameset>",
    "img": "<img src='http://{at}/'>",
    "srcset": "<img srcset='http://{at}/ 1x'>",
    "css": "<style>body{{background:url(http://{at}/)}}</style><p>x",
    "import": "<style>@import 'http://{at}/';</style>",
    "stylesheet": "<link rel=stylesheet href='http://{at}/'>",
    "font": "<style>@font-face{{font-family:f;src:url(http://{at}/)}}p{{font-family:f}}</style><p>x",
    "script": "<script src='http://{at}/'></script>",
    "module": "<script type=module src='http://{at}/'></script>",
    "video": "<video src='http://{at}/' preload=auto></video>",
    "audio": "<audio src='http://{at}/' preload=auto></audio>",
    "object": "<object data='http://{at}/' type='text/html'></object>",
    "embed": "<embed src='http://{at}/' type='text/html'>",
    "svg_image": "<svg><image href='http://{at}/' width=9 height=9 /></svg>",
    "preconnect": "<link rel=preconnect href='http://{at}/'>",
    "dns_prefetch": "<link rel=dns-prefetch href='http://{at}/'>",
    "prefetch": "<link rel=prefetch href='http://{at}/'>",
    "preload": "<link rel=preload as=image href='http://{at}/'>",
    "modulepreload": "<link rel=modulepreload href='http://{at}/'>",
    "tls": "<img src='https://{at}/'>",
    "ping": "<a id=a ping='http://{at}/' href='#x'>x</a><script>a.click()</script>",
    "image_redirect": "<img src='/to?http://{at}/'>",
    "iframe_redirect": "<iframe src='/to?http://{at}/'></iframe>",
    "svg_use": "<svg><use href='http://{at}/#x'/></svg>",
    "pdf": "<embed src='http://{at}/x.pdf' type='application/pdf'>",
    "manifest": "<link rel=manifest href='http://{at}/'>",
    "view_source": "<iframe src='view-source:http://{at}/'></iframe>",
    "speculation": _rules("prefetch"),
    "prerender": _rules("prerender"),
    "base": "<base href='http://{at}/'><img src=x.png>",
    "icon": "<link rel=icon href='http://{at}/'>",
    "backslash": "<img src='http:\\\\{at}\\@1.1.1.1/'>",
}  # fmt: skip


def _frame(source: str) -> str:
    return f"f = document.createElement('iframe'); f.src = {source}; document.body.append(f)"


def _code(text: str, kind: str = "text/javascript") -> str:
    """A blob with that text, as a URL."""
    return f"URL.createObjectURL(new Blob([`{text}`], {{{{type: '{kind}'}}}}))"


def _worker(kind: str, text: str) -> str:
    return f"new {kind}({_code(text)})"


def _calls(server: str) -> str:
    """A call between browsers that looks for its own address at a server."""
    servers = f"[{{{{urls: '{server}', username: 'u', credential: 'c'}}}}]"
    return (
        f"p = new RTCPeerConnection({{{{iceServers: {servers}}}}}); p.createDataChannel('x');"
        "p.createOffer().then(o => p.setLocalDescription(o))"
    )


CANDIDATE = """
[host, port] = '{at}'.split(':')
p = new RTCPeerConnection(); q = new RTCPeerConnection(); p.createDataChannel('x')
p.createOffer().then(async offer => {{
  await p.setLocalDescription(offer); await q.setRemoteDescription(offer)
  answer = await q.createAnswer(); await q.setLocalDescription(answer)
  await p.setRemoteDescription(answer)
  candidate = `candidate:1 1 udp 2122260223 ${{host}} ${{port}} typ host`
  p.addIceCandidate({{candidate, sdpMid: '0', sdpMLineIndex: 0}})
}})
"""

SCRIPTS = {
    "form": "f = document.createElement('form'); f.action = 'http://{at}/';"
    "document.body.append(f); f.submit()",
    "location": "location.href = 'http://{at}/'",
    "replace": "location.replace('http://{at}/')",
    "credentials": "location = 'http://1.1.1.1@{at}/'",
    "fetch": "fetch('http://{at}/')",
    "fetch_opaque": "fetch('http://{at}/', {{mode: 'no-cors'}})",
    "fetch_redirect": "fetch('/to?http://{at}/', {{mode: 'no-cors'}})",
    "fetch_keepalive": "fetch('http://{at}/', {{method: 'POST', keepalive: true}})",
    "xhr": "x = new XMLHttpRequest(); x.open('GET', 'http://{at}/'); x.send()",
    "websocket": "new WebSocket('ws://{at}/')",
    "websocket_tls": "new WebSocket('wss://{at}/')",
    "eventsource": "new EventSource('http://{at}/')",
    "beacon": "navigator.sendBeacon('http://{at}/', 'x')",
    "popup": "open('http://{at}/')",
    "popup_noopener": "open('http://{at}/', '_blank', 'noopener')",
    "download": "a = document.createElement('a'); a.href = 'http://{at}/'; a.download = 'x';"
    " a.click()",
    "worker": _worker("Worker", "importScripts('http://{at}/')"),
    "worker_fetch": _worker("Worker", "fetch('http://{at}/')"),
    "shared_worker": _worker("SharedWorker", "fetch('http://{at}/')"),
    "service_worker": "navigator.serviceWorker.register('/worker.js?http://{at}/')",
    "data_frame": _frame("'data:text/html,<img src=http://{at}/>'"),
    "blob_frame": _frame(_code("<img src='http://{at}/'>", "text/html")),
    "image_object": "new Image().src = 'http://{at}/'",
    "dynamic_import": "import('http://{at}/')",
    "stun": _calls("stun:{at}"),
    "turn_udp": _calls("turn:{at}?transport=udp"),
    "turn_tcp": _calls("turn:{at}?transport=tcp"),
    "turn_tls": _calls("turns:{at}?transport=tcp"),
    "candidate": CANDIDATE,
    "webtransport": "new WebTransport('https://{at}/')",
}

# By what the attacker's server says: status, and fields of the head.
HEADS: Mapping[str, tuple[int, dict[str, str]]] = {
    "301": (301, {"location": "http://{at}/"}),
    "302": (302, {"location": "http://{at}/"}),
    "303": (303, {"location": "http://{at}/"}),
    "307": (307, {"location": "http://{at}/"}),
    "308": (308, {"location": "http://{at}/"}),
    "refresh_field": (200, {"refresh": "0;url=http://{at}/"}),
    "link_preconnect": (200, {"link": "<http://{at}/>; rel=preconnect"}),
    "link_preload": (200, {"link": "<http://{at}/>; rel=preload; as=image"}),
    "alt_svc": (200, {"alt_svc": 'h2="{at}"; ma=60, h3="{at}"; ma=60'}),
    "csp_report": (
        200,
        {"content_security_policy": "img-src 'none'; report-uri http://{at}/"},
    ),
}

ALL = (
    *MARKUP,
    *SCRIPTS,
    *HEADS,
    *(f"image at {name}" for name in HOSTS),
    *(f"page at {name}" for name in HOSTS),
)

# What our browsers do not try, with or without a guard.
QUIET = frozenset(
    (
        "preconnect", "link_preconnect", "dns_prefetch", "speculation", "prerender", "manifest",
        "icon", "pdf", "svg_use", "view_source", "alt_svc", "service_worker", "credentials",
    )
)  # fmt: skip

# What is not tried any more with the flags of the guard, so that the proxy is not asked for it.
SILENT = frozenset(("ping", "stun", "turn_udp", "candidate", "webtransport"))

# What reads files and not addresses.
FILES = """
<iframe src='file://{file}'></iframe><object data='file://{file}'></object>
<embed src='file://{file}'><img src='file://{file}'><link rel=stylesheet href='file://{file}'>
<iframe src='view-source:file://{file}'></iframe><iframe src='chrome://version'></iframe>
<iframe src='/to?file'></iframe><iframe src='ftp://127.0.0.1/'></iframe>
<script>
show = text => document.body.append(text)
fetch('file://{file}').then(a => a.text()).then(show)
x = new XMLHttpRequest(); x.onload = () => show(x.responseText)
x.open('GET', 'file://{file}'); x.send()
open('file://{file}')
</script>
"""


def pages(ports: Mapping[str, int], file: str) -> Script:
    """The attacker's site: a page for each way, and one with all of them in frames."""
    at = {way: f"127.0.0.1:{port}" for way, port in ports.items()}
    frames = "".join(f"<iframe src='{path(way)}'></iframe>" for way in ALL)
    script: dict[str, bytes | Callable[[], bytes] | None] = {
        "/": _html(f"<!doctype html><title>all</title>{frames}"),
        "/files": _html(FILES.format(file=file)),
        "/to?file": answer(302, b"", location=f"file://{file}"),
    }
    for way, text in MARKUP.items():
        script[path(way)] = _html(text.format(at=at[way]))
    for way, text in SCRIPTS.items():
        script[path(way)] = _html(f"<body><script>{text.format(at=at[way])}</script>")
    for way, (status, fields) in HEADS.items():
        filled = {name: value.format(at=at[way]) for name, value in fields.items()}
        script[path(way)] = answer(status, b"<img src=/x>", content_type="text/html", **filled)
    for name, host in HOSTS.items():
        image, page = f"image at {name}", f"page at {name}"
        script[path(image)] = _html(f"<img src='http://{host}:{ports[image]}/'>" * 2)
        script[path(page)] = answer(302, b"", location=f"http://{host}:{ports[page]}/")
    for each in at.values():
        script[f"/to?http://{each}/"] = answer(302, b"", location=f"http://{each}/")
        worker = f"fetch('http://{each}/')".encode()
        script[f"/worker.js?http://{each}/"] = answer(200, worker, content_type="text/javascript")
    return script


def target(way: str, ports: Mapping[str, int]) -> str:
    """Where it wants to go."""
    host = HOSTS.get(way.removeprefix("image at ").removeprefix("page at "), "127.0.0.1")
    return f"http://{host}:{ports[way]}/"


def path(way: str) -> str:
    """Of the page that tries it."""
    return "/" + way.replace(" ", "-")


def _html(text: str) -> bytes:
    return answer(200, text.encode(), content_type="text/html; charset=utf-8")

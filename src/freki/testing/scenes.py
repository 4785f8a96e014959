"""A site to be looked at: pages for a browser to photograph, and pages that want to hurt it.

async with stage() as site:
    site.url("plain")
"""

import asyncio
import struct
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import repeat

from msgspec import Struct

Body = bytes | Callable[[], Iterator[bytes]]
"""What is sent: at once, or piece by piece for as long as somebody takes it."""

_SLOW = 0.05  # seconds between two pieces


class Scene(Struct, frozen=True, kw_only=True):
    """An answer."""

    body: Body = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    wait: float = 0.0  # seconds before it


def _page(title: str, body: str, head: str = "") -> Scene:
    return Scene(
        body=f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title>"
        f"<style>body{{font:16px/1.5 'DejaVu Sans',sans-serif;margin:40px;color:#222}}</style>"
        f"{head}</head><body>{body}</body></html>".encode()
    )


def _script(title: str, code: str, body: str = "<h1>Hostile</h1>") -> Scene:
    return _page(title, f"{body}<script>{code}</script>")


def png(width: int, height: int, colour: tuple[int, int, int]) -> bytes:
    """An image of one colour, cheap to make and dear to decode."""
    row = b"\0" + bytes(colour) * width
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()

    def chunk(name: bytes, content: bytes) -> bytes:
        crc = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", crc)

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


_PARAGRAPH = "<p>" + "A raven may cross the whole world in the time of a day. " * 6 + "</p>"
_CARD = (
    '<div id=card style="width:300px;height:200px;background:#246;color:#fff;padding:0">Card</div>'
)
_BANNER = (
    '<div id=onetrust-consent-sdk style="position:fixed;left:0;right:0;bottom:0;height:160px;'
    'background:#c30;color:#fff;font-size:24px;padding:20px">We value your privacy and use cookies.'
    "<button>Accept all</button></div>"
)
_UNNAMED_BANNER = (
    '<div style="position:fixed;inset:0;background:#0009"></div><aside style="position:fixed;'
    'left:25%;width:50%;top:30%;background:#fc0;padding:40px"><h2>Our cookies</h2>'
    "<p>We and 912 partners store cookies.</p><a href=#>Accept</a></aside>"
)
_LAZY = "".join(
    f'<div style="height:900px;border-top:1px solid #999"><h2>{at}</h2>'
    f'<img loading=lazy width=400 height=300 src="colour?{at}"></div>'
    for at in range(8)
)
_OBSERVED = (
    "<script>const seen=new IntersectionObserver((entries)=>{for(const entry of entries)"
    "if(entry.isIntersecting)entry.target.style.background='#3a7'});"
    "for(let i=0;i<8;i++){const box=document.createElement('div');"
    "box.style='height:900px;margin:10px;background:#eee';"
    "document.body.append(box);seen.observe(box)}</script>"
)
_HEAVY = (
    "<div id=app></div><script>const app=document.getElementById('app');let step=0;"
    "const build=()=>{for(let i=0;i<40;i++){const row=document.createElement('div');"
    "row.style=`display:inline-block;width:90px;height:60px;margin:4px;"
    "background:hsl(${step*40+i},60%,60%)`;row.textContent=step*40+i;app.append(row)}"
    "if(++step<5)setTimeout(build,80);else document.title='Built'};build();</script>"
)
_SHELL = "<div id=root></div><script src=app.js></script>"
_TALL = "".join(
    f'<div style="height:1000px;background:hsl({at * 12},50%,{85 if at % 2 else 75}%)">'
    f"<h2 style=margin:0>{at}000 px</h2></div>"
    for at in range(30)
)

PLAIN: dict[str, Scene] = {
    "plain": _page("Plain", f"<h1>Plain</h1>{_CARD}{_PARAGRAPH * 3}"),
    "heavy": _page("Building", _HEAVY),
    "lazy": _page("Lazy", _LAZY),
    "observed": _page("Observed", _OBSERVED),
    "fonts": _page(
        "Fonts",
        '<h1>Schriften</h1><p style="font-family:Web,serif;font-size:40px">Größe 字 Ω ☂</p>',
        "<style>@font-face{font-family:Web;src:url(font.woff2);font-display:block}</style>",
    ),
    "banner": _page("Banner", f"<h1>Behind a banner</h1>{_PARAGRAPH * 8}{_BANNER}"),
    "unnamed-banner": _page("Banner", f"<h1>Behind a wall</h1>{_PARAGRAPH * 8}{_UNNAMED_BANNER}"),
    "tall": _page("Tall", _TALL, "<style>body{margin:0}</style>"),
    "blank": Scene(body=b"<!doctype html><title>Blank</title>"),
    "dark": _page(
        "Dark",
        "<h1>Light or dark</h1>",
        "<style>@media(prefers-color-scheme:dark){body{background:#111;color:#eee}}</style>",
    ),
    "moved": Scene(status=302, headers=(("location", "plain"),)),
    "missing": Scene(body=b"<!doctype html><title>Missing</title><h1>Not found</h1>", status=404),
    "slow": Scene(body=b"late", wait=3600.0),
    "download": Scene(
        body=b"\0" * 1000,
        kind="application/octet-stream",
        headers=(("content-disposition", 'attachment; filename="file.bin"'),),
    ),
    "noisy": _script("Noisy", "console.error('no', 1);null.x", "<img src=gone.png>"),
    "shell": _page("", _SHELL),
    "app.js": Scene(
        body=b"document.title='App';const root=document.getElementById('root');"
        b"root.innerHTML='<h1>App</h1><p>'+'made by a script '.repeat(40)+'</p>'",
        kind="text/javascript",
    ),
    "redirects-by-script": _script("Here", "location.replace('plain')"),
    "ticking": _script("Ticks", "setInterval(()=>{document.body.append('.')},50)"),
}

HOSTILE: dict[str, Scene] = {
    "loop": _script("Loop", "for(;;);"),
    "late-loop": _script("Loop", "addEventListener('load',()=>setTimeout(()=>{for(;;);},50))"),
    "alerts": _script("Alerts", "for(;;)alert('again')"),
    "huge-image": _page("Image", "<img src=huge.png>"),
    "huge.png": Scene(body=lambda: iter([_huge()]), kind="image/png"),
    "never-ends": Scene(body=lambda: repeat(b"<p>and so on</p>\n")),
    "never-loads": _page("Loads", "<h1>Loads for ever</h1><img src=slow>"),
    "popups": _script("Popups", "for(let i=0;i<500;i++)open('plain?'+i)"),
    "million": _page(
        "Million", '<div style="height:1000000px;background:linear-gradient(red,blue)">'
    ),
    "hog": _script("Hog", "const all=[];for(;;)all.push(new Uint8Array(1<<26).fill(7))"),
    "objects": _script("Objects", "const all=[];for(;;)all.push({a:Math.random()+'x'.repeat(9)})"),
    "download": PLAIN["download"],
    "auth": Scene(
        body=b"<h1>Who are you?</h1>", status=401, headers=(("www-authenticate", "Basic realm=x"),)
    ),
    "reloads": _script("Reloads", "setTimeout(()=>location.reload(),30)"),
    "closes": _script("Closes", "setTimeout(()=>{close();location='about:blank'},30)"),
    "unload": _script("Unload", "addEventListener('beforeunload',(e)=>e.preventDefault())"),
    "console": _script("Console", "for(let i=0;i<2e5;i++)console.error('flood '+i)"),
    "nodes": _script("Nodes", "for(let i=0;i<3e5;i++)document.body.append(new Image())"),
    "print": _script("Print", "print();prompt('x');confirm('y')"),
    "empty": Scene(status=204),
}  # fmt: skip


def _huge() -> bytes:
    """Some 200 MB once decoded, for a few hundred kilobytes."""
    global _made  # noqa: PLW0603 - made once; it takes a second
    if not _made:
        _made = png(8_000, 8_400, (200, 30, 60))
    return _made


_made = b""


class Stage:
    """The site, while it is served."""

    def __init__(self, scenes: dict[str, Scene]) -> None:
        self._scenes = scenes
        self.asked: list[tuple[str, dict[str, str]]] = []  # paths and headers
        self.port = 0

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.port}/{name}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection."""
        ends = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
        with suppress(*ends, asyncio.CancelledError):  # the last is the end of the stage
            while True:
                line, *rest = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = dict(field.split(": ", 1) for field in rest if ": " in field)
                path = line.split(" ")[1]
                self.asked.append((path, {name.lower(): told for name, told in headers.items()}))
                await self._send(path.lstrip("/"), writer)
        writer.close()

    async def _send(self, path: str, writer: asyncio.StreamWriter) -> None:
        name, _, query = path.partition("?")
        if name == "colour":
            hue = int(query or 0) * 30 % 256
            scene = Scene(body=png(400, 300, (hue, 120, 255 - hue)), kind="image/png")
        else:
            scene = self._scenes.get(name, Scene(status=404))
        await asyncio.sleep(scene.wait)
        head = f"HTTP/1.1 {scene.status} x\r\ncontent-type: {scene.kind}\r\n"
        head += "".join(f"{header}: {value}\r\n" for header, value in scene.headers)
        if isinstance(scene.body, bytes):
            head += f"content-length: {len(scene.body)}\r\n\r\n"
            writer.write(head.encode() + scene.body)
            await writer.drain()
            return
        writer.write(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
        for piece in scene.body():
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(_SLOW)
        writer.write(b"0\r\n\r\n")


@asynccontextmanager
async def stage(scenes: dict[str, Scene] | None = None, port: int = 0) -> AsyncIterator[Stage]:
    """Serve scenes on a port of 127.0.0.1, a free one by default."""
    made = Stage(scenes if scenes is not None else PLAIN | HOSTILE)
    server = await asyncio.start_server(made.answer, "127.0.0.1", port)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


@asynccontextmanager
async def apart() -> AsyncIterator[Stage]:
    """The same site, served by a process of its own: for who measures what this process has."""
    command = (sys.executable, "-P", "-m", "freki.testing.scenes")
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(*command, stdout=pipe)
    assert server.stdout is not None
    there = Stage({})
    try:
        there.port = int(await server.stdout.readline())
        yield there
    finally:
        server.terminate()
        await server.wait()


async def _stay() -> None:
    async with stage() as site:
        print(site.port, flush=True)  # noqa: T201 - a program
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_stay())

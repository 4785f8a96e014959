"""A picture of numbers, as an SVG that reads on light and dark pages."""

from collections.abc import Mapping
from xml.sax.saxutils import escape

ROW, BAR = 34, 20
NAMES, WIDTH, VALUES = 220, 420, 90

STYLE = """
text { font: 14px system-ui, sans-serif; fill: #57606a; }
.title { font-weight: 600; }
.ours { fill: #2f6f4f; } .theirs { fill: #a8b3bd; }
@media (prefers-color-scheme: dark) {
  text { fill: #adbac7; } .ours { fill: #5fb58a; } .theirs { fill: #57606a; }
}
"""


def bars(title: str, values: Mapping[str, float]) -> str:
    """Horizontal bars; those whose name begins with Freki stand out."""
    most = max(values.values())
    height = ROW * (len(values) + 1) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {NAMES + WIDTH + VALUES} {height}">',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="{NAMES}" y="20">{escape(title)}</text>',
    ]
    for number, (name, value) in enumerate(values.items(), 1):
        top = ROW * number
        kind = "ours" if name.startswith("Freki") else "theirs"
        length = max(1.0, WIDTH * value / most)
        lines += [
            f'<text x="{NAMES - 10}" y="{top + 15}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{kind}" x="{NAMES}" y="{top}" width="{length:.1f}" height="{BAR}"/>',
            f'<text x="{NAMES + length + 8:.1f}" y="{top + 15}">{value:,.0f}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])

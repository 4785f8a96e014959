"""A picture of numbers, as an SVG that reads on light and dark pages."""

from collections.abc import Mapping, Sequence
from math import log10
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


HIGH, LEFT, RIGHT, TOP, BELOW = 260, 60, 260, 40, 40
LABEL = 18
STROKES = ("ours", "ours dashed", "theirs")


def curves(title: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Values over sizes; sizes by their logarithm, values from zero."""
    points = [point for line in lines.values() for point in line]
    least, most = (log10(pick(size for size, _ in points)) for pick in (min, max))
    highest = max(value for _, value in points) * 1.1

    def across(size: float) -> float:
        return LEFT + WIDTH * (log10(size) - least) / ((most - least) or 1.0)

    def up(value: float) -> float:
        return TOP + HIGH * (1 - value / highest)

    width, height = LEFT + WIDTH + RIGHT, TOP + HIGH + BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">',
        f"<style>{STYLE}{LINES}</style>",
        f'<text class="title" x="{LEFT}" y="20">{escape(title)}</text>',
        f'<path class="axis" d="M{LEFT},{TOP} V{TOP + HIGH} H{LEFT + WIDTH}"/>',
    ]
    for size in sorted({size for size, _ in points}):
        place = f'x="{across(size):.1f}" y="{TOP + HIGH + 22}"'
        parts.append(f'<text {place} text-anchor="middle">{size:,.0f}</text>')
    for line, kind in zip(lines.values(), STROKES, strict=False):
        way = " L".join(f"{across(size):.1f},{up(value):.1f}" for size, value in line)
        parts.append(f'<path class="line {kind}" d="M{way}"/>')
    free = 0.0  # below the label before
    for name, line in sorted(lines.items(), key=lambda each: -each[1][-1][1]):
        value = line[-1][1]
        place = max(up(value) + 5, free)
        free = place + LABEL
        label = escape(f"{name} {value:.1f}")
        parts.append(f'<text x="{LEFT + WIDTH + 8}" y="{place:.1f}">{label}</text>')
    return "\n".join([*parts, "</svg>", ""])


LINES = """
.line { fill: none; stroke-width: 2; stroke: #2f6f4f; } .axis { fill: none; stroke: #a8b3bd; }
.line.theirs { stroke: #a8b3bd; } .dashed { stroke-dasharray: 6 4; }
@media (prefers-color-scheme: dark) {
  .line { stroke: #5fb58a; } .line.theirs { stroke: #57606a; }
}
"""

"""`freki explain`: the story of one URL."""

import sys
from collections.abc import Iterator
from contextlib import closing

import msgspec

from freki.cli.options import Parser, add_store
from freki.cli.output import counted, harmless
from freki.ledger.store import legible, read_store
from freki.ledger.story import Story, alike, stories
from freki.messages import MEANINGS
from freki.url import parse


def run(command: str, words: list[str]) -> int:
    """Exits with 0 if the URL is known, and with 1 if it is not."""
    arguments = parser(command).parse_args(words)
    # What is behind the # tells requests to one address apart; links have nothing there.
    address, _, mark = arguments.url.partition("#")
    url = parse(address)
    with closing(read_store(arguments.store)) as db, legible(str(arguments.store)):
        known = list(stories(db, f"{url}#{mark}")) if mark else []
        known = known or list(stories(db, url))
        near = [] if known else alike(db, url)
    if arguments.json:
        for story in known:
            print(msgspec.json.encode(story).decode())
    elif known:
        print("\n".join(_told(known[-1])))
    if known:
        return 0
    print(f"{url} was never discovered: no page that was fetched links to it.", file=sys.stderr)
    for other in near:
        print(f"  but this one was: {other}", file=sys.stderr)
    return 1


def parser(command: str) -> Parser:
    """The options of `freki explain`."""
    made = Parser(
        command,
        "Tells the story of one URL: where it was found, what was decided, tried and answered.",
        "  freki explain https://example.com/missing.html\n"
        "  freki explain URL --json | jq .attempts",
    )
    made.add_argument("url", metavar="URL", help="known or not")
    add_store(made)
    made.add_argument("--json", action="store_true", help="one JSON object for each run of a crawl")
    return made


def _told(story: Story) -> Iterator[str]:
    yield story.url
    yield f"  crawl {harmless(story.crawl)}, run {story.run}"
    where = f" on {story.found_on}" if story.found_on else ""
    way = story.via.replace("_", " ")
    yield f"  found     {story.found_at} as a {way}{where}, depth {story.depth}"
    for number, attempt in enumerate(story.attempts, 1):
        answer = harmless(attempt.answer)
        yield f"  attempt {number} {attempt.at} {answer}, {_phases(attempt.timings)}"
    if unanswered := _unanswered(story):
        times = counted(unanswered, "time")
        yield f"  {times} it was handed to a worker that ended before there was an answer"
    yield f"  {_became(story)}"
    if story.title:
        yield f"  title     {harmless(story.title)}"
    if story.linked_from:
        yield "  linked from"
        for mother in story.linked_from:
            text = f"  {harmless(mother.text)!r}" if mother.text else ""
            yield f"    {mother.url}{text}"
    if story.more_links:
        yield f"    and more; these are the first {len(story.linked_from)}"


def _why(story: Story) -> str:
    """What a reason means, where there is a page to miss."""
    if story.outcome == "done" or story.reason is None:
        return ""
    meaning = MEANINGS[story.reason]
    return f": {meaning.words}{'; ' if meaning.remedy else ''}{meaning.remedy}"


def _phases(timings: object) -> str:
    phases = msgspec.to_builtins(timings)
    names = ("dns", "connect", "tls", "first byte", "total")
    shown = [
        f"{name} {seconds * 1000:.0f} ms"
        for name, seconds in zip(names, phases, strict=True)
        if seconds
    ]
    return ", ".join(shown) or "no time"


def _unanswered(story: Story) -> int:
    """Tries that left nothing, because a worker was killed. Who is refused is not asked."""
    asked = story.outcome in ("done", "failed") or story.state == "waiting"
    return max(0, story.tries - len(story.attempts)) if asked else 0


def _became(story: Story) -> str:
    detail = f" ({harmless(story.detail)})" if story.detail else ""
    if story.outcome is not None:
        return f"outcome   {story.outcome}, {story.reason}{detail}{_why(story)}"
    if story.state == "leased":
        return "state     leased: a worker is at it, or was when it died"
    dates = [f"not before {date}" for date in (story.due, story.host_rests_until) if date]
    return f"state     waiting{', ' + ', '.join(dates) if dates else ''}"

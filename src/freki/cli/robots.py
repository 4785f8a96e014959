"""`freki robots`: which rule of a robots.txt decides about a URL."""

import argparse
import asyncio
import sys
from pathlib import Path

from freki.admit.robots import Access, access, parse
from freki.cli.options import Parser
from freki.cli.output import harmless
from freki.config import DEFAULT_AGENT, Fetching
from freki.engine.rulebook import Rulebook
from freki.errors import BadInput
from freki.fetch.http import Http
from freki.messages import Claim, Failure, HostRules
from freki.url import parse as parse_url
from freki.url import split

EXAMPLES = """\
  freki robots https://example.com /private/ /public.html
  freki robots --agent Googlebot ./robots.txt https://example.com/a?b=c"""

# Characters of a URL. Freki crawls none so long, but what a rule says of one can be asked.
MAX_TYPED = 100_000


def run(command: str, words: list[str]) -> int:
    """Exits with 0 if every URL may be fetched, and with 1 if one may not."""
    arguments = parser(command).parse_intermixed_args(words)
    rules = _rules(arguments.source)
    print(f"robots.txt: {_meaning(rules)}")
    group = parse(rules.body).for_agent(_product(arguments.agent))
    if access(rules.status) is Access.use_body:
        if group.crawl_delay is not None:
            print(f"crawl-delay: {group.crawl_delay:g} s")
        for sitemap in parse(rules.body).sitemaps:
            print(f"sitemap: {harmless(sitemap)}")
    allowed = [_verdict(arguments, rules, url) for url in arguments.url]
    return 0 if all(allowed) else 1


def parser(command: str) -> Parser:
    """The options of `freki robots`."""
    made = Parser(command, "Tells which rule of a robots.txt decides about URLs.", EXAMPLES)
    made.add_argument("source", metavar="URL|FILE", help="a site, or a file with its robots.txt")
    made.add_argument("url", nargs="*", metavar="URL", help="what to decide about; a path will do")
    agent = DEFAULT_AGENT.partition("/")[0]
    made.add_argument("--agent", default=agent, metavar="NAME", help=f"who asks (default: {agent})")
    return made


def _rules(source: str) -> HostRules:
    if "://" in source:
        url = parse_url(source)
        answer = asyncio.run(_ask(url))
        if isinstance(answer, Failure):
            raise BadInput(f"{split(url).origin}/robots.txt: {answer.reason.name}: {answer.detail}")
        return answer
    try:
        return HostRules(0, source, 0.0, 200, Path(source).read_bytes())
    except OSError as error:
        raise BadInput(f"cannot read {source}: {error.strerror}") from None


async def _ask(url: str) -> HostRules | Failure:
    http = Http(Fetching(), DEFAULT_AGENT, per_host=1)
    try:
        return await Rulebook(http.fetch, DEFAULT_AGENT, lambda: 0.0).ask(Claim(0, 0, url, 0))
    finally:
        http.close()


def _product(agent: str) -> str:
    """`Googlebot` of `Googlebot/2.1 (…)`: rules are for products, not for versions."""
    return agent.partition("/")[0].strip()


def _meaning(rules: HostRules) -> str:
    match access(rules.status):
        case Access.use_body:
            return f"{len(rules.body):,} bytes"
        case Access.allow_all:
            return f"status {rules.status}, so everything may be fetched"
        case _:
            return f"{_answered(rules)}, so nothing may be fetched until it can be read"


def _verdict(arguments: argparse.Namespace, rules: HostRules, text: str) -> bool:
    """Whether a URL may be fetched, told for each way to spell it.

    RFC 9309 2.2.2 compares escaped URLs, which is how they are asked for; whoever compares what
    is typed, as Google's parser does, may come to another verdict.
    """
    spellings = _spellings(text)
    decisions = [_decision(arguments, rules, path) for path in spellings]
    if len({allowed for allowed, _ in decisions}) == 1:
        spellings, decisions = spellings[:1], decisions[:1]
    for path, (allowed, why) in zip(spellings, decisions, strict=True):
        word = "allowed" if allowed else "refused"
        sys.stdout.write(f"{word}  {harmless(path)}  ({harmless(why)})\n")
    return all(allowed for allowed, _ in decisions)


def _spellings(text: str) -> list[str]:
    """A path as it is asked for, and as it was typed."""
    if "://" not in text:
        return [f"/{text.lstrip('/')}"]
    path = split(parse_url(text, MAX_TYPED)).path
    if text.isascii():
        return [path]
    _, slash, typed = text.partition("://")[2].partition("#")[0].partition("/")
    return [path, f"{slash}{typed}"] if slash else [path]


def _decision(arguments: argparse.Namespace, rules: HostRules, path: str) -> tuple[bool, str]:
    match access(rules.status):
        case Access.use_body:
            decision = parse(rules.body).for_agent(_product(arguments.agent)).decide(path)
            why = f"line {decision.line}: {decision.rule}" if decision.rule else "no rule"
            return decision.allowed, why
        case meaning:
            return meaning is Access.allow_all, _answered(rules)


def _answered(rules: HostRules) -> str:
    return f"status {rules.status}" if rules.status else "no whole answer"

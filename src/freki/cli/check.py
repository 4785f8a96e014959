"""`freki check`: is a store sound, and what can be mended?"""

import sys
from contextlib import closing
from pathlib import Path

from freki.cli.exits import Exit
from freki.cli.options import DEFAULT_STORE, Parser
from freki.errors import StoreDamaged
from freki.ledger.blobs import sweep
from freki.ledger.check import Finding, findings, repair, structure
from freki.ledger.place import Address, Place, place
from freki.ledger.salvage import salvage
from freki.ledger.store import open_existing, read_store, translated

EXAMPLES = """\
  freki check                     look at freki.db
  freki check old.db --repair     and mend what can be mended"""

SHOWN = 20


def run(command: str, words: list[str]) -> int:
    """Exits with 0 for a sound store, also after repair, and with 3 for a damaged one."""
    arguments = parser(command).parse_args(words)
    store: Place = arguments.store
    try:
        return _repair(store) if arguments.repair else _look(store)
    except StoreDamaged as error:
        if not arguments.repair or isinstance(store, Address):
            raise
        print(f"{error}\nReading what can still be read …", file=sys.stderr)
        return _salvage(store)


def parser(command: str) -> Parser:
    """The options of `freki check`."""
    made = Parser(
        command, "Looks whether a store keeps its promises: structure, sums, digests.", EXAMPLES
    )
    made.add_argument(
        "store", nargs="?", type=place, default=DEFAULT_STORE, metavar="STORE",
        help=f"a file, or postgresql://USER@HOST/DATABASE (default: {DEFAULT_STORE})",
    )  # fmt: skip
    made.add_argument("--repair", action="store_true", help="mend what can be mended")
    return made


def _look(store: Place) -> int:
    with closing(read_store(store)) as db, translated(str(store)):
        broken = structure(db)
        found = [] if broken else list(findings(db))
    for line in broken[:SHOWN]:
        print(f"structure: {line}")
    _tell(found, "would be")
    if broken or found:
        print(f"{store} is damaged; freki check {store} --repair mends it.")
        return Exit.store_unreachable
    print(f"{store} is sound.")
    return Exit.finished


def _repair(store: Place) -> int:
    with closing(open_existing(store)) as db, translated(str(store)):
        told, is_sound = repair(db, str(store))
        swept = sweep(db) if is_sound else 0
    _tell(told, "")
    if swept:
        print(f"{swept:,} bodies and pictures that no page has any more were removed.")
    if not is_sound:
        print(f"{store} is still damaged.")
        return Exit.store_unreachable
    print(f"{store} is sound{' now; the crawl fetches what is missing' if told else ''}.")
    return Exit.finished


def _salvage(store: Path) -> int:
    rescued = store.with_name(f"{store.name}.rescued")
    kept, lost = salvage(store, rescued)
    if not kept:
        rescued.unlink()
        print(f"Nothing could be read. {store} was left as it is; move it away and crawl again.")
        return Exit.store_unreachable
    with closing(open_existing(rescued)) as db, translated(str(rescued)):
        repair(db, str(rescued))
    print(f"{kept:,} rows could be read and are in {rescued}; about {lost:,} could not.")
    print(f"{store} was left as it is. What is missing is crawled again with --store {rescued}")
    return Exit.store_unreachable


def _tell(found: list[Finding], tense: str) -> None:
    for finding in found[:SHOWN]:
        print(f"{finding.what}: {tense} {finding.mended}".replace("  ", " "))
    if len(found) > SHOWN:
        print(f"and {len(found) - SHOWN:,} more")

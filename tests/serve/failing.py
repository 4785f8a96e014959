"""A crawl some of whose URLs failed, in the store of a service."""

from contextlib import closing
from pathlib import Path

import httpx

from freki import config
from freki.ledger import crawls
from freki.ledger.opened import ledger_of
from freki.ledger.store import open_store
from freki.ledger.terms import Terms as LedgerTerms
from freki.messages import Batch, Discovery, Outcome, Reason, State, Via
from freki.serve.terms import Terms

SITE = "https://a.example"


def begin(client: httpx.Client, **headers: str) -> str:
    """Begin a crawl; answers with its id."""
    answer = client.post("/crawls", json={"urls": [f"{SITE}/"]}, headers=headers)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def store_failures(data: Path, id_: str, failures: dict[str, tuple[Reason, str]]) -> None:
    """What became of URLs: their reasons and messages."""
    path = Terms(data=data).place.store_of(id_)
    with closing(open_store(path)) as db:
        crawl = crawls.begin(db, id_, [f"{SITE}/"], config.settings(), 0.0)
        ledger = ledger_of(db, str(path), crawl.id, LedgerTerms())
        session = ledger.join(0.0)
        seeds = [Discovery(url, 0, 0, Via.seed) for url in failures]
        ledger.commit(session, Batch(1.0, discoveries=seeds))
        for work in ledger.claim(session, 1.0, len(failures), []).hosts:
            for claim in work.claims:
                outcome = Outcome(claim, State.failed, *failures[claim.url], at=2.0)
                ledger.commit(session, Batch(2.0, [outcome]))
        ledger.leave(session, 2.0)

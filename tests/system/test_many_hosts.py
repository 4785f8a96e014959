"""More hosts than a process may have open files, each with a connection that is worth keeping."""

from pathlib import Path

from tests.background import background
from tests.command import ended, freki, start

from freki.testing.server import serve
from freki.testing.synthetic import Web

FEW_FILES = ("sh", "-c", 'ulimit -n 128; exec "$@"', "sh")
HOSTS, PAGES = 200, 2


def test_few_open_files_are_no_reason_to_lose_a_page(tmp_path: Path) -> None:
    store, seeds = tmp_path / "freki.db", tmp_path / "seeds.txt"
    with background(serve(Web(hosts=HOSTS, pages=PAGES, largest=1000))) as site:
        seeds.write_text("\n".join(site.urls), "utf-8")
        options = ("--delay", "0.3", "--sitemap", "no", "--attempts", "1", "--quiet")
        crawl = ("crawl", "--seeds", seeds, "--store", store, *options)
        run = ended(start(*crawl, before=FEW_FILES))
    assert run.code == 0, run.err
    assert freki("status", "--store", store, "--json").json["pages"] == HOSTS * PAGES


def test_a_host_is_asked_again_by_the_connection_that_it_knows(tmp_path: Path) -> None:
    store, seeds = tmp_path / "freki.db", tmp_path / "seeds.txt"
    connections = 64
    with background(serve(Web(hosts=3 * connections, pages=4, largest=1000))) as site:
        seeds.write_text("\n".join(site.urls), "utf-8")
        options = ("--delay", "0.3", "--sitemap", "no", "--connections", connections, "--quiet")
        run = freki("crawl", "--seeds", seeds, "--store", store, *map(str, options))
        assert run.code == 0, run.err
        assert site.statistics().most_connections == 3 * connections

"""A look at URLs before they are accepted. The wall itself stands where connections are made."""

from collections.abc import Sequence

from freki.fetch.egress import Egress
from freki.serve.problems import Problem
from freki.serve.terms import Terms
from freki.url import hostname, is_address

# Names that mean this machine, whoever is asked.
LOCAL = ("localhost", ".localhost", "ip6-localhost", "ip6-loopback")


def refuse_private(urls: Sequence[str], terms: Terms) -> None:
    """Tell at once where it is plain that a URL will not be reached.

    A name that leads to a private address is refused as well, when it is connected to.
    """
    egress = Egress(terms.allow_private)
    for url in urls:
        host = hostname(url)
        local = not terms.allow_private and host.rstrip(".").lower().endswith(LOCAL)
        address = host.strip("[]")
        if local or (is_address(host) and egress.refusal(address) is not None):
            raise Problem("blocked_address", "only public addresses are reached from here")

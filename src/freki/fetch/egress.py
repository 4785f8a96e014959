"""May this address be reached? One rule for everything that connects; pure.

It is asked about addresses, never about names: a name is whatever its owner says it is, at the
moment it is looked at. And it is a list of what is public, as far as IANA has given it out for
that: what nobody thought of is refused.

https://www.iana.org/assignments/iana-ipv4-special-registry
https://www.iana.org/assignments/iana-ipv6-special-registry
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from freki.config import network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class Refusal(StrEnum):
    """Why an address is not reached, in words that do not name it.

    They are for whoever asked, who may be far from any command line; `MEANINGS` has the options.
    """

    private = "the address is not public, and others are not reached from here"
    metadata = "clouds hand out secrets at such addresses"
    unusable = "nothing answers HTTP at such an address"
    port = "browsers refuse this port as well, since it is not for HTTP"


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ip_network(network) for network in text.split())


# Where machines in clouds ask who they are and get their passwords. Link-local addresses as a
# whole: most clouds have theirs there (169.254.169.254, 169.254.170.2, fe80::a9fe:a9fe).
_METADATA = _networks(
    "169.254.0.0/16 fe80::/10"
    " 100.100.100.200 168.63.129.16 192.0.0.192"  # Alibaba, Azure, Oracle
    " fd00:ec2::/32 fd20:ce::/32 fd00:42::/32 fd00:a9fe:a9fe::/48"  # AWS, Google, Scaleway, Akamai
)

# Multicast and broadcast; no TCP.
_UNUSABLE = _networks("224.0.0.0/4 255.255.255.255 ff00::/8")

# Neither these nor what lies outside of 2000::/3 is global unicast. A few single addresses in them
# are; nobody has a web site there.
_GLOBAL_6 = IPv6Network("2000::/3")
_SPECIAL = _networks(
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24"
    " 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4"
    " 2001::/23 2001:db8::/32 3ffe::/16 3fff::/20"
)

# Addresses that are as good as the IPv4 address in them.
_NAT64 = IPv6Network("64:ff9b::/96")
_TEREDO = IPv6Network("2001::/32")
_6TO4 = IPv6Network("2002::/16")
_PASSED_ON = (_NAT64, _TEREDO, _6TO4)

# RFC 8215: which bits hold the IPv4 address is for the operator to say.
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")

# ::a.b.c.d (RFC 4291 2.5.5.1; :: and ::1 are others) and ::ffff:0:a.b.c.d (RFC 2765).
_COMPATIBLE = IPv6Network("::/96")
_NOT_COMPATIBLE = IPv6Network("::/104")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")

# https://fetch.spec.whatwg.org/#port-blocking: another protocol may take a request for its own.
UNSAFE_PORTS = frozenset(
    (
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95,
        101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179,
        389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601,
        636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566,
        6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    )
)  # fmt: skip


class Egress:
    """What may be reached: public addresses, private ones by option, and what is named."""

    def __init__(self, allow_private: bool, named: Iterable[str] = ()) -> None:
        self._allow_private = allow_private
        self._named = tuple(map(network, named))

    def __repr__(self) -> str:
        named = [str(network) for network in self._named]
        return f"<Egress allow_private={self._allow_private} named={named}>"

    def refusal(self, address: str, port: int = 80) -> Refusal | None:
        """Why this address must not be connected to; None where it may."""
        try:
            parsed = ip_address(address)
        except ValueError:
            return Refusal.unusable
        address_itself, *inside = _reached(parsed)
        is_named = _in(address_itself, self._named)
        unnamed = [each for each in (address_itself, *inside) if not _in(each, self._named)]
        if any(_in(each, _METADATA) for each in unnamed):
            return Refusal.metadata
        if is_named:  # with what it leads to, but for metadata
            return None
        if any(_in(each, _UNUSABLE) for each in unnamed):
            return Refusal.unusable
        if not self._allow_private and not all(map(_is_public, unnamed)):
            return Refusal.private
        return Refusal.port if port in UNSAFE_PORTS else None


def _is_public(address: Address) -> bool:
    if _in(address, _PASSED_ON):
        return True
    if isinstance(address, IPv6Address) and address not in _GLOBAL_6:
        return False
    return not _in(address, _SPECIAL)


def _reached(address: Address) -> Iterator[Address]:
    """The address, and the IPv4 addresses at which what is sent to it may arrive."""
    if isinstance(address, IPv4Address):
        yield address
        return
    if (mapped := address.ipv4_mapped) is not None:
        yield mapped  # the system itself speaks IPv4 then
        return
    yield address
    bits = int(address)
    if address in _TEREDO:
        yield _lowest(bits >> 64)  # the server
        yield _lowest(~bits)  # RFC 4380 4: the client, each bit turned over
    elif address in _6TO4:
        yield _lowest(bits >> 80)
    elif address in _LOCAL_NAT64:
        # RFC 6052 2.2: behind a prefix of 48, 56 or 64 bits, around an octet of zeros; or of 96.
        without_octet = bits >> 64 << 56 | bits & (1 << 56) - 1
        yield from (_lowest(without_octet >> shift) for shift in (40, 32, 24))
        yield _lowest(bits)
    elif address in _NAT64 or _is_compatible(address) or _is_isatap(bits):
        yield _lowest(bits)


def _lowest(bits: int) -> IPv4Address:
    return IPv4Address(bits & 0xFFFFFFFF)


def _is_compatible(address: IPv6Address) -> bool:
    compatible = address in _COMPATIBLE and address not in _NOT_COMPATIBLE
    return compatible or address in _TRANSLATED


def _is_isatap(bits: int) -> bool:
    """RFC 5214 6.1: the last 64 bits are 0000:5efe or 0200:5efe, and an IPv4 address."""
    return (bits >> 32) & 0xFDFFFFFF == 0x00005EFE


def _in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)

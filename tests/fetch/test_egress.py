from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freki.errors import BadConfig
from freki.fetch.egress import UNSAFE_PORTS, Egress, Refusal

STRANGERS = Egress(allow_private=False)
OURS = Egress(allow_private=True)


def words(text: str) -> list[str]:
    return text.split()


PUBLIC = words("""
    8.8.8.8 1.1.1.1 172.15.255.255 172.32.0.1 100.63.255.255 100.128.0.1 2606:4700:4700::1111
    ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1 2001:0:808:808::f7f7:f7f7
""")

PRIVATE = words("""
    0.0.0.0 0.1.2.3 10.0.0.5 127.0.0.1 127.127.127.127 172.16.0.1 172.31.255.255 192.168.1.1
    100.64.0.1 100.127.255.255 192.0.0.8 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255
    198.51.100.1 203.0.113.1 240.0.0.1
    :: ::1 fc00::1 fd12:3456::1 fec0::1 100::1 2001:db8::1 3fff::1 3ffe::1 5f00::1 4000::1
    2001:2::1
""")

METADATA = words("""
    169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192
    fe80::a9fe:a9fe fd00:ec2::254 fd20:ce::254 fd00:42::42
""")

UNUSABLE = ["224.0.0.1", "239.255.255.250", "255.255.255.255", "ff02::1", "localhost", "127.1", ""]

# https://www.iana.org/assignments/iana-ipv4-special-registry and its twin: what is not globally
# reachable, and what is neither.
REGISTRY = words("""
    0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12
    192.0.0.0/24 192.0.0.0/29 192.0.0.8/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24
    192.88.99.0/24 192.88.99.2/32 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
    240.0.0.0/4 255.255.255.255/32
    ::1/128 ::/128 ::ffff:0:0/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001:2::/48
    2001:10::/28 2001:db8::/32 3fff::/20 5f00::/16 fc00::/7 fe80::/10
""")

# Single addresses of protocols, and what was given back; the registry calls some of them global.
NO_SITES = tuple(map(ip_network, ["192.0.0.0/24", "192.88.99.0/24", "2001::/23"]))


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_reached(address: str) -> None:
    assert STRANGERS.refusal(address) is None


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_reached_where_that_is_allowed(address: str) -> None:
    assert STRANGERS.refusal(address) is Refusal.private
    assert OURS.refusal(address) is None


@pytest.mark.parametrize("address", METADATA)
def test_metadata_addresses_are_refused_unless_they_are_named(address: str) -> None:
    assert STRANGERS.refusal(address) is Refusal.metadata
    assert OURS.refusal(address) is Refusal.metadata
    assert Egress(False, [address]).refusal(address) is None


@pytest.mark.parametrize("address", UNUSABLE)
def test_what_is_no_unicast_address_is_refused(address: str) -> None:
    assert STRANGERS.refusal(address) is OURS.refusal(address) is Refusal.unusable


def wrapped(inner: str) -> list[str]:
    """Everything that leads to an IPv4 address as well."""
    number = int(IPv4Address(inner))
    high, low = number >> 16, number & 0xFFFF
    over = ~number & 0xFFFFFFFF
    octets = IPv4Address(inner).packed
    numbers = [
        int(IPv6Address(f"64:ff9b:1:{high:x}::")) | low << 40,
        int(IPv6Address("64:ff9b:1:ab00::")) | octets[0] << 64 | (number & 0xFFFFFF) << 32,
        int(IPv6Address("64:ff9b:1:abcd::")) | number << 24,
    ]
    return [
        f"::ffff:{inner}", f"64:ff9b::{inner}", f"64:ff9b:1::{inner}", f"2002:{high:x}:{low:x}::1",
        f"2001:0:{high:x}:{low:x}::f7f7:f7f7", f"2001:0:808:808::{over >> 16:x}:{over & 0xFFFF:x}",
        f"::{inner}", f"::ffff:0:{inner}", f"2606:4700::5efe:{inner}",
        f"2606:4700::200:5efe:{inner}",
        *(str(IPv6Address(number)) for number in numbers),
    ]  # fmt: skip


@pytest.mark.parametrize("address", wrapped("169.254.169.254"))
def test_a_metadata_address_is_found_in_every_wrapping(address: str) -> None:
    assert OURS.refusal(address) is Refusal.metadata


@pytest.mark.parametrize("address", wrapped("10.0.0.1") + wrapped("127.0.0.1"))
def test_a_private_address_is_found_in_every_wrapping(address: str) -> None:
    assert STRANGERS.refusal(address) is Refusal.private


@pytest.mark.parametrize(
    ("named", "address"),
    [
        ("10.1.0.0/16", "10.1.2.3"),
        ("10.1.0.0/16", "::ffff:10.1.2.3"),
        ("10.1.0.0/16", "64:ff9b::10.1.2.3"),
        ("::1", "::1"),
    ],
)
def test_what_is_named_is_reached(named: str, address: str) -> None:
    assert Egress(False, [named]).refusal(address) is None


def test_a_name_covers_nothing_else() -> None:
    named = Egress(False, ["10.1.0.0/16", "64:ff9b:1::/48"])
    assert named.refusal("10.2.0.1") is Refusal.private
    assert named.refusal("64:ff9b:1::169.254.169.254") is Refusal.metadata
    assert named.refusal("::1") is Refusal.private


@pytest.mark.parametrize("text", ["10.0.0.1/8", "intranet", "300.1.1.1", ""])
def test_what_is_no_address_cannot_be_named(text: str) -> None:
    with pytest.raises(BadConfig, match="--allow-address"):
        Egress(False, [text])


def test_ports_that_browsers_refuse_are_refused_unless_the_address_is_named() -> None:
    assert all(OURS.refusal("127.0.0.1", port) is Refusal.port for port in UNSAFE_PORTS)
    assert all(OURS.refusal("127.0.0.1", port) is None for port in (80, 443, 3000, 8000, 8080))
    assert Egress(False, ["127.0.0.1"]).refusal("127.0.0.1", 25) is None


@pytest.mark.parametrize("network", REGISTRY)
def test_no_entry_of_the_registry_is_reached_and_what_lies_around_it_is(network: str) -> None:
    entry = ip_network(network)
    first, last = entry[0], entry[-1]
    assert STRANGERS.refusal(str(first)) is not None
    assert STRANGERS.refusal(str(last)) is not None
    if first.version == 4 and network not in ("0.0.0.0/8", "0.0.0.0/32"):
        assert (STRANGERS.refusal(str(first - 1)) is None) == _is_site(first - 1)
    if first.version == 4 and last != IPv4Address("255.255.255.255"):
        assert (STRANGERS.refusal(str(last + 1)) is None) == _is_site(last + 1)


@given(st.ip_addresses(v=6))
def test_nothing_is_reached_that_python_does_not_take_for_public(address: IPv6Address) -> None:
    if STRANGERS.refusal(str(address)) is None:
        inner = address.ipv4_mapped or (address.teredo or [None])[0]
        assert _is_site(inner or address)


@given(st.ip_addresses(v=4))
def test_python_and_we_agree_on_ipv4(address: IPv4Address) -> None:
    assert (STRANGERS.refusal(str(address)) is None) == _is_site(address)


def _is_site(address: IPv4Address | IPv6Address) -> bool:
    """What Python's own table says, without what it does not ask."""
    no_site = address.is_multicast or any(address in network for network in NO_SITES)
    return address.is_global and not no_site and str(address) != "168.63.129.16"


@pytest.mark.parametrize("refusal", Refusal)
def test_a_refusal_is_told_to_who_has_no_command_line_as_well(refusal: Refusal) -> None:
    assert "--" not in refusal

"""Requests of handlers to the outside: only to allowed hosts, never to an address inside, read up to a limit.

The name is resolved here, once, and the connection goes to the address that was checked: what a name server answers the
next time does not matter. Each redirect is checked anew.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias
from urllib.parse import urljoin, urlsplit

from picloud.errors import HttpError
from picloud.sdk.http import HttpResponse

if TYPE_CHECKING:
    import httpx

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

MAX_REDIRECTS: Final = 5
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")
_PRIVATE_HEADERS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request, checked as far as it can be without looking at the world. `deadline` is time.monotonic()'s."""

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    deadline: float
    follow_redirects: bool = True


@dataclass(frozen=True, slots=True)
class HttpRules:
    """What requests may do."""

    hosts: frozenset[str]
    """`name`, `name:port` or `*.name`; without a port only the usual ones."""
    allow_private: bool
    max_bytes: int


@dataclass(frozen=True, slots=True)
class _Target:
    scheme: str
    host: str
    port: int


class HttpSender(Protocol):
    """Sends requests of handlers, blocking; any thread may use it."""

    def send(self, request: HttpRequest, rules: HttpRules) -> HttpResponse:
        """Send a request and follow its redirects. Raises: HttpError."""


class HttpClient:
    """Sends requests, blocking; any thread may use it. No connection is kept: the next may go to another address."""

    def __init__(self) -> None:
        self._tls: ssl.SSLContext | None = None

    def send(self, request: HttpRequest, rules: HttpRules) -> HttpResponse:
        """Send a request and follow its redirects. Raises: HttpError."""
        for _ in range(MAX_REDIRECTS + 1):
            target = check_url(request.url, rules.hosts)
            response = self._exchange(request, target, resolve(target, allow_private=rules.allow_private), rules)
            location = response.headers.get("location")
            if not (request.follow_redirects and location and response.status in (301, 302, 303, 307, 308)):
                return response
            request = redirect(request, response.status, location)
        raise HttpError(f"http: more than {MAX_REDIRECTS} redirects")

    def _exchange(self, request: HttpRequest, target: _Target, address: IpAddress, rules: HttpRules) -> HttpResponse:
        import httpx

        left = request.deadline - time.monotonic()
        if left <= 0:
            raise HttpError(f"http: no answer from {target.host} in time")
        at = f"[{address}]" if address.version == 6 else str(address)
        url = httpx.URL(request.url).copy_with(host=at, port=target.port)
        shown = target.host if target.port == DEFAULT_PORTS[target.scheme] else f"{target.host}:{target.port}"
        headers = {"accept-encoding": "identity", "user-agent": "picloud", **request.headers, "host": shown}
        try:
            with (
                httpx.Client(verify=self._context(), trust_env=False, timeout=left) as client,
                client.stream(
                    request.method,
                    url,
                    headers=headers,
                    content=request.content,
                    extensions={"sni_hostname": target.host},
                ) as response,
            ):
                return HttpResponse(
                    response.status_code,
                    {name.lower(): value for name, value in response.headers.items()},
                    _read(response, request.deadline, rules.max_bytes),
                    request.url,
                    response.charset_encoding or "utf-8",
                )
        except httpx.HTTPError as error:
            raise HttpError(f"http: no answer from {shown}: {error or type(error).__name__}") from None
        except (httpx.InvalidURL, UnicodeError, ValueError) as error:
            raise HttpError(f"http: the request cannot be sent: {error}") from None

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


def check_url(url: str, hosts: frozenset[str]) -> _Target:
    """Return where a URL leads. Raises: HttpError when that is not allowed."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip(".").lower(), parts.port
    except ValueError:
        raise HttpError("http: the url cannot be read") from None
    if parts.scheme not in DEFAULT_PORTS or not host:
        raise HttpError("http: the url must begin with https:// or http:// and a host")
    if parts.username is not None or parts.password is not None:
        raise HttpError("http: put credentials into a header, not into the url")
    target = _Target(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme])
    if not any(is_allowed(entry, target.host, target.port) for entry in hosts):
        known = ", ".join(sorted(hosts)) or "none"
        raise HttpError(f"http: {host}:{target.port} is not on the app's list http_hosts (there: {known})")
    return target


def is_allowed(entry: str, host: str, port: int) -> bool:
    """Return whether an entry of the list covers a host and port."""
    name, _, wanted = entry.lower().rpartition(":") if entry.rpartition(":")[2].isdigit() else (entry.lower(), "", "")
    if str(port) != wanted if wanted else port not in DEFAULT_PORTS.values():
        return False
    return host.endswith(name[1:]) and host != name[2:] if name.startswith("*.") else host == name


def resolve(target: _Target, *, allow_private: bool) -> IpAddress:
    """Return the address to connect to. Raises: HttpError when there is none, or one of them is not public."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise HttpError(f"http: the name {target.host} is not known") from None
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    inside = [address for address in addresses if not is_public(address)]
    if inside and not allow_private:
        raise HttpError(f"http: {target.host} leads to {inside[0]}, which is not a public address")
    return addresses[0]


def is_public(address: IpAddress) -> bool:
    """Return whether an address is on the internet, also where an IPv6 address carries one of IPv4."""
    if isinstance(address, ipaddress.IPv6Address):
        carried = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if carried is None and address in _NAT64:
            carried = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if carried is not None:
            return is_public(carried)
    return address.is_global and not address.is_multicast and not address.is_reserved and not address.is_unspecified


def redirect(request: HttpRequest, status: int, location: str) -> HttpRequest:
    """Return the request that a redirect asks for; credentials stay with the host they were meant for."""
    url = urljoin(request.url, location)
    headers = dict(request.headers)
    method, content = request.method, request.content
    if status == 303 or (status in (301, 302) and method == "POST"):
        method, content = ("HEAD" if method == "HEAD" else "GET"), None
        headers = {name: value for name, value in headers.items() if name != "content-type"}
    if urlsplit(url)[:2] != urlsplit(request.url)[:2]:
        headers = {name: value for name, value in headers.items() if name not in _PRIVATE_HEADERS}
    return replace(request, url=url, method=method, content=content, headers=headers)


def _read(response: httpx.Response, deadline: float, max_bytes: int) -> bytes:
    """Read raw bytes: a packed answer could grow without a limit while it is unpacked."""
    content = bytearray()
    for chunk in response.iter_raw():
        content += chunk
        if len(content) > max_bytes:
            raise HttpError(f"http: the answer is larger than {max_bytes} bytes")
        if time.monotonic() > deadline:
            raise HttpError("http: the answer did not end in time")
    return bytes(content)

# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Who may talk to a page: the page itself, opened by an address of this machine, and nobody else.

A browser lets any web page open a websocket to any address, this machine included. What it cannot
forge are two headers: ``Origin`` says whose page asks, ``Host`` by what name it found us (a
foreign name that leads here is a rebound one). Where commands are allowed, a token must be known,
too, which the process prints: other people on this machine see the port, but not the token. The
browser keeps a cookie in its place, which is good for one start of one server: browsers send it to
every port of a host name, so that it must not be the token.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
import hmac
from http import HTTPStatus
from ipaddress import ip_address
import logging
import re
import secrets
import socket
import threading
from typing import Any
from urllib.parse import parse_qsl, urlencode

from rbd_ros.errors import RbdError
from rbd_ros.view import round_trips
from rbd_ros.view.frames import is_sign, is_wanted, read_frame
from rbd_ros.view.page_head import add_to_head
from rbd_ros.view.round_trips import RoundTrips

__all__ = ['Gate', 'guarded', 'prove_guarded']

LARGEST_FRAME = 2**20  # bytes; what a page sends is far smaller
PROOF_TIMEOUT = 10.0  # s
LOCAL_NAMES = ('localhost',)
_HOST = re.compile(r'(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(:\d{1,5})?')
#: A foreign page must not show ours in a frame, nor learn its address.
PAGE_HEADERS = {'Content-Security-Policy': "frame-ancestors 'none'", 'X-Frame-Options': 'DENY',
                'Referrer-Policy': 'no-referrer', 'X-Content-Type-Options': 'nosniff',
                'Cache-Control': 'no-store'}
FORM = """<!doctype html><html lang="en"><title>Token</title>
<body style="font-family:sans-serif;max-width:40em;margin:3em auto">
<h1>This page needs its token</h1>
<p>It can drive the robot. Open the address that the dashboard has printed where it was started: it
ends with <code>?token=...</code> and is new after each start. Or enter the token:</p>
<form><input name="token" size="40" autofocus> <button>Open</button></form></html>
"""
_LOG = logging.getLogger('rbd_ros.view')
_PATCH = threading.Lock()


class Gate:
    """
    Decide which requests a server answers and which frames of a websocket count.

    :param token: what commands need; empty: nothing.
    :param names: host names of this machine by which the page may be opened, besides localhost
        and every address in numbers.
    """

    def __init__(self, token: str = '', names: Iterable[str] = ()) -> None:
        self.token = token
        #: What a browser gets for the token.
        self.cookie = secrets.token_urlsafe(24) if token else ''
        self.names = {name.lower() for name in (*LOCAL_NAMES, *names)}
        #: Inputs of the page by their identifiers; filled when the server runs.
        self.inputs: Any = {}

    def refusal(self, headers: Any, port: int) -> tuple[HTTPStatus, str] | None:
        """
        Return status and text for a request that is not answered, None for one that is.

        :param headers: of the request, with ``get_all``.
        :param port: on which we listen.
        """
        hosts = [host.lower() for host in headers.get_all('Host')]
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return HTTPStatus.FORBIDDEN, (
                'This page is not served under that name. Open it by http://localhost or by the '
                'address of the machine in numbers; a name of the machine must be among its '
                'allowed_hosts.\n')
        if not headers.get_all('Upgrade'):
            return None
        origins = [origin.lower() for origin in headers.get_all('Origin')]
        if origins not in ([f'http://{hosts[0]}'], [f'https://{hosts[0]}']):
            return HTTPStatus.FORBIDDEN, 'Only the page itself may connect.\n'
        if not self._is_known(headers, port):
            return HTTPStatus.FORBIDDEN, 'The token is missing or of another start.\n'
        return None

    def answer(self, headers: Any, path: str, port: int) -> tuple[HTTPStatus, dict[str, str],
                                                                  str] | None:
        """
        Return the answer to someone who asks for the page and has to show a token first.

        :param path: with what follows a question mark.
        :returns: status, headers and text; None: the page may be sent.
        """
        rest = dict(parse_qsl(path.partition('?')[2]))
        given = rest.pop('token', '')
        if self.token and _same(given, self.token):
            encrypted = headers.get_all('X-Forwarded-Proto') == ['https']  # by a proxy
            return HTTPStatus.SEE_OTHER, {
                'Location': f'/?{urlencode(rest, errors="replace")}' if rest else '/',
                'Set-Cookie': f'{_cookie_name(port)}={self.cookie}; Path=/; HttpOnly; '
                              f'SameSite=Lax{"; Secure" * encrypted}'}, ''
        if not self._is_known(headers, port):
            return HTTPStatus.UNAUTHORIZED, {'Content-Type': 'text/html; charset=utf-8'}, FORM
        return None

    def _is_known(self, headers: Any, port: int) -> bool:
        """Return whether a browser has shown the token before, or needs none."""
        return not self.token or _same(self._cookie(headers, port), self.cookie)

    def _is_ours(self, host: str) -> bool:
        """Return whether a Host header has a name of ours; an address cannot be rebound."""
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found[1].strip('[]')
        try:
            ip_address(name)
        except ValueError:
            return name in self.names
        return True

    @staticmethod
    def _cookie(headers: Any, port: int) -> str:
        """Return the cookie that the browser was given; it has one for each port."""
        for line in headers.get_all('Cookie'):
            for part in line.split(';'):
                name, _, value = part.strip().partition('=')
                if name == _cookie_name(port):
                    return str(value)
        return ''


def _same(given: str, secret: str) -> bool:
    """Return whether somebody knows a secret, whatever bytes came as headers."""
    return hmac.compare_digest(given.encode('utf-8', 'surrogatepass'), secret.encode())


def _cookie_name(port: int) -> str:
    return f'rbd_ros_{port}'


class _Checked:
    """
    A websocket that hands on what our page may send.

    :param connection: of the server.
    :param gate: decides.
    """

    def __init__(self, connection: Any, gate: Gate) -> None:
        self._connection, self._gate = connection, gate
        self.round_trips = RoundTrips(connection)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def recv(self) -> bytes:
        """Return the next frame that counts; one that no page sends ends the connection."""
        while True:
            frame = await self._connection.recv()
            message = read_frame(frame)
            if message is None:
                await self._connection.close(1007, 'not a message of this page')
            elif is_wanted(message, self._gate.inputs) and not (
                    is_sign(message) and self.round_trips.age() > round_trips.OLDEST):
                return bytes(frame)


@contextmanager
def guarded(gate: Gate) -> Iterator[None]:
    """
    Put a gate in front of the server that is started within the block.

    Viser has no place for it: it calls ``websockets.asyncio.server.serve`` itself. So that is
    what we exchange, for that moment; ``prove_guarded`` shows afterwards that it took effect.
    """
    import websockets.asyncio.server as web
    plain = web.serve

    class Guarded(plain):  # type: ignore[valid-type, misc]

        def __init__(self, handler: Callable[[Any], Awaitable[None]], *args: Any,
                     process_request: Callable[[Any, Any], Any], **options: Any) -> None:
            import asyncio

            async def checked(connection: Any) -> None:
                line = _Checked(connection, gate)
                pings = asyncio.create_task(line.round_trips.go_on())
                try:
                    await handler(line)
                finally:
                    pings.cancel()

            def request(connection: Any, asked: Any) -> Any:
                return _reply(gate, connection, asked) or _dressed(
                    process_request(connection, asked))
            asyncio.get_running_loop().set_exception_handler(_on_exception)
            options |= {'max_size': LARGEST_FRAME, 'logger': _quiet_logger()}
            super().__init__(checked, *args, process_request=request, **options)

    with _PATCH:
        web.serve = Guarded  # type: ignore[misc, assignment]
        try:
            yield
        finally:
            web.serve = plain  # type: ignore[misc]


def prove_guarded(host: str, port: int) -> None:
    """
    Ask as a foreign page would, and see the refusal.

    :raises RbdError: if the request is not refused.
    """
    address = '127.0.0.1' if host in ('', '0.0.0.0') else '::1' if host == '::' else host
    name = f'[{address}]:{port}' if ':' in address else f'{address}:{port}'
    request = (f'GET / HTTP/1.1\r\nHost: {name}\r\nOrigin: http://foreign.invalid\r\n'
               'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n'
               'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n')
    try:
        with socket.create_connection((address, port), PROOF_TIMEOUT) as line:
            line.sendall(request.encode())
            status = line.recv(64).split(b' ')
    except OSError as error:
        raise RbdError(f'the page at {name} does not answer: {error}') from error
    if status[1:2] != [b'403']:
        raise RbdError('the page does not refuse foreign web pages, and is not served: this '
                       'version of viser or websockets starts its server in a way that is not '
                       'known here; install viser 1.1 and websockets 16')


def _reply(gate: Gate, connection: Any, asked: Any) -> Any:
    """Return the answer to a request that does not get the page, None for one that does."""
    from websockets.datastructures import Headers
    from websockets.http11 import Response
    port = int(connection.local_address[1])
    refused = gate.refusal(asked.headers, port)
    if refused is not None:
        status, text = refused
        found: dict[str, str] = {'Content-Type': 'text/plain; charset=utf-8'}
    elif asked.headers.get_all('Upgrade'):
        return None
    else:
        answer = gate.answer(asked.headers, asked.path, port)
        if answer is None:
            return None
        status, found, text = answer
    body = text.encode()
    return Response(status.value, status.phrase, Headers(
        **found, **PAGE_HEADERS, **{'Content-Length': str(len(body)), 'Connection': 'close'}),
        body)


def _dressed(response: Any) -> Any:
    """Add our headers, and lines to the head of a page; None, for a websocket, stays None."""
    if response is not None:
        add_to_head(response)
        for name, value in PAGE_HEADERS.items():
            response.headers[name] = value
    return response


def _on_exception(_: Any, context: dict[str, Any]) -> None:
    """Say in one line what failed in the loop of the server: a client may have caused it."""
    _LOG.warning('the web page: %s', _line(context.get('exception') or context['message']))


class _OneLine(logging.Filter):
    """Without tracebacks, and nothing about those who hang up: anybody can make us print them."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record, which becomes one line."""
        text = record.getMessage()
        if record.levelno < logging.ERROR or text == 'opening handshake failed':
            return False
        if record.exc_info and record.exc_info[1] is not None:
            text = f'{text}: {_line(record.exc_info[1])}'
        record.msg, record.args, record.exc_info = f'the web page: {text}', (), None
        return True


def _quiet_logger() -> logging.Logger:
    """Return the logger of the server."""
    logger = logging.getLogger('rbd_ros.view.server')
    if not any(isinstance(each, _OneLine) for each in logger.filters):
        logger.addFilter(_OneLine())
    return logger


def _line(what: object) -> str:
    """Return an exception or a text in one line of printable characters."""
    text = f'{type(what).__name__}: {what}' if isinstance(what, BaseException) else str(what)
    return ''.join(c if c.isprintable() else ' ' for c in text)[:200]

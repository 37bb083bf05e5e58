# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A foreign web page in a real browser, beside a dashboard that is open: it gets nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import threading
import time
from typing import Any

from cdp import Page
from chrome import COARSE, press, wait
from ports import free_port
import pytest
from rbd_ros.view.server import start_server, stop_server
import viser

TOKEN = 'known-to-this-browser'
#: Tries to reach the page by all the names it has, and tells what became of each attempt.
ATTACK = """
window.told = [];
for (const place of arguments[0]) {
  const line = new WebSocket(place, arguments[1]);
  line.onopen = () => { window.told.push('open'); line.close(); };
  line.onerror = () => window.told.push('refused');
}
"""
#: The same out of a frame without an origin, which browsers call null.
SANDBOX = """
window.told = [];
window.onmessage = event => window.told.push(event.data);
const frame = document.createElement('iframe');
frame.sandbox = 'allow-scripts';
frame.srcdoc = `<script>for (const place of ${JSON.stringify(arguments[0])}) {
  const line = new WebSocket(place, "${arguments[1]}");
  line.onopen = () => parent.postMessage('open', '*');
  line.onerror = () => parent.postMessage('refused', '*'); }</script>`;
document.body.append(frame);
"""


class Foreign(BaseHTTPRequestHandler):
    """An empty page."""

    def do_GET(self) -> None:  # noqa: N802
        """Answer."""
        self.send_response(200)
        self.send_header('Content-Type', 'text/html')
        self.end_headers()
        self.wfile.write(b'<!doctype html><title>foreign</title><body>')

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class System:
    """A page with a button, another server, and a browser that knows the token of the page."""

    def __init__(self, shown: Page) -> None:
        self.browser = shown
        self.server = start_server(port=free_port(), token=TOKEN)
        self.port, self.pressed = self.server.get_port(), threading.Event()
        self.server.gui.add_button('Go').on_click(lambda _: self.pressed.set())
        self.foreign = ThreadingHTTPServer(('127.0.0.1', 0), Foreign)
        threading.Thread(target=self.foreign.serve_forever, daemon=True).start()
        shown.get(f'http://127.0.0.1:{self.port}/?token={TOKEN}{COARSE.replace("/?", "&")}')
        press(shown, 'Go')

    def told(self, script: str, *hosts: str) -> list[str]:
        """Return what became of a websocket to each host, from the page that is open."""
        places = [f'ws://{host}:{self.port}/' for host in hosts]
        self.browser.call(script, places, f'viser-v{viser.__version__}')
        wait(lambda: len(self.browser.run('window.told')) == len(hosts),
             'an answer to each attempt')
        return list(self.browser.run('window.told'))

    def close(self) -> None:
        """End both servers."""
        self.foreign.shutdown()
        self.foreign.server_close()
        stop_server(self.server)


@pytest.fixture(scope='module')
def system(empty_page: Page) -> Iterator[System]:
    """Give the system; evil.example is a name that leads to this machine."""
    made = System(empty_page)
    yield made
    made.close()


def test_the_page_itself_works(system: System) -> None:
    """The address with the token shows the button, which acts; no token is left in the bar."""
    assert system.pressed.wait(60.0)
    assert TOKEN not in system.browser.url
    assert 'Share' not in system.browser.text
    # so the refusals below mean something; a server that is kept waiting gives up a handshake
    wait(lambda: system.told(ATTACK, '127.0.0.1') == ['open'], 'a line that is let in')


@pytest.mark.parametrize('name', ['127.0.0.1', 'localhost', 'evil.example'])
@pytest.mark.parametrize('script', [ATTACK, SANDBOX], ids=['page', 'null'])
def test_a_foreign_page_is_refused(system: System, name: str, script: str) -> None:
    """Of the same machine on another port, by another name of it, and without an origin."""
    system.browser.get(f'http://{name}:{system.foreign.server_port}/')
    assert set(system.told(script, '127.0.0.1', 'localhost', 'evil.example')) == {'refused'}


def test_a_rebound_name_is_refused(system: System) -> None:
    """A page of that name, which leads to the dashboard by now, is of one origin with it."""
    system.browser.get(f'http://evil.example:{system.port}/')
    assert 'not served under that name' in system.browser.text
    assert system.told(ATTACK, 'evil.example', '127.0.0.1') == ['refused', 'refused']


def test_the_page_is_not_shown_in_a_frame(system: System) -> None:
    """Nobody can be led to click at it unseen."""
    system.browser.get(f'http://127.0.0.1:{system.foreign.server_port}/')
    wait(lambda: not system.server.get_clients(), 'the end of the page before')
    system.browser.call(
        'const frame = document.createElement("iframe"); frame.src = arguments[0];'
        'frame.onload = () => { window.told = "loaded"; }; document.body.append(frame);',
        f'http://127.0.0.1:{system.port}/')
    wait(lambda: system.browser.run('window.told') == 'loaded', 'the frame')
    time.sleep(2.0)
    assert not system.server.get_clients()

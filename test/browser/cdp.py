# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A browser made from Chromium, spoken to by its own protocol: pages, elements, mouse, keys."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
import ctypes
import json
import os
import re
import subprocess
import threading
import time
from typing import Any

from websockets.sync.client import ClientConnection, connect

OPTIONS = ('--headless=new', '--no-sandbox', '--remote-debugging-port=0', '--no-first-run',
           '--no-default-browser-check', '--disable-background-networking',
           '--disable-dev-shm-usage', '--enable-unsafe-swiftshader',
           # a name of a stranger that leads to this machine
           '--host-resolver-rules=MAP evil.example 127.0.0.1')
#: JavaScript: the middle of an element in sight, or why the mouse does not reach it
_MIDDLE = """function () {
    if (!this.isConnected) return 'is no longer on the page';
    this.scrollIntoView({block: 'center', inline: 'nearest', behavior: 'instant'});
    const box = this.getBoundingClientRect();
    const x = box.x + box.width / 2, y = box.y + box.height / 2;
    if (!box.width || !box.height) return 'has no size';
    const top = document.elementFromPoint(x, y);
    if (!top || !(this.contains(top) || top.contains(this))) return 'is covered';
    return [x, y];
}"""
#: Clicks if it is still where it was: in one go, as a line of text that comes or goes between a
#: look and a click of the mouse would move another element under the mouse.
_CLICK = """function (x, y) {
    const box = this.getBoundingClientRect();
    if (box.x + box.width / 2 !== x || box.y + box.height / 2 !== y) return false;
    this.focus();
    this.click();
    return true;
}"""
#: Codes of keys; those of a dot and a minus as characters would be Delete and Insert.
_CODES = {'ArrowRight': 39, 'End': 35, 'Tab': 9, 'Enter': 13, '.': 190, '-': 189}

#: Of Linux: a process takes from itself, and from those it starts, what root may do.
_PR_CAPBSET_DROP, _CAP_SYS_NICE = 24, 23
_LATER = 5  # by how much others come first


def _give_way() -> None:
    """
    Let the robot and its controller run first, as if the browser were on another machine.

    Without a graphics card it takes all processors, and as root it would raise its own priority:
    states would come too late to hold a robot. Linux shares time among sessions before it looks
    at the priorities inside one.
    """
    os.setsid()
    with suppress(OSError), open('/proc/self/autogroup', 'w') as group:
        group.write(str(_LATER))
    with suppress(OSError):
        os.nice(_LATER)
    ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_SYS_NICE, 0, 0, 0)


class BrowserError(RuntimeError):
    """What was asked of the browser cannot be done, perhaps not yet."""


class Browser:
    """
    A running browser.

    :param program: its file.
    :param profile: an empty folder for what it keeps.
    :param patience: s for an answer.
    """

    def __init__(self, program: str, profile: str, patience: float) -> None:
        self.patience = patience
        self._process = subprocess.Popen(
            [program, *OPTIONS, f'--user-data-dir={profile}', 'about:blank'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, errors='replace', preexec_fn=_give_way)
        self._told: list[str] = []
        self._address = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()
        self._address.wait(patience)
        found = re.search(r'DevTools listening on (ws://\S+)', ''.join(self._told))
        if not found:
            self._process.kill()
            raise BrowserError(f'{program} did not start: {"".join(self._told)[-2000:]}')
        self._wire: ClientConnection = connect(
            found[1], max_size=None, open_timeout=patience, ping_interval=None)
        self._number = 0
        self.pages: dict[str, Page] = {}

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._told.append(line)
            if 'DevTools listening' in line:
                self._address.set()
        self._address.set()

    def ask(self, method: str, session: str | None = None, **words: Any) -> dict[str, Any]:
        """Send a command and return its answer; what happens meanwhile is kept with its page."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {'id': number, 'method': method, 'params': words}
        if session:
            message['sessionId'] = session
        self._wire.send(json.dumps(message))
        end = time.monotonic() + self.patience
        while True:
            try:
                answer = json.loads(self._wire.recv(max(end - time.monotonic(), 0.0)))
            except TimeoutError:
                raise BrowserError(f'{method}: no answer in {self.patience:g} s') from None
            if answer.get('id') == number:
                if 'error' in answer:
                    raise BrowserError(f'{method}: {answer["error"]["message"]}')
                return dict(answer.get('result', {}))
            page = self.pages.get(answer.get('sessionId', ''))
            if page and 'method' in answer:
                page.note(answer['method'], answer['params'])

    def open(self, size: tuple[int, int]) -> Page:
        """Open an empty page, which shares no cookies with others."""
        context = self.ask('Target.createBrowserContext')['browserContextId']
        target = self.ask('Target.createTarget', url='about:blank',
                          browserContextId=context)['targetId']
        session = self.ask('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        page = self.pages[session] = Page(self, session, target, context)
        for domain in ('Page', 'Runtime', 'Log'):
            page.ask(f'{domain}.enable')
        page.ask('Emulation.setDeviceMetricsOverride', width=size[0], height=size[1],
                 deviceScaleFactor=1, mobile=False)
        return page

    def close(self) -> None:
        """End it."""
        try:
            self.ask('Browser.close')
            self._wire.close()
            self._process.wait(20.0)
        except Exception:  # however it ends, it ends
            self._process.kill()
            self._process.wait()


class Page:
    """One page of a browser."""

    def __init__(self, browser: Browser, session: str, target: str, context: str) -> None:
        self.browser, self._session, self._target = browser, session, target
        self.context = context  # whose downloads and cookies are its own
        self._complaints: list[str] = []

    def ask(self, method: str, **words: Any) -> dict[str, Any]:
        """Send a command that concerns this page."""
        return self.browser.ask(method, self._session, **words)

    def note(self, method: str, words: dict[str, Any]) -> None:
        """Keep what is an error among what happened on the page."""
        if method == 'Runtime.exceptionThrown':
            details = words['exceptionDetails']
            self._complaints.append(
                details.get('exception', {}).get('description') or details['text'])
        elif method == 'Runtime.consoleAPICalled' and words['type'] == 'error':
            self._complaints.append(' '.join(
                str(each.get('value', each.get('description'))) for each in words['args']))
        elif method == 'Log.entryAdded' and words['entry']['level'] == 'error':
            self._complaints.append(f'{words["entry"].get("url", "")} {words["entry"]["text"]}')

    def complaints(self) -> list[str]:
        """Return the errors since they were asked for last."""
        self.run('0')  # what happened before has been told when the answer comes
        found, self._complaints = self._complaints, []
        return found

    def get(self, url: str) -> None:
        """Go to an address, and wait until it has loaded."""
        failure = self.ask('Page.navigate', url=url).get('errorText')
        if failure:
            raise BrowserError(f'{url}: {failure}')
        end = time.monotonic() + self.browser.patience
        while self.run('document.readyState') != 'complete':
            if time.monotonic() > end:
                raise BrowserError(f'{url}: not loaded in {self.browser.patience:g} s')
            time.sleep(0.05)

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; of a promise, what it promised."""
        return self.value(self.ask('Runtime.evaluate', expression=expression, returnByValue=True,
                                   awaitPromise=True))

    def call(self, script: str, *words: Any) -> Any:
        """Run JavaScript that has words in ``arguments``; return what it returns."""
        return self.run(f'(function () {{{script}}}).apply(null, {json.dumps(words)})')

    @property
    def url(self) -> str:
        """Return where the page is."""
        return str(self.run('location.href'))

    @staticmethod
    def value(answer: dict[str, Any]) -> Any:
        """Return the value in an answer; an exception on the page is one here."""
        if 'exceptionDetails' in answer:
            details = answer['exceptionDetails']
            raise BrowserError(details.get('exception', {}).get('description', details['text']))
        return answer['result'].get('value')

    @property
    def text(self) -> str:
        """Return the words on the page."""
        return str(self.run('document.body.innerText'))

    def find_all(self, selector: str) -> list[Element]:
        """Return the elements of a CSS selector, or of an XPath, which begins with / or (."""
        name = json.dumps(selector)
        expression = f'[...document.querySelectorAll({name})]'
        if selector.startswith(('/', '(')):
            expression = (f'(() => {{ const r = document.evaluate({name}, document, null, 7, null)'
                          '; return [...Array(r.snapshotLength).keys()]'
                          '.map(k => r.snapshotItem(k)); })()')
        answer = self.ask('Runtime.evaluate', expression=expression)
        self.value(answer)
        rows = self.ask('Runtime.getProperties', objectId=answer['result']['objectId'],
                        ownProperties=True)['result']
        return [Element(self, row['value']['objectId']) for row in rows
                if row['name'].isdigit() and 'objectId' in row.get('value', {})]

    def find(self, selector: str) -> Element:
        """Return the first element of a selector."""
        found = self.find_all(selector)
        if not found:
            raise BrowserError(f'nothing on the page is "{selector}"')
        return found[0]

    def mouse(self, kind: str, x: float, y: float, buttons: int = 0) -> None:
        """Move, press or release the mouse; buttons: 1 while the left one is down."""
        left = 'left' if buttons or kind == 'mouseReleased' else 'none'
        self.ask('Input.dispatchMouseEvent', type=kind, x=x, y=y, buttons=buttons, button=left,
                 clickCount=0 if kind == 'mouseMoved' else 1)

    def drag(self, begin: tuple[float, float], end: tuple[float, float], steps: int = 6) -> None:
        """Pull with the mouse from one place to another."""
        self.mouse('mouseMoved', *begin)
        time.sleep(0.15)  # what lies under the mouse is looked for once a picture
        self.mouse('mousePressed', *begin, buttons=1)
        for k in range(1, steps + 1):
            time.sleep(0.05)
            x, y = (a + (b - a) * k / steps for a, b in zip(begin, end))
            self.mouse('mouseMoved', x, y, buttons=1)
        self.mouse('mouseReleased', *end)

    def key(self, name: str, **words: Any) -> None:
        """Press a key and let it go: a letter, or a name such as "End"."""
        words.update(key=name, windowsVirtualKeyCode=_CODES.get(name, ord(name[0].upper())))
        if len(name) > 1:
            words['code'] = name
        self.ask('Input.dispatchKeyEvent', type='keyDown', **words)
        words.pop('text', None)
        words.pop('commands', None)
        self.ask('Input.dispatchKeyEvent', type='keyUp', **words)

    def screenshot(self) -> bytes:
        """Return a picture, as PNG."""
        return base64.b64decode(self.ask('Page.captureScreenshot', format='png')['data'])

    def close(self) -> None:
        """Close it, unless it is."""
        if self.browser.pages.pop(self._session, None):
            self.browser.ask('Target.closeTarget', targetId=self._target)


class Element:
    """Something on a page."""

    def __init__(self, page: Page, name: str) -> None:
        self.page, self._name = page, name

    def call(self, function: str, *words: Any) -> Any:
        """Call a JavaScript function whose ``this`` is the element; return its value."""
        return self.page.value(self.page.ask(
            'Runtime.callFunctionOn', functionDeclaration=function, objectId=self._name,
            arguments=[{'value': word} for word in words], returnByValue=True))

    def _get(self, expression: str) -> Any:
        return self.call(f'function () {{ return {expression}; }}')

    @property
    def text(self) -> str:
        """Return the words in it."""
        return str(self._get("(this.innerText || '').trim()"))

    @property
    def value(self) -> str:
        """Return what is typed into it."""
        return str(self._get('this.value'))

    @property
    def checked(self) -> bool:
        """Return whether it is ticked."""
        return bool(self._get('this.checked'))

    @property
    def enabled(self) -> bool:
        """Return whether it can be used."""
        return not self._get('this.disabled')

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Return left, top, width and height, in the window."""
        x, y, width, height = self._get(
            '(b => [b.x, b.y, b.width, b.height])(this.getBoundingClientRect())')
        return x, y, width, height

    def show(self) -> None:
        """Bring it into sight."""
        self.call("function () { this.scrollIntoView({block: 'center', behavior: 'instant'}); }")

    def click(self) -> None:
        """Click, as a person who sees it would; raises if something covers it, or it moves."""
        place = self.call(_MIDDLE)
        if isinstance(place, str):
            raise BrowserError(f'the element {place}')
        time.sleep(0.1)
        if self.call(_MIDDLE) != place or not self.call(_CLICK, *place):
            raise BrowserError('the element moves')

    def press(self, *keys: str) -> None:
        """Press keys while it has the focus."""
        self.call('function () { this.focus(); }')
        for key in keys:
            self.page.key(key)

    def fill(self, text: str) -> None:
        """Type in the place of what is there."""
        self.call('function () { this.focus(); }')
        self.page.key('a', modifiers=2, commands=['selectAll'])
        for letter in text:
            self.page.key(letter, text=letter)


@contextmanager
def opened(program: str, profile: str, patience: float) -> Iterator[Browser]:
    """Start a browser and end it with the block."""
    browser = Browser(program, profile, patience)
    try:
        yield browser
    finally:
        browser.close()


def until(condition: Callable[[], Any], what: str, seconds: float) -> Any:
    """Wait until a condition holds; returns what it gives; what cannot be done yet is no."""
    end = time.monotonic() + seconds
    failure = ''
    while time.monotonic() < end:
        try:
            found = condition()
        except BrowserError as error:
            found, failure = False, f' ({error})'
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError(f'{what}: not within {seconds:g} s{failure}')

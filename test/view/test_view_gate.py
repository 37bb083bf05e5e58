# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Who may talk to a page: raw websocket clients with every kind of origin, host, token, frame."""

from contextlib import redirect_stdout, suppress
from functools import cached_property
import gzip
import io
import queue
import socket
import threading
import time
from types import SimpleNamespace
import urllib.error
import urllib.request

import numpy as np
from ports import free_port
import pytest
from rbd_env.pace import patient
from rbd_ros.errors import RbdError
from rbd_ros.view import gate as gates, round_trips
from rbd_ros.view.frames import is_like, is_wanted, MOST_PARTS, read_frame
from rbd_ros.view.page_head import SCRIPT, STYLE
from rbd_ros.view.server import start_server, stop_server

viser = pytest.importorskip('viser', reason='viser is not installed: use ./run')
msgspec = pytest.importorskip('msgspec', reason='viser is not installed: use ./run')
zstandard = pytest.importorskip('zstandard', reason='viser is not installed: use ./run')
from visitor import cookie_for  # noqa: E402
from websockets.datastructures import Headers  # noqa: E402
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

TOKEN = 'only-the-log-has-it'
VERSION = f'viser-v{viser.__version__}'
CAMERA = {'type': 'ViewerCameraMessage', 'wxyz': [1.0, 0.0, 0.0, 0.0], 'position': [1.0, 1.0, 1.0],
          'fov': 1.0, 'near': 0.01, 'far': 1000.0, 'image_height': 10, 'image_width': 10,
          'look_at': [0.0, 0.0, 0.0], 'up_direction': [0.0, 0.0, 1.0]}


class Delays:
    """
    A proxy that keeps all bytes back for some time, as a tunnel over a bad line does.

    :param port: of the server.
    :param up: s that bytes to the server take.
    :param down: s that bytes from it take.
    """

    def __init__(self, port, up=0.0, down=0.0):
        self._delays, self._threads = (up, down), []
        self._listener = socket.create_server(('127.0.0.1', 0))
        self.port = self._listener.getsockname()[1]
        self._server = socket.create_connection(('127.0.0.1', port), 10.0)
        self._begin(self._accept)

    def _begin(self, target, *words):
        self._threads.append(threading.Thread(target=target, args=words, daemon=True))
        self._threads[-1].start()

    def _accept(self):
        client, _ = self._listener.accept()
        self._listener.close()
        for begin, end, delay in zip((client, self._server), (self._server, client),
                                     self._delays, strict=True):
            waiting = queue.SimpleQueue()
            self._begin(self._read, begin, waiting)
            self._begin(self._write, end, waiting, delay)

    def _read(self, begin, waiting):
        while True:
            try:
                data = begin.recv(65536)
            except OSError:
                data = b''
            waiting.put((time.monotonic(), data))
            if not data:
                return

    def _write(self, end, waiting, delay):
        while (each := waiting.get())[1]:
            time.sleep(max(each[0] + delay - time.monotonic(), 0.0))
            try:
                end.sendall(each[1])
            except OSError:
                return
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class Served:
    """A page with a button, a number and a choice; what they were told."""

    def __init__(self, token):
        self.server = start_server(port=free_port(), token=token, names=['robot-pc.lab'])
        self.port, self.token = self.server.get_port(), token
        gui, self.pressed = self.server.gui, threading.Event()
        self.button, self.number = gui.add_button('Go'), gui.add_number('Mass', 0.5)
        self.force = gui.add_vector3('Push', (0.0, 0.0, 0.0))
        self.choice = gui.add_dropdown('Mode', ('hold', 'damping'))
        self.button.on_click(lambda _: self.pressed.set())
        self.shared = threading.Event()
        self.server.request_share_url = self.shared.set

    def connect(self, *, origin='', host='', cookie=None, port=0):
        """Return a websocket that claims an origin and a host; ours where none is given."""
        host = host or f'127.0.0.1:{self.port}'
        cookie = self.cookie if cookie is None else cookie
        # The address would give the host: the connection is made beforehand.
        line = socket.create_connection(('127.0.0.1', port or self.port), 10.0)
        return connect(f'ws://{host}/', sock=line, origin=origin or f'http://{host}',
                       subprotocols=[VERSION], additional_headers={'Cookie': cookie},
                       max_size=None)

    @cached_property
    def cookie(self):
        """Return the cookie for the token."""
        return cookie_for(self.port, self.token)

    @cached_property
    def identifiers(self):
        """Return the identifiers of the inputs by label, as a browser learns them."""
        with self.connect() as line:
            frame = line.recv(timeout=patient(60.0))
        size = int.from_bytes(frame[:8], 'little')      # packed, then so many bytes
        text = zstandard.ZstdDecompressor().decompress(frame[16:], max_output_size=size)
        return {message['props']['label']: message['uuid']
                for message in msgspec.msgpack.decode(text)['messages']
                if message['type'].startswith('Gui') and 'label' in message.get('props', ())}

    def uuid(self, handle):
        """Return the identifier of an input."""
        return self.identifiers[handle.label]

    def update(self, handle, value, name='value'):
        """Return the message that gives an input a value."""
        return {'type': 'GuiUpdateMessage', 'uuid': self.uuid(handle), 'updates': {name: value}}


@pytest.fixture(scope='module')
def open_page():
    """Serve a page without commands."""
    served = Served('')
    yield served
    stop_server(served.server)


@pytest.fixture(scope='module')
def page():
    """Serve a page with commands."""
    served = Served(TOKEN)
    yield served
    stop_server(served.server)


def sent(socket_, *messages):
    """Send messages."""
    for message in messages:
        socket_.send(msgspec.msgpack.encode(message))


def until(condition):
    """Return whether a condition comes true."""
    end = time.monotonic() + 60.0
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


FOREIGN = ['http://evil.example', 'null', 'http://127.0.0.1:1', 'http://localhost',
           'http://127.0.0.1.evil.example:{port}', 'file://', 'ws://127.0.0.1:{port}',
           'http://127.0.0.1:{port}.evil.example', 'http://127.0.0.1:{port}/', 'http://[::1]:{port}',
           'https://evil.example:{port}', 'http://localhost:{port}', 'chrome-extension://abc']


@pytest.mark.parametrize('which', ['open_page', 'page'])
@pytest.mark.parametrize('origin', FOREIGN)
def test_a_foreign_origin_is_refused(request, which, origin):
    """Even one that knows the cookie; nothing but the page itself connects."""
    served = request.getfixturevalue(which)
    with pytest.raises(InvalidStatus, match='403'):
        served.connect(origin=origin.format(port=served.port))


@pytest.mark.parametrize('host', [
    'evil.example:{port}', 'evil.example', 'localhost.evil.example:{port}', 'localhost.:{port}',
    '127.0.0.1.evil.example:{port}', '127.1.evil:{port}', 'robot-pc'])
def test_a_rebound_host_is_refused(open_page, host):
    """A foreign name that leads here gets neither a websocket nor the page."""
    host = host.format(port=open_page.port)
    with pytest.raises(InvalidStatus, match='403'):
        open_page.connect(host=host)
    asked = urllib.request.Request(f'http://127.0.0.1:{open_page.port}/', headers={'Host': host})
    with pytest.raises(urllib.error.HTTPError, match='403') as refused:
        urllib.request.urlopen(asked, timeout=patient(20))
    assert 'allowed_hosts' in refused.value.read().decode()


@pytest.mark.parametrize('host', [
    '127.0.0.1:{port}', 'localhost:{port}', 'LOCALHOST:{port}', '[::1]:{port}', '127.0.0.1:9000',
    '192.168.1.7:{port}', 'robot-pc.lab:{port}', 'robot-pc.lab'])
def test_our_own_page_connects(open_page, host):
    """By address, through a forwarded port, and by the names that were given."""
    host = host.format(port=open_page.port)
    with open_page.connect(host=host, origin=f'http://{host}'.lower()) as line:
        assert line.recv()
    with open_page.connect(host=host, origin=f'https://{host}'.lower()):  # behind a proxy
        pass


def test_headers_that_come_twice_or_not_at_all():
    """What is not said clearly is refused."""
    gate, ours, origin = gates.Gate(), ('Host', '127.0.0.1:80'), ('Origin', 'http://127.0.0.1:80')
    upgrade = ('Upgrade', 'WebSocket')
    assert gate.refusal(Headers([ours, origin, upgrade]), 80) is None
    assert gate.refusal(Headers([ours]), 80) is None
    for given in ([], [ours, ours], [ours, upgrade], [ours, origin, origin, upgrade],
                  [ours, origin, ('Origin', 'http://evil'), upgrade], [origin, upgrade],
                  [('Host', 'user@127.0.0.1:80')], [('Host', '127.0.0.1:80/')], [('Host', '')]):
        status, _ = gate.refusal(Headers(given), 80)
        assert status == 403


@pytest.mark.parametrize('cookie', ['', 'rbd_ros_{port}=', 'rbd_ros_{port}=guess', 'x=' + TOKEN,
                                    'rbd_ros_{port}=' + TOKEN, 'rbd_ros_1=' + TOKEN,
                                    'rbd_ros_{port}=\xe9\xff'])
def test_commands_need_the_token(page, cookie):
    """Neither a websocket nor the page without it."""
    with pytest.raises(InvalidStatus, match='403'):
        page.connect(cookie=cookie.format(port=page.port))


def test_the_token_opens_the_page(page):
    """The address with it gives a cookie and leads on without it; a wrong one gives a form."""
    base = f'http://127.0.0.1:{page.port}/'
    for path in ('', '?token=', '?token=wrong'):
        with pytest.raises(urllib.error.HTTPError, match='401') as refused:
            urllib.request.urlopen(base + path, timeout=patient(20))
        assert '<form>' in refused.value.read().decode()
        assert refused.value.headers['Set-Cookie'] is None

    class Stay(urllib.request.HTTPRedirectHandler):

        def redirect_request(self, *_):
            return None
    with pytest.raises(urllib.error.HTTPError, match='303') as led:
        urllib.request.build_opener(Stay).open(
            f'{base}?fixedDpr=0.5&token={TOKEN}', timeout=patient(20))
    assert led.value.headers['Location'] == '/?fixedDpr=0.5'
    cookie = led.value.headers['Set-Cookie']
    assert TOKEN not in cookie and 'Secure' not in cookie
    assert 'HttpOnly' in cookie and 'SameSite=Lax' in cookie
    shown = urllib.request.urlopen(urllib.request.Request(base, headers={
        'Cookie': f'other=1; {cookie.partition(";")[0]}'}), timeout=patient(20))
    assert shown.status == 200 and shown.headers['X-Frame-Options'] == 'DENY'
    assert "frame-ancestors 'none'" in shown.headers['Content-Security-Policy']


def test_the_page_itself_is_obeyed(page):
    """A button, a number and a choice reach their handles: the refusals above mean something."""
    with page.connect() as line:
        sent(line, CAMERA, page.update(page.number, 2), page.update(page.choice, 'damping'),
             page.update(page.force, [1, 2, 3]), page.update(page.button, True))
        assert page.pressed.wait(patient(60.0))
        assert until(lambda: page.number.value == 2.0 and page.choice.value == 'damping'
                     and page.force.value == (1.0, 2.0, 3.0))


MALFORMED = [
    'text', b'', b'\xc1', b'\xff' * 100, b'\x91' * 5000, msgspec.msgpack.encode([1, 2]),
    msgspec.msgpack.encode({}), msgspec.msgpack.encode({'type': 'NoSuchMessage'}),
    msgspec.msgpack.encode({'type': 3}), msgspec.msgpack.encode({'type': ['GuiUpdateMessage']}),
    msgspec.msgpack.encode({1: 2, 'type': 'GuiUpdateMessage'}),
    msgspec.msgpack.encode({'type': 'GuiUpdateMessage', 'uuid': 'a'}),
    msgspec.msgpack.encode({'type': 'GuiUpdateMessage', 'uuid': 'a', 'updates': 3}),
    msgspec.msgpack.encode({'type': 'GuiUpdateMessage', 'uuid': {}, 'updates': {}}),
    msgspec.msgpack.encode({**CAMERA, 'more': 1}), msgspec.msgpack.encode({**CAMERA, 'fov': 'x'}),
    msgspec.msgpack.encode({**CAMERA, 'wxyz': [1.0, 0.0]}),
    msgspec.msgpack.encode({**CAMERA, 'position': [1.0, float('nan'), 0.0]}),
    msgspec.msgpack.encode({'type': 'TransformControlsUpdateMessage', 'name': '/target',
                            'wxyz': [1, 0, 0, 0], 'position': [0.0, 0.0, float('inf')]}),
]


@pytest.mark.parametrize('frame', MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_frame_ends_its_connection_and_prints_nothing(page, frame, capfd):
    """Viser asserts, or fails in a task of its own: with a traceback either way."""
    with page.connect() as line, pytest.raises(ConnectionClosed, match='1007'):
        line.send(frame)
        while True:
            line.recv(timeout=patient(60.0))
    with page.connect() as line:
        assert line.recv()
    said = ''.join(capfd.readouterr())
    assert 'Traceback' not in said and 'rror' not in said


def test_what_is_not_wanted_is_dropped(page, capfd):
    """A wrong kind of value, a field inside viser, a public address: none of it has an effect."""
    before = page.number.value, page.choice.value, page.force.value
    page.pressed.clear()
    with page.connect() as line:
        sent(line, CAMERA, {'type': 'ShareUrlRequest'}, {'type': 'ShareUrlDisconnect'},
             {'type': 'ResetGuiMessage'}, page.update(page.number, 'abc'),
             page.update(page.number, float('nan')), page.update(page.number, True),
             page.update(page.number, None), page.update(page.number, [1.0]),
             page.update(page.force, [1.0, 2.0]), page.update(page.force, ['a', 'b', 'c']),
             page.update(page.choice, 'explode'), page.update(page.button, [], 'update_cb'),
             page.update(page.number, True, 'removed'),
             {'type': 'GuiUpdateMessage', 'uuid': 'unknown', 'updates': {'value': 1.0}},
             page.update(page.force, [4, 5, 6]))
        assert until(lambda: page.force.value == (4.0, 5.0, 6.0))  # what came last: all was read
        assert (page.number.value, page.choice.value) == before[:2]
        page.number.visible = True                      # refused by an input that was removed
        sent(line, page.update(page.button, True))
        assert page.pressed.wait(patient(60.0))         # the button calls what it did
        assert not page.shared.wait(0.2)
    said = ''.join(capfd.readouterr())
    assert 'Traceback' not in said and 'rror' not in said


@pytest.mark.parametrize('noise', [
    b'\x16\x03\x01\x02\x00', b'GET\r\n\r\n', b'GET / HTTP/9\r\n\r\n',
    b'POST / HTTP/1.1\r\nHost: x\r\n\r\n', b''])
def test_noise_instead_of_a_request_prints_nothing(page, noise, capfd):
    """As of a browser that tries https, or somebody who scans ports."""
    with socket.create_connection(('127.0.0.1', page.port), 10.0) as line:
        line.sendall(noise)
        line.shutdown(socket.SHUT_WR)
        while line.recv(4096):
            pass
    assert ''.join(capfd.readouterr()) == ''


def test_an_unguarded_server_is_noticed():
    """If another viser started its server differently, the page would not be served."""
    with redirect_stdout(io.StringIO()):
        server = viser.ViserServer('127.0.0.1', free_port(), verbose=False)
    try:
        with pytest.raises(RbdError, match='does not refuse foreign web pages'):
            gates.prove_guarded('127.0.0.1', server.get_port())
    finally:
        stop_server(server)
    with pytest.raises(RbdError, match='does not answer'):
        gates.prove_guarded('127.0.0.1', free_port())


def test_a_server_that_cannot_be_guarded_is_not_left_running(monkeypatch):
    """It ends before anybody can use it."""
    def not_guarded(host, port):
        raise RbdError('does not refuse')
    monkeypatch.setattr('rbd_ros.view.server.prove_guarded', not_guarded)
    port = free_port()
    with pytest.raises(RbdError, match='does not refuse'):
        start_server(port=port)
    with pytest.raises(OSError):
        socket.create_connection(('127.0.0.1', port), 1.0).close()


def test_kinds_of_values():
    """A number takes any finite number, a switch only true or false."""
    assert is_like(3, 0.5) and is_like(0.5, 3) and is_like([1, 2], (0.0, 0.0)) and is_like('a', '')
    assert not is_like(True, 0.5) and not is_like(1, True) and not is_like(float('inf'), 0.5)
    assert not is_like(1, 'a') and not is_like([1], (0.0, 0.0)) and not is_like('ab', (0.0, 0.0))
    message = read_frame(msgspec.msgpack.encode(CAMERA))
    assert message == CAMERA and is_wanted(message, {})


def test_signs_of_a_held_button():
    """They are those of an input of the page, with a number for their rate."""
    def read(**fields):
        return read_frame(msgspec.msgpack.encode({'type': 'GuiButtonHoldMessage', **fields}))
    sign = read(uuid='a', frequency=10.0)
    assert is_wanted(sign, {'a': None}) and not is_wanted(sign, {'b': None})
    assert read(uuid='a', frequency='ten') is None and read(uuid='a') is None
    assert read(uuid=['a'], frequency=10.0) is None


@pytest.mark.parametrize('encoding', ['gzip', 'identity'])
def test_our_lines_come_first_in_the_head_of_the_page(open_page, encoding):
    """They are whole, before what viser does, and the length is that of what is sent."""
    asked = urllib.request.Request(f'http://127.0.0.1:{open_page.port}/',
                                   headers={'Accept-Encoding': encoding})
    with urllib.request.urlopen(asked, timeout=patient(20)) as answer:
        body = answer.read()
        assert answer.headers.get_all('Content-Length') == [str(len(body))]
    text = gzip.decompress(body) if encoding == 'gzip' else body
    head = text.partition(b'<head>')[2]
    assert head.startswith(STYLE + SCRIPT) and text.count(SCRIPT) == 1
    assert b'data-p=' in head.removeprefix(STYLE + SCRIPT)  # the page of viser


def test_frames_of_a_drag():
    """Points are three finite numbers; a phase is a text."""
    whole = {'type': 'SceneNodeDragMessage', 'phase': 'start', 'name': '/robot/link_1/shape_0',
             'instance_index': None, 'start_position': [0.0, 0.0, 0.5], 'button': 'left',
             'start_screen_pos': [0.5, 0.5], 'end_position': [0.0, 0.1, 0.5],
             'end_screen_pos': [0.5, 0.6], 'modifier': None, 'owner': ''}

    def read(**other):
        return read_frame(msgspec.msgpack.encode({**whole, **other}))
    assert is_wanted(read(), {})
    for wrong in ({'phase': 3}, {'start_position': [0.0, float('nan'), 0.0]},
                  {'end_position': [0.0]}, {'end_screen_pos': 'ab'}, {'button': ['left']}):
        assert read(**wrong) is None


def test_frames_of_a_file():
    """They are for a button that takes files; sizes have bounds."""
    inputs = {'up': SimpleNamespace(value=viser.UploadedFile('', b'')),
              'other': SimpleNamespace(value=b'')}
    start = {'type': 'FileTransferStartUpload', 'source_component_uuid': 'up',
             'transfer_uuid': 't', 'filename': 'a.urdf', 'mime_type': '', 'part_count': 1,
             'size_bytes': 3}
    part = {'type': 'FileTransferPart', 'source_component_uuid': 'up', 'transfer_uuid': 't',
            'part_index': 0, 'content': b'abc'}

    def wanted(message, **other):
        read = read_frame(msgspec.msgpack.encode({**message, **other}))
        return read is not None and is_wanted(read, inputs)
    assert wanted(start) and wanted(part)
    for message in (start, part):
        for uuid in ('other', 'unknown', None, 3):
            assert not wanted(message, source_component_uuid=uuid)
    assert not wanted(start, part_count=MOST_PARTS + 1) and not wanted(start, part_count=-1)
    assert not wanted(start, filename=['a']) and not wanted(start, size_bytes='3')
    assert not wanted(part, part_index=MOST_PARTS) and not wanted(part, content='abc')
    assert not wanted({'type': 'FileTransferPartAck', 'source_component_uuid': 'up',
                       'transfer_uuid': 't', 'transferred_bytes': 1, 'total_bytes': 1})


def test_a_cookie_is_good_for_one_start(page):
    """It is not the token, and another start or another server has another one."""
    again = Served(TOKEN)
    try:
        value, other = (each.cookie.partition('=')[2] for each in (page, again))
        assert value and value != other and TOKEN not in (value, other)
        with pytest.raises(InvalidStatus, match='403'):
            again.connect(cookie=f'rbd_ros_{again.port}={value}')
        with again.connect() as line:
            assert line.recv()
    finally:
        stop_server(again.server)


def test_whatever_the_headers_hold_there_is_an_answer(page, capfd):
    """Any bytes in a cookie, a path, a host or an origin: refused, not an error of the server."""
    rng, seen = np.random.default_rng(1), set()
    for k in range(200):
        noise = bytes(rng.choice(np.r_[0x21:0x7f, 0x80:0x100], rng.integers(1, 20)).tolist())
        fields = {b'Host': b'127.0.0.1:%d' % page.port, b'Cookie': page.cookie.encode()}
        path = b'/'
        if k % 4 == 0:
            fields[b'Cookie'] = b'rbd_ros_%d=%s' % (page.port, noise)
        elif k % 4 == 1:
            path = b'/?token=%s&a=%s' % (TOKEN.encode() if k % 8 == 1 else noise, noise)
        elif k % 4 == 2:
            fields[b'Host'] = noise
        else:
            fields |= {b'Upgrade': b'websocket', b'Origin': noise}
        with socket.create_connection(('127.0.0.1', page.port), 10.0) as line:
            line.sendall(b'GET %s HTTP/1.1\r\n' % path + b''.join(
                b'%s: %s\r\n' % each for each in fields.items()) + b'\r\n')
            status = line.recv(64).split(b' ')
        seen.add(int(status[1]) if len(status) > 1 else 0)
    assert 500 not in seen and {303, 401, 403} <= seen, seen
    assert 'Traceback' not in ''.join(capfd.readouterr())


def test_only_this_machine_reaches_it_by_default(page):
    """It listens on the loopback address, not on those of networks."""
    for address in ('127.0.0.2', socket.gethostname()):  # another one of this machine
        try:
            found = {each[4][0] for each in socket.getaddrinfo(address, page.port, socket.AF_INET)}
        except OSError:
            continue
        for each in found - {'127.0.0.1'}:
            with pytest.raises(OSError):
                socket.create_connection((each, page.port), patient(10)).close()


@pytest.mark.parametrize('up, down', [(0.0, 0.0), (0.05, 0.05), (0.6, 0.0), (0.0, 0.6)])
def test_signs_of_a_button_are_of_now(open_page, up, down):
    """Those that a line keeps back, all the time and evenly, are none; others count."""
    signs, button = [], open_page.server.gui.add_button(f'Hold {up} {down}')

    async def sign(_):
        signs.append(time.monotonic())
    button.on_hold(sign, 10.0)
    open_page.__dict__.pop('identifiers', None)  # of before there was the button
    message = msgspec.msgpack.encode({
        'type': 'GuiButtonHoldMessage', 'uuid': open_page.uuid(button), 'frequency': 10.0})
    late = up + down > round_trips.OLDEST
    with open_page.connect(port=Delays(open_page.port, up, down).port) as line:
        # a client that does not read answers no ping
        threading.Thread(target=lambda: [None for _ in line], daemon=True).start()
        line.send(msgspec.msgpack.encode(CAMERA))
        end = time.monotonic() + (up + down + 1.0 if late else patient(20.0))
        while time.monotonic() < end and len(signs) < 5:
            line.send(message)
            time.sleep(0.1)
    assert (len(signs) == 0) if late else (len(signs) >= 5)
    button.remove()

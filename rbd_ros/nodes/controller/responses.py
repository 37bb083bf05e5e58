# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Service responses that block nobody.

The middleware waits up to 100 ms for a client that has gone, or that it has not discovered yet,
and rclpy holds the interpreter lock meanwhile: every thread of Python stands still. Here another
thread passes the responses to rcl, without the lock.
After a wait in vain for a client there is no other for some time, so that others are answered;
what is for that client is tried again then: on a busy machine its discovery may just take long. If
responses come faster than they can be sent, the oldest ones are dropped: whoever asked for them
has waited longest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
import ctypes
from functools import cache
import math
from queue import Empty, Full, Queue
import sys
import threading
import time
from typing import NamedTuple

from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.service import Service

__all__ = ['Responder', 'Response', 'request_id']

_MAX_WAITING = 100  # responses kept that are not sent yet
_MAX_GONE = 100  # clients remembered that were waited for in vain
_RETRY_AFTER = 1.0  # s after which one is waited for again
_PATIENCE = 5.0  # s after which nobody is waited for any more
_GUID, _SEQUENCE = 16, 24  # bytes of a client's name; where the number of a request ends
_OBJECT = 2 * ctypes.sizeof(ctypes.c_void_p)  # bytes of a Python object before its content
_OK, _TIMEOUT = 0, 2  # of rcl


class _Functions(NamedTuple):
    """What the type support of a message gives."""

    create: Callable[[], int]
    fill: Callable[[object, int], bool]
    destroy: Callable[[int], None]


class Response(NamedTuple):
    """A response on its way."""

    service: Service
    request: bytes  # rmw_request_id_s: the client, and the number of its request
    message: int  # pointer
    destroy: Callable[[int], None]
    since: float = math.inf  # steady time of the first try, s
    due: float = 0.0  # of the next one


class Responder:
    """Sends responses of the services of one node."""

    def __init__(self, failed: Callable[[str], object]) -> None:
        """
        Start the thread.

        :param failed: gets a text when a response could not be sent.
        """
        self._failed = failed
        self.waiting: Queue[Response] = Queue(_MAX_WAITING)
        self.later: deque[Response] = deque()  # to be tried again; in the order of their times
        self._dropping = False  # since there was no room, until all that wait have been sent
        self._gone: dict[bytes, float] = {}  # steady time of waiting in vain, by client
        threading.Thread(target=self._run, name='responses', daemon=True).start()

    def send(self, service: Service, response: object, header: object) -> bool:
        """
        Take a response.

        :param service: of rclpy.
        :param response: message.
        :param header: of the request.
        :returns: whether it was taken; if not, it must be sent in another way.
        """
        request, functions = request_id(header), _functions(service.srv_type.Response)
        if (request is None or functions is None or _send() is None
                or not isinstance(response, service.srv_type.Response)):
            return False
        message = functions.create()
        if not functions.fill(response, message):
            functions.destroy(message)
            return False
        self.put(Response(service, request, message, functions.destroy))
        return True

    def put(self, response: Response) -> None:
        """Queue a response; where there is no room, in the place of the oldest one."""
        while True:
            try:
                self.waiting.put_nowait(response)
                return
            except Full:
                self._drop()

    def _drop(self) -> None:
        try:
            oldest = self.waiting.get_nowait()
        except Empty:  # they have just been sent
            return
        oldest.destroy(oldest.message)
        if not self._dropping:
            self._dropping = True
            self._failed(f'more than {_MAX_WAITING} responses wait to be sent, for instance on '
                         f'{oldest.service.srv_name}: the oldest are dropped until all are sent')

    def _run(self) -> None:
        while True:
            response, ended = self._next(), True
            try:
                ended = self.hand_over(response)
            except _rclpy.InvalidHandle:  # the service has just been destroyed
                pass
            except Exception as error:  # one response is lost; the others must not be
                self._failed(f'no response on {response.service.srv_name}: {error}')
            finally:
                if ended:
                    response.destroy(response.message)
                self._dropping = self._dropping and not self.waiting.empty()

    def _next(self) -> Response:
        """Wait for a response that is due: a new one, or else one that is tried again."""
        while self.later:
            left = self.later[0].due - time.monotonic()
            try:
                return self.waiting.get(left > 0.0, max(left, 0.0))
            except Empty:
                if left <= 0.0:
                    return self.later.popleft()
        return self.waiting.get()

    def hand_over(self, response: Response) -> bool:
        """Send a response; return whether that is over, or is tried again."""
        service, client, send = response.service, response.request[:_GUID], _send()
        if send is None:
            return True
        now, code = time.monotonic(), _TIMEOUT
        if now - self._gone.get(client, -math.inf) >= _RETRY_AFTER:
            with service.handle:
                code = send(service.handle.pointer, response.request, response.message)
            self._note(client, code)
        since = min(response.since, now)
        if (code == _TIMEOUT and now - since < _PATIENCE and len(self.later) < _MAX_WAITING):
            self.later.append(response._replace(since=since, due=now + _RETRY_AFTER))
            return False
        if code != _OK:
            self._failed(f'no response on {service.srv_name}: the client has gone')
        return True

    def _note(self, client: bytes, code: int) -> None:
        """Remember clients that were waited for in vain."""
        if code == _TIMEOUT:
            self._gone.pop(client, None)
            if len(self._gone) >= _MAX_GONE:
                del self._gone[next(iter(self._gone))]  # the oldest one
            self._gone[client] = time.monotonic()


def request_id(header: object) -> bytes | None:
    """
    Return the content of a request's header, which rclpy does not give; None if it is not found.

    :param header: of rclpy, whose object has a pointer to it.
    """
    given = getattr(header, 'request_id', header)
    if not isinstance(given, _rclpy.rmw_request_id_t):
        return None
    at = ctypes.c_void_p.from_address(id(given) + _OBJECT).value
    content = ctypes.string_at(at, _SEQUENCE) if at else b''
    number = int.from_bytes(content[_GUID:], sys.byteorder, signed=True)
    return content if number == given.sequence_number else None


@cache
def _functions(kind: Hashable) -> _Functions | None:
    """Return the functions of a type of messages."""
    names = ('_CREATE_ROS_MESSAGE', '_CONVERT_FROM_PY', '_DESTROY_ROS_MESSAGE')
    capsules = [getattr(kind, name, None) for name in names]
    if None in capsules:
        return None
    content = ctypes.pythonapi.PyCapsule_GetPointer
    content.restype, content.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    create, fill, destroy = (content(capsule, None) for capsule in capsules)
    return _Functions(
        ctypes.PYFUNCTYPE(ctypes.c_void_p)(create),
        ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.py_object, ctypes.c_void_p)(fill),
        ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(destroy))


@cache
def _send() -> Callable[[int, bytes, int], int] | None:
    """Return what sends a response without the interpreter lock."""
    try:
        rcl, rcutils = ctypes.CDLL('librcl.so'), ctypes.CDLL('librcutils.so')
        send, forget = rcl.rcl_send_response, rcutils.rcutils_reset_error
    except (OSError, AttributeError):
        return None
    send.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    send.restype, forget.restype = ctypes.c_int, None

    def sent(service: int, request: bytes, message: int) -> int:
        code: int = send(service, request, message)
        if code != _OK:
            forget()
        return code
    return sent

# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Answers to requests on ~/stop, sent by a thread of their own, which is machine code, too.

The middleware may wait for a client that has gone, Fast DDS for 0.1 s. The loop has stopped the
robot by then and must not wait.
"""

from __future__ import annotations

from rbd_ros.compiler.language.octets import Bytes, get_i64, put_i64, put_u8
from rbd_ros.compiler.language.shared import add_acq_rel, load_acquire, store_release
from rbd_ros.loop.records import Handle, Responder
from rbd_ros.loop.words import RUN, Word

__all__ = ['keep_answer', 'QUEUE_SIZE', 'respond']

# Bytes before: the number of answers that were kept, of those that were sent, and the answers: a
# rmw_request_id_t of three words, and the number of the text.
_KEPT, _SENT, _FIRST, _EACH = 0, 64, 128, 32

#: answers that wait at most; clients beyond get none
_MOST = 256

#: bytes of the queue
QUEUE_SIZE = _FIRST + _MOST * _EACH

#: RCL_RET_TIMEOUT: the client is not known yet, or has gone; and how often it is tried then
_TIMEOUT, _TRIES = 2, 3

#: CLOCK_MONOTONIC of Linux
_STEADY = 1


def keep_answer(queue: Bytes, request: Bytes, text: int) -> bool:
    """
    Leave an answer to be sent; return whether there was room.

    :param queue: of answers.
    :param request: who asked.
    :param text: number of the text.
    """
    kept = get_i64(queue, _KEPT)
    if kept - load_acquire(queue, _SENT) >= _MOST:
        return False
    at = _FIRST + _EACH * (kept & (_MOST - 1))
    for k in range(0, 24, 8):
        put_i64(queue, at + k, get_i64(request, k))
    put_i64(queue, at + 24, text)
    store_release(queue, _KEPT, kept + 1)
    return True


def respond(it: Responder) -> None:
    """
    Send answers until the loop ends.

    :param it: what the thread works on.
    """
    while load_acquire(it.words, Word.END) == RUN or load_acquire(it.words, Word.FINISHED) == 0:
        it.c.clock(_STEADY, it.time)
        put_i64(it.time, 0, get_i64(it.time, 0) + 1)  # to see whether it is over
        it.c.wait(it.wake, _STEADY, it.time)
        sent = get_i64(it.queue, _SENT)
        while sent != load_acquire(it.queue, _KEPT):
            _send(it, _FIRST + _EACH * (sent & (_MOST - 1)))
            sent += 1
            store_release(it.queue, _SENT, sent)


def _send(it: Responder, at: int) -> None:
    """Send one answer."""
    for k in range(0, 24, 8):
        put_i64(it.request, k, get_i64(it.queue, at + k))
    text = get_i64(it.queue, at + 24)
    put_u8(it.response, 0, 1)
    put_i64(it.response, 8, get_i64(it.handles, Handle.TEXTS) + int(it.text_at[text]))
    put_i64(it.response, 16, int(it.text_size[text]))
    put_i64(it.response, 24, int(it.text_size[text]) + 1)
    for _ in range(_TRIES):
        result = it.c.send_response(get_i64(it.handles, Handle.STOP), it.request, it.response)
        if result == 0:
            return
        it.c.reset_error()
        if result != _TIMEOUT:
            break
    add_acq_rel(it.words, Word.UNANSWERED, 1)

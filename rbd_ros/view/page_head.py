# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What is added to the head of the page, before what viser does there.

A browser without a graphics card computes each pixel of the scene on the processor. With a quarter
of them, drawn twice as large, it draws twice as often, and words and plots stay sharp.
"""

from __future__ import annotations

from functools import lru_cache
import gzip
from typing import Any

__all__ = ['add_to_head']

#: On a phone the panel is as wide as the window; viser would cover two thirds of its width.
#: Names of files are long words: they are broken, not cut off at the edge of the panel.
STYLE = b"""<style>@media (max-width: 36em) { [style*="width: 20em"] { width: 100% !important; } }
code { overflow-wrap: anywhere; }
</style>
"""
#: Viser takes the number of pixels from its address, once. An address that has one is left alone.
SCRIPT = b"""<script>(() => {
    const gl = document.createElement('canvas').getContext('webgl2');
    if (!gl) return;
    const names = gl.getExtension('WEBGL_debug_renderer_info');
    const name = gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
    gl.getExtension('WEBGL_lose_context')?.loseContext();
    const address = new URL(location.href);
    if (!/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name)
        || address.searchParams.has('fixedDpr')) return;
    const before = location.href;
    address.searchParams.set('fixedDpr', '0.5');
    history.replaceState(null, '', address);
    new MutationObserver((_, watch) => {
        if (!document.querySelector('#root > *')) return;
        watch.disconnect();
        history.replaceState(null, '', before);  // not for a bookmark
    }).observe(document, {childList: true, subtree: true});
})();</script>
"""
#: While another tab is in front, nobody tells this page that the mouse was released: a button that
#: moves a robot while it is held would go on when the page is in front again.
COVERED = b"""<script>(() => {
    let held = null;
    addEventListener('pointerdown', (event) => { held = event; }, true);
    for (const end of ['pointerup', 'pointercancel'])
        addEventListener(end, () => { held = null; }, true);
    document.addEventListener('visibilitychange', () => {
        if (!document.hidden || !held) return;
        held.target.dispatchEvent(new PointerEvent(
            'pointercancel', {bubbles: true, pointerId: held.pointerId}));
    });
})();</script>
"""
#: What draws the scene listens to presses without the right to keep them, and viser keeps those on
#: a thing that can be dragged: the browser would let text be selected, and log an error each time.
PRESS = b"""<script>(() => {
    const plain = EventTarget.prototype.addEventListener;
    EventTarget.prototype.addEventListener = function (kind, listener, options) {
        const passive = kind === 'pointerdown' && options && options.passive;
        return plain.call(this, kind, listener,
                          passive ? {...options, passive: false} : options);
    };
})();</script>
"""


def add_to_head(response: Any) -> None:
    """
    Put style and script into a response that is a page.

    :param response: of the server, with ``headers`` and ``body``.
    """
    if response.headers.get('Content-Type', '').startswith('text/html'):
        response.body = _with_head(
            response.body, response.headers.get('Content-Encoding') == 'gzip')
        del response.headers['Content-Length']
        response.headers['Content-Length'] = str(len(response.body))


@lru_cache(4)
def _with_head(body: bytes, zipped: bool) -> bytes:
    """Return a page with our lines at the beginning of its head."""
    page = gzip.decompress(body) if zipped else body
    page = page.replace(b'<head>', b'<head>' + STYLE + SCRIPT + COVERED + PRESS, 1)
    return gzip.compress(page) if zipped else page

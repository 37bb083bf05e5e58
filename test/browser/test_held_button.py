# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A button that is held, on a page that another tab covers."""

import time

from chrome import address, held, wait
from ports import free_port
from rbd_ros.nodes.dashboard.dead_man import HOLD_RATE
from rbd_ros.view.server import start_server, stop_server

SECONDS = 1.5  # in which a held button would give some signs


def window(page, state):
    """Minimize the window of a page, or show it again: not every browser has tabs."""
    target = page.ask('Target.getTargetInfo')['targetInfo']['targetId']
    number = page.browser.ask('Browser.getWindowForTarget', targetId=target)['windowId']
    page.browser.ask('Browser.setWindowBounds', windowId=number, bounds={'windowState': state})


def test_a_button_is_let_go_when_the_page_is_hidden(empty_page):
    """Nobody tells the page that the mouse was released there: it must not go on later."""
    server, signs = start_server(port=free_port()), []

    async def sign(_):
        signs.append(time.monotonic())
    server.gui.add_button('Hold').on_hold(sign, HOLD_RATE)
    try:
        empty_page.get(address(server.get_port()))
        with held(empty_page, 'Hold'):
            wait(lambda: len(signs) > 5, 'signs')
            window(empty_page, 'minimized')
            wait(lambda: empty_page.run('document.hidden'), 'a page out of sight')
            window(empty_page, 'normal')
            wait(lambda: not empty_page.run('document.hidden'), 'the page')
            signs.clear()
            time.sleep(SECONDS)
            assert not signs
        with held(empty_page, 'Hold'):
            wait(lambda: len(signs) > 5, 'signs of a button that is pressed anew')
    finally:
        stop_server(server)

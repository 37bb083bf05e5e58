# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The browser of the tests, and what they do with a page as a person would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import io
import math
import os
from pathlib import Path
import time
from typing import Any

from cdp import BrowserError, Element, Page, until
import numpy as np
from PIL import Image
from rbd_env.pace import patient

SIZE = (1200, 900)  # of the window
PATIENCE = patient(150.0)  # s: a browser that draws without a graphics card is slow
PICTURES = os.environ.get('RBD_ROS_PICTURES', '')  # a folder: keep pictures for the documentation

#: what viser takes behind the address of a page: one pixel of the scene in place of four, as each
#: costs time of the processor where there is no graphics card
COARSE = f'/?fixedDpr={1 if PICTURES else 0.5}'


def address(port: int) -> str:
    """Return where the page is."""
    return f'http://127.0.0.1:{port}{COARSE}'


def wait(condition: Callable[[], Any], what: str) -> Any:
    """Wait until a condition holds; returns what it gives."""
    return until(condition, what, PATIENCE)


def in_sight(elements: list[Element], what: str) -> Element:
    """Return the first one that has a size: those in folders that are closed have none."""
    for each in elements:
        if each.box[2]:
            return each
    raise BrowserError(f'no "{what}" is in sight')


def button(page: Page, label: str) -> Element:
    """Return a button."""
    return in_sight([each for each in page.find_all('button') if each.text == label], label)


def press(page: Page, label: str) -> None:
    """Press a button."""
    wait(lambda: _click(button(page, label)), label)


def unfold(page: Page, title: str) -> None:
    """Open a folder of the panel, or close it."""
    titles = f'//*[normalize-space(text())="{title}"]'
    wait(lambda: _click(in_sight(page.find_all(titles), title)), title)


def _click(element: Element) -> bool:
    element.click()
    return True


def field(page: Page, label: str, number: int = 1) -> Element:
    """Return an input beside what a label begins with, in sight; a vector has three, from 1."""
    labels = f'//label[starts-with(normalize-space(.), "{label}")]'
    # of all tabs and folders, as its place in the list is needed
    place = next((k for k, each in enumerate(page.find_all(labels), 1) if each.box[2]), 1)
    found = page.find(f'({labels})[{place}]/following::input[{number}]')
    found.show()
    return found


def tick(page: Page, label: str) -> None:
    """Click at the box beside a label, until it has changed: its folder may still be opening."""
    before: list[bool] = []

    def changed() -> bool:
        box = field(page, label)
        before[:] = before or [box.checked]
        if box.checked == before[0]:
            box.click()
            time.sleep(0.5)
        return box.checked != before[0]
    wait(changed, label)


def select(page: Page, label: str, option: str) -> None:
    """Choose an option of the list beside a label; its folder may still be opening."""
    def chosen() -> bool:
        if field(page, label).value != option:
            field(page, label).click()
            for each in page.find_all('[role="option"]'):
                if each.text == option and each.box[2]:  # of the list that is open
                    each.click()
        return field(page, label).value == option
    wait(chosen, option)


def fill(page: Page, label: str, value: str, number: int = 1) -> None:
    """Type into the input beside a label, in the place of what is there."""
    def typed() -> bool:
        box = field(page, label, number)
        if not box.enabled:
            return False
        box.click()
        box.fill(value)
        return box.value == value or _number(box.value) == _number(value)
    wait(typed, label)


def _number(text: str) -> float:
    """Return a number as it is written, NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def download(page: Page, label: str, folder: Path) -> Path:
    """Press a button that saves a file, and return the file when it is whole."""
    page.browser.ask('Browser.setDownloadBehavior', behavior='allow', downloadPath=str(folder),
                     browserContextId=page.context)
    press(page, label)
    return wait(lambda: [each for each in folder.iterdir()  # another name until it is whole
                         if each.suffix != '.crdownload' and not each.name.startswith('.')],
                'the file')[0]


@contextmanager
def held(page: Page, label: str) -> Iterator[None]:
    """Keep a button pressed."""
    def ready() -> Element | None:
        found = button(page, label)
        found.show()
        return found if found.enabled else None
    left, top, width, height = wait(ready, label).box
    at = left + width / 2.0, top + height / 2.0
    page.mouse('mouseMoved', *at)
    page.mouse('mousePressed', *at, buttons=1)
    try:
        yield
    finally:
        if page in page.browser.pages.values():  # it was not closed meanwhile
            page.mouse('mouseReleased', *at)


def picture(page: Page, name: str = '') -> Any:
    """Return what is seen, as numbers; keeps it for the documentation if it has a name."""
    for notice in page.find_all('.mantine-Notification-closeButton'):
        notice.call('function () { this.click(); }')  # drawn without a graphics card, says viser
    data = page.screenshot()
    if PICTURES and name:
        (Path(PICTURES) / f'{name}.png').write_bytes(data)
    return np.asarray(Image.open(io.BytesIO(data)).convert('RGB')).astype(np.int16)


def blue(image: Any) -> Any:
    """Return where a picture has the colour of the joints of the built-in arm."""
    return (image[..., 2] > image[..., 0] + 40) & (image[..., 2] > 80)


def scenery(page: Page, name: str = '') -> Any:
    """Return the part of the picture beside the panel."""
    return picture(page, name)[:, :SIZE[0] - 350]

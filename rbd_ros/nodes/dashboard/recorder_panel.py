# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""A button that records, on the machine where the page is served; it sends nothing."""

from __future__ import annotations

import atexit
from pathlib import Path
import shutil
import threading
from typing import Any

from rbd_ros.errors import RbdError
from rbd_ros.nodes.dashboard.operator import VIEW_ONLY
from rbd_ros.nodes.recorder import Recorded, Recorder
from rbd_ros.quoting import markdown_code, markdown_text
from rbd_ros.recording.mcap_file import McapFile
from rbd_ros.recording.topics import named_by_time, topics_of

__all__ = ['RecorderPanel']

START, END = 'Record', 'End the recording'
PERIOD = 0.2  # s between two looks at the button
#: Bytes: a recording ends when it is as long, or when less is free on the disk.
LONGEST = LEAST_FREE = 10**9


class RecorderPanel:
    """
    Record what the robot and its controller say, as ``rbd record`` does.

    :param gui: of the page.
    :param controller: full name of its node.
    :param joint_states: full name of the topic.
    :param folder: gets the files.
    :param allowed: whether the page may do more than look; if not, nobody fills a disk by it.
    """

    def __init__(self, gui: Any, controller: str, joint_states: str, folder: Path, *,
                 allowed: bool) -> None:
        self._allowed = allowed
        self._controller, self._joint_states, self._folder = controller, joint_states, folder
        self._path: Path | None = None
        self._recorded: Recorded | None = None
        self._failure = ''
        self._ending, self._lock = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None
        with gui.add_folder('Record', expand_by_default=False):
            self.button = gui.add_button(START, disabled=not allowed)
            self.words = gui.add_markdown(
                f'Files are written to {markdown_code(str(folder))}.' if allowed else VIEW_ONLY)
        self.button.on_click(lambda _: self.press())
        atexit.register(self.end)  # so that the file has its end, too

    @property
    def is_recording(self) -> bool:
        """Return whether a file is being written."""
        return self._thread is not None and self._thread.is_alive()

    def press(self) -> None:
        """Begin, or end."""
        if not self._allowed:  # a browser may press a grey button
            return
        with self._lock:
            if self.is_recording:
                self._ending.set()
                return
            self._path, self._recorded, self._failure = self._folder / named_by_time(), None, ''
            self._ending.clear()
            self._thread = threading.Thread(target=self._record, name='recorder', daemon=True)
            self._thread.start()

    def end(self) -> None:
        """End the recording, and wait until its file is whole."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(8.0)
        atexit.unregister(self.end)

    def update(self) -> None:
        """Show how far it is; to be called some times per second."""
        self.button.label = END if self.is_recording else START
        if self._path is None:
            return
        told = '' if self._recorded is None else f': {self._recorded.line()}'
        doing = 'Recording' if self.is_recording else 'Recorded'
        self.words.content = (f'{self._failure} ' if self._failure else '') + (
            f'{doing} {markdown_code(str(self._path))}{told}.')

    def _record(self) -> None:
        path = self._path
        assert path is not None
        topics = topics_of(self._controller, self._joint_states)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with McapFile(path) as file, Recorder(file, topics, self._controller) as recorder:
                while not self._ending.is_set():
                    recorder.spin(PERIOD)
                    self._recorded = recorder.recorded
                    self._check(file.size)
                if silent := recorder.wait_for_parameters():
                    self._failure = (f'**{silent[0]} did not tell its parameters, which '
                                     '`rbd replay` needs: record again.**')
                self._recorded = recorder.recorded
        except (RbdError, OSError) as error:
            self._failure = f'**{markdown_text(str(error))}**'
            self._recorded = None

    def _check(self, size: int) -> None:
        """End a recording that nobody looks after before it fills the disk."""
        if size > LONGEST or shutil.disk_usage(self._folder).free < LEAST_FREE:
            self._failure = f'**It was ended at {size / 1e6:.0f} MB, before the disk is full.**'
            self._ending.set()

# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
How fluent the dashboard is: pictures per second in a browser, and what its process takes.

The built-in arm moves along a trajectory while one page of it is open. A picture is one in which
the scene was drawn anew. The name of its renderer tells whether the browser has a graphics card.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
import os
from pathlib import Path
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

from benchmark.node.process import usage
from builtin_interfaces.msg import Duration
import numpy as np
from rbd_ros.control.modes import Takes, taking
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

ROOT = Path(__file__).resolve().parents[1]
SIZE = (1200, 900)  # of the window, pixels
PATIENCE = 120.0  # s for a start, and for the browser
SECONDS = 10.0  # of each measurement
LOOK = 0.1  # s between two looks at the joints, and at most for one
CHANGED = 2e-3  # share of the picture that an arm changes at least as it moves
AMPLITUDE, PERIOD = 0.25, 4.0  # rad, s: of the motion of each joint

#: Counts the pictures in which the scene was drawn: calls that draw into a canvas set a mark.
COUNT = """
window.pictures = 0;
let marked = false;
for (const name of ['drawElements', 'drawArrays', 'drawElementsInstanced',
                    'drawArraysInstanced']) {
    const drawing = WebGL2RenderingContext.prototype[name];
    WebGL2RenderingContext.prototype[name] = function (...words) {
        marked = true;
        return drawing.apply(this, words);
    };
}
const look = () => {
    window.pictures += marked;
    marked = false;
    requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""
RENDERER = """(() => {
    const gl = document.createElement('canvas').getContext('webgl2');
    return gl.getParameter(gl.getExtension('WEBGL_debug_renderer_info').UNMASKED_RENDERER_WEBGL);
})()"""


@contextmanager
def demo() -> Iterator[tuple[str, int]]:
    """Start the README's first command; give the page's address and the dashboard's process."""
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / 'log'
        started = subprocess.Popen(
            ['ros2', 'launch', 'rbd_ros', 'controller.launch.py', 'dashboard:=true',
             f'dashboard_port:={port}'],
            stdout=log.open('w'), stderr=subprocess.STDOUT, start_new_session=True)
        try:
            address = _told(log, rf'open (http://127\.0\.0\.1:{port}/\S+)')
            process = _told(log, r'\[dashboard-\d+\]: process started with pid \[(\d+)\]')
            _told(log, r'\[controller\]: (running)')
            yield address, int(process)
        finally:
            os.killpg(started.pid, signal.SIGINT)
            started.wait(PATIENCE)


def _told(log: Path, pattern: str) -> str:
    end = time.monotonic() + PATIENCE
    while (found := re.search(pattern, log.read_text())) is None:
        if time.monotonic() > end:
            raise RuntimeError(f'no "{pattern}" in {PATIENCE:g} s:\n{log.read_text()[-2000:]}')
        time.sleep(0.1)
    return found[1]


class Mover(Node):
    """Switch the controller to a mode that follows trajectories, and send one."""

    def __init__(self) -> None:
        super().__init__('mover', enable_rosout=False, start_parameter_services=False)
        self._state: JointState | None = None
        self.create_subscription(JointState, 'joint_states', self._on_state, 1)
        self._trajectory = self.create_publisher(
            JointTrajectory, 'controller/joint_trajectory', 1)
        self._parameters = self.create_client(SetParameters, 'controller/set_parameters')

    def _on_state(self, message: JointState) -> None:
        self._state = message

    def watch(self, seconds: float) -> np.ndarray:
        """Return positions of the joints during some seconds, a few times per second."""
        seen, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(LOOK)
            rclpy.spin_once(self, timeout_sec=LOOK)
            assert self._state is not None
            seen.append(list(self._state.position))
        return np.array(seen)

    def _wait(self, condition: Any) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError('the controller does not answer')
            rclpy.spin_once(self, timeout_sec=0.1)

    def start(self, seconds: float) -> None:
        """Let every joint swing about where it is."""
        self._wait(self._parameters.service_is_ready)
        value = ParameterValue(type=ParameterType.PARAMETER_STRING,
                               string_value=taking(Takes.TRAJECTORY)[0])
        answer = self._parameters.call_async(
            SetParameters.Request(parameters=[Parameter(name='mode', value=value)]))
        self._wait(answer.done)
        self._state = None
        self._wait(lambda: self._state is not None and self._trajectory.get_subscription_count())
        assert self._state is not None
        path = JointTrajectory(joint_names=self._state.name)
        q, w = np.array(self._state.position), 2.0 * np.pi / PERIOD
        for t in np.arange(0.5, seconds, 0.1):
            rise = min(t / PERIOD, 1.0)  # it begins at rest
            slope = 1.0 / PERIOD if t < PERIOD else 0.0
            swing, speed = np.sin(w * t), w * np.cos(w * t)
            path.points.append(JointTrajectoryPoint(
                positions=(q + AMPLITUDE * rise * swing).tolist(),
                velocities=np.full(len(q), AMPLITUDE * (rise * speed + slope * swing)).tolist(),
                time_from_start=Duration(sec=int(t), nanosec=int(t % 1.0 * 1e9))))
        path.points[-1].velocities = [0.0] * len(q)
        self._trajectory.publish(path)


class Found(NamedTuple):
    """What was measured."""

    renderer: str  # of the browser
    rate: float  # pictures per second
    share: float  # of a core that the dashboard takes
    load: float  # of the machine, before


def measure() -> Found:
    """Return what was counted while the arm moved."""
    for folder in ('tools', 'test/browser'):  # which find and drive the browser of the tests
        sys.path.insert(0, str(ROOT / folder))
    programs, opened = import_module('rbd_env.browser'), import_module('cdp').opened
    scenery = import_module('chrome').scenery
    program = programs.find()
    if program is None:
        raise RuntimeError(f'no browser: {programs.ADVICE}')
    load = os.getloadavg()[0]
    rclpy.init()
    mover = Mover()
    try:
        with (demo() as (address, process), tempfile.TemporaryDirectory() as profile,
              opened(program, profile, PATIENCE) as browser):
            page = browser.open(SIZE)
            page.get(address)
            end = time.monotonic() + PATIENCE
            while 'State running' not in page.text and time.monotonic() < end:
                time.sleep(0.5)
            if 'State running' not in page.text:
                raise RuntimeError(f'the page does not show the controller that runs, but\n'
                                   f'{page.text[:2000]}')
            page.run(f'(() => {{{COUNT}}})()')
            renderer = page.run(RENDERER)
            mover.start(5.0 * SECONDS)
            time.sleep(PERIOD)
            pictures, cpu = page.run('window.pictures'), usage(process).cpu
            start = time.monotonic()
            positions = mover.watch(SECONDS)
            passed = time.monotonic() - start
            share = (usage(process).cpu - cpu) / passed
            rate = (page.run('window.pictures') - pictures) / passed
            running = 'State running' in page.text
            views = []
            for _ in range(3):                  # two of them may show the same posture
                views.append(scenery(page))
                time.sleep(0.25 * PERIOD)
    finally:
        mover.destroy_node()
        rclpy.shutdown()
    if not running:
        raise RuntimeError('the controller did not run to the end: the machine is too busy')
    refuse_still(positions, rate, views)
    return Found(str(renderer), rate, share, load)


def refuse_still(positions: np.ndarray, rate: float, views: Sequence[np.ndarray]) -> None:
    """
    Raise an error unless an arm that moved was drawn.

    :param positions: of its joints while it was measured, (times, joints).
    :param rate: pictures per second.
    :param views: what was seen beside the panel, a quarter of a period apart.
    :raises RuntimeError: which says what was missing.
    """
    swing = np.ptp(positions, axis=0)
    if not (np.abs(swing - 2.0 * AMPLITUDE) < 0.4 * AMPLITUDE).all():
        raise RuntimeError(f'the joints swing by {np.round(swing, 3).tolist()} rad, not by '
                           f'{2.0 * AMPLITUDE:g}: nothing that moves as it should was drawn')
    changed = max(float(np.mean(np.abs(one - other).max(axis=-1) > 30))
                  for one, other in pairwise(views))
    if not (rate > 0.0 and changed > CHANGED):
        raise RuntimeError(f'{rate:g} pictures per second, of which {100.0 * changed:.2f} % '
                           'change while the arm moves: the page does not draw it')


def report() -> tuple[str, dict[str, object]]:
    """Measure, and say it."""
    found = measure()
    return (f'{found.renderer}\n'
            f'{found.rate:.1f} pictures per second of {SIZE[0]} x {SIZE[1]} pixels; the dashboard '
            f'takes {100.0 * found.share:.1f} % of a core (load {found.load:.1f} before)',
            found._asdict())

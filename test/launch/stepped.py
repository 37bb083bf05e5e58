# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
The built-in arm as a robot that moves in step with the controller, on a clock in our hands.

Each state is answered before the next one is made: the torque of the answer moves the arm
through one period. What happens does not depend on how fast the machine is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
import re
import time
import unittest

import numpy as np
import numpy.typing as npt
from rbd_env.pace import patient
from rbd_ros import Dynamics, load_urdf
import rclpy
import rig
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

Array = npt.NDArray[np.float64]

#: without its rotors: states that jump then ask for torques within the rate limits, and poses near
#: a singular one are reported
URDF = re.sub(r'\s*<rotorInertia>.*?</rotorInertia>', '', (
    Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf').read_text())
JOINTS = tuple(f'joint_{k}' for k in range(1, 8))
START = np.array([0.1, 0.4, -0.2, -1.2, 0.3, 0.8, 0.2])

PERIOD = 10_000_000  # ns of simulated time
PATIENCE = patient(5.0)  # s for an answer

PARAMETERS: Mapping[str, object] = {
    'robot_description': URDF, 'driver_adds': 'none',
    'release_torque': 'zero', 'command_type': 'joint_state',
    'nominal_rate': 1e9 / PERIOD, 'minimum_rate': 20.0, 'state_timeout': 0.5, 'stop_time': 0.5,
    'ramp_time': 0.1, 'switch_time': 0.1, 'brake_time': 0.1, 'hold_time': 0.1,
    'brake_damping': [0.1], 'release_time': 0.1, 'tracking_limits': [10.0],
    'reference.acceleration': [50.0], 'start.time': 0.0, 'start.watch_time': 0.0,
    'free_damping': [0.0],
    'state_tolerance': [100.0],  # the arm is put anywhere, at any velocity
}


def patience_for(client: rig.Client, unanswered: int) -> float:
    """
    Return for how many seconds to wait for the answer to a state.

    Who does not run need not answer: while it looks at states before the first torque, nothing is
    waited for but that each is taken. Should that last, the machine is slow and gets more time.

    :param unanswered: states in a row, up to now.
    """
    if client.last('state') == 'running':
        return PATIENCE
    return 0.01 if unanswered < 100 else 0.05


class SteppedArm:
    """One controller and the arm that it moves."""

    def __init__(self, client: rig.Client, q: Array = START) -> None:
        self.client = client
        self.now = 1_000_000_000  # ns
        self.q, self.qd = q.copy(), np.zeros(len(q))
        self.stuck = True  # held by brakes
        self.push = np.zeros(len(q))  # N.m, of somebody who pushes the arm
        self.unanswered = 0  # in a row
        self._dynamics = Dynamics(load_urdf(URDF))

    def step(self, patience: float | None = None) -> rig.Command | None:
        """Send one state; move the arm by the torque that answers it."""
        client = self.client
        if patience is None:
            patience = patience_for(client, self.unanswered)
        self.now += PERIOD
        clock = Clock()
        clock.clock = rig.to_time(self.now)
        client.clock.publish(clock)
        client.states.publish(rig.state_message(JOINTS, self.q, self.qd, stamp=self.now))
        answer = client.answer(self.now, patience)
        if answer is None:
            self.unanswered += 1
            self.qd = np.zeros_like(self.qd)  # without torque the brakes hold
            assert patience < PATIENCE or self.unanswered < 20, 'the controller does not answer'
            return None
        self.unanswered = 0
        if not self.stuck:
            self._move(answer.effort)
        return answer

    def _move(self, torque: Array, parts: int = 10) -> None:
        h = 1e-9 * PERIOD / parts
        for _ in range(parts):
            self.qd = self.qd + h * self._dynamics.forward_dynamics(
                self.q, self.qd, torque + self.push)
            self.q = self.q + h * self.qd

    def run(self, seconds: float) -> None:
        """Let simulated time pass."""
        for _ in range(round(seconds * 1e9 / PERIOD)):
            self.step()

    def run_until(self, condition: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
        """Go on until a condition holds, for some simulated time at most."""
        end = self.now + seconds * 1e9
        while not condition():
            assert self.now < end, f'{what}: not within {seconds:g} s of simulated time'
            self.step()

    def settle(self, what: str = 'a request') -> None:
        """Go on for as long as a message needs to be taken on a busy machine."""
        end = time.monotonic() + 0.3
        self.client.get('mode')
        self.run_until(lambda: time.monotonic() > end, what)

    def trigger(self, name: str) -> None:
        """Call ~/stop or ~/reset, which must succeed, while time goes on."""
        done = self.client.ask(Trigger, name, Trigger.Request())
        self.run_until(done.done, f'an answer of {name}')
        assert done.result().success, done.result().message

    def transition(self, transition: int) -> bool:
        """Make a transition while time goes on."""
        done = self.client.ask_transition(transition)
        while not done.done():
            self.step(0.02)
        return done.result().success

    def bring_up(self, **parameters: object) -> None:
        """Configure, activate and wait until it runs; the arm is free from then on."""
        client = self.client
        if parameters:
            client.must_set(parameters)
        assert client.transition(rig.CONFIGURE), client.last('log')
        self.activate()

    def activate(self) -> None:
        """Activate and wait until it runs."""
        client = self.client
        client.wait(lambda: client.states.get_subscription_count() > 0, 'the controller')
        assert self.transition(rig.ACTIVATE), client.last('log')
        self.run_until(lambda: client.last('state') == 'running', 'running', 10.0)
        self.stuck = False

    def put_down(self) -> None:
        """Deactivate and clean up; where that fails, the tests after this one need not."""
        fine = self.client.lifecycle() != 'active' or self.transition(rig.DEACTIVATE)
        self.client.put_down()
        assert fine, f'the deactivation failed: {self.client.last("log")}'

    def block(self) -> None:
        """Hold the arm by brakes, whatever the torque."""
        self.stuck, self.qd = True, np.zeros_like(self.qd)


class SteppedCase(unittest.TestCase):
    """Tests of one controller and the stepped arm; ``prepare`` adds what they need besides."""

    @classmethod
    def setUpClass(cls) -> None:
        """Listen and talk."""
        rclpy.init()
        cls.client = rig.Client()
        cls.bench = SteppedArm(cls.client)
        cls.prepare()

    @classmethod
    def prepare(cls) -> None:
        """Create publishers, and a peer to compare with."""

    @classmethod
    def tearDownClass(cls) -> None:
        """End the client."""
        cls.client.close()
        rclpy.shutdown()

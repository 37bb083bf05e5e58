# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Bytes of states in, bytes of commands out: whatever their form, the controller is the same."""

from codec_oracle import joint_state
import controller_rig
import numpy as np
import pytest
from rbd_ros.wire.reading import JointStateReader

PERIOD = 0.001
PHASE = 0.9 * np.arange(7)


class Sending(controller_rig.Arm):
    """The arm, and the bytes of its commands."""

    def __init__(self, **values):
        self.messages = []
        super().__init__(**values)

    def take_torque(self, torque):
        """Keep what leaves."""
        super().take_torque(torque)
        self.messages.append(self.controller.command.tobytes())


class Wire:
    """The arm behind messages; what it publishes is kept."""

    def __init__(self, kind='float64_multi_array', order=range(7), frame='', **values):
        self.arm = Sending(**({'ramp_time': 0.1, 'command_type': kind} | values))
        self.controller, self.messages = self.arm.controller, self.arm.messages
        self.controller.p.states.ages.clock_offset = -1e4  # its stamps are of another clock
        self.order, self.frame, self.padding = list(order), frame, 0
        self.time = 50.0

    def state(self, q, qd, stamp=None):
        """Bring one message, joints in the order of the publisher."""
        self.time += PERIOD
        stamps = divmod(round((self.time + 1e4 if stamp is None else stamp) * 1e9), 10**9)
        joints = self.arm.robot.joints
        data = joint_state([joints[k] for k in self.order], *(
            [float(v[k]) for k in self.order] for v in (q, qd)), [], frame=self.frame,
            stamp=stamps, padding=self.padding)
        assert self.controller.take_message(self.time, self.time, data) is not None
        self.controller.take_timer(self.time, self.time)

    def path(self):
        """Return a smooth motion at the present time."""
        phase = 2.0 * self.time + PHASE
        return 0.1 * np.sin(phase) - 0.3, 0.2 * np.cos(phase)

    def run(self, steps):
        """Bring many states along the path; return how many commands came."""
        before = len(self.messages)
        for _ in range(steps):
            self.state(*self.path())
        return len(self.messages) - before

    def start(self):
        """Activate and run until the law is in force."""
        self.controller.post(self.controller.activate)
        self.run(400)
        assert self.arm.state == 'running'


def torques(messages):
    """Return the numbers at the end of commands."""
    return [np.frombuffer(message[-56:]).tolist() for message in messages]


def test_any_publisher_and_command():
    """Order of the joints, frame, padding and kind of command change no bit of a torque."""
    made = []
    for kind, order, frame, padding in (
            ('float64_multi_array', range(7), '', (0, 0)),
            ('float64_multi_array', (3, 0, 6, 1, 2, 5, 4), 'base', (0xa5, 0x5a)),
            ('joint_state', (6, 5, 4, 3, 2, 1, 0), 'world_link', (0x5a, 0xa5))):
        wire = Wire(kind, order, frame, mode='computed_torque', tracking_limits=[10.0])
        wire.padding = padding[0]
        wire.start()
        wire.padding = padding[1]
        assert wire.run(200) == 200
        made.append(torques(wire.messages))
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize('spoil', ['still', 'nan', 'late'])
def test_refused_states_stamp_no_torque(spoil):
    """What leaves while states are refused has the stamp of the last one that was accepted."""
    wire = Wire('joint_state')
    wire.start()
    good = wire.time + 1e4
    count = len(wire.messages)
    for k in range(400):
        q, qd = wire.path()
        if spoil == 'nan':
            q[2] = np.nan
        stamps = {'still': good, 'nan': None, 'late': good + 1e-6 * (k + 1)}
        wire.state(q, qd, stamp=stamps[spoil])
    read = JointStateReader().read
    sent = [read(message).stamp for message in wire.messages[count:]]
    assert len(sent) > 50 and wire.arm.state != 'running'
    assert max(sent) <= good + (0.1 if spoil == 'late' else 1e-6)  # 1e-6: rounding of the sum

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
Payload and direction of gravity over topics and parameters, against Pinocchio.

One controller is configured in several ways. The clock is in our hands and the arm stands
still, so that each command is known exactly: also those on a ramp.
"""

from __future__ import annotations

from collections.abc import Callable
import time
import unittest

from geometry_msgs.msg import InertiaStamped, TransformStamped
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pinocchio as pin
import pytest
import rig
from sensor_msgs.msg import Imu
from stepped import PARAMETERS, PERIOD, START, SteppedCase, URDF
from tf2_msgs.msg import TFMessage

#: largest error of a torque vector over its own norm
TOLERANCE = 1e-8

DT = 1e-9 * PERIOD
RAMP = 0.5  # s, simulated
SLEW = 40.0  # m/s^3
GRAVITY_TIMEOUT = 0.2  # s, simulated
TIP = 'tool0'
DOWN = np.array([0.0, 0.0, -9.81])
TILTED = np.array([3.1, -5.2, -7.713268])

MASS, COM = 2.5, np.array([0.03, -0.02, 0.06])
INERTIA = np.array([[0.02, 0.001, -0.002], [0.001, 0.025, 0.003], [-0.002, 0.003, 0.018]])
LOAD = pin.Inertia(MASS, COM, INERTIA)


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start a controller that waits to be configured, on simulated time."""
    return LaunchDescription([rig.controller(**PARAMETERS, **{
        'use_sim_time': True, 'payload.ramp_time': RAMP, 'gravity_slew': SLEW,
        'gravity_timeout': GRAVITY_TIMEOUT, 'activation_timeout': 10.0}), ReadyToTest()])


class Peer:
    """The arm in Pinocchio, with a payload on its tip and a direction of gravity."""

    def __init__(self, load: pin.Inertia | None = None, gravity: np.ndarray = DOWN) -> None:
        self.model = pin.buildModelFromXML(URDF)
        if load is not None:
            tip = self.model.frames[self.model.getFrameId(TIP)]
            self.model.appendBodyToJoint(tip.parentJoint, load, tip.placement)
        self.model.gravity.linear = gravity
        self.data = self.model.createData()

    def torque(self, q: np.ndarray, qd: np.ndarray | None = None,
               qdd: np.ndarray | None = None) -> np.ndarray:
        """Return inverse dynamics; without motion gravity."""
        zero = np.zeros(7)
        return pin.rnea(self.model, self.data, q, zero if qd is None else qd,
                        zero if qdd is None else qdd)

    def placement(self, frame: str, other: str, q: np.ndarray) -> pin.SE3:
        """Return the placement of a frame in another one."""
        pin.framesForwardKinematics(self.model, self.data, q)
        found = [self.data.oMf[self.model.getFrameId(name)] for name in (other, frame)]
        return found[0].inverse() * found[1]


def message_of(load: pin.Inertia, frame: str) -> InertiaStamped:
    """Return a payload as a message; its inertia is about its centre of mass."""
    message = InertiaStamped()
    message.header.frame_id = frame
    inertia, tensor = message.inertia, load.inertia
    inertia.m = float(load.mass)
    inertia.com.x, inertia.com.y, inertia.com.z = (float(x) for x in load.lever)
    for name, i, j in (('ixx', 0, 0), ('ixy', 0, 1), ('ixz', 0, 2), ('iyy', 1, 1),
                       ('iyz', 1, 2), ('izz', 2, 2)):
        setattr(inertia, name, float(tensor[i, j]))
    return message


class Case(SteppedCase):
    """A controller on a clock in our hands, and an arm that stands still."""

    @classmethod
    def prepare(cls) -> None:
        """Create the publishers of payload and gravity."""
        node = cls.client.node
        cls.payload = node.create_publisher(InertiaStamped, 'controller/payload', 1)
        cls.imu = node.create_publisher(Imu, 'controller/imu', 10)
        cls.tf = node.create_publisher(TFMessage, '/tf', 10)

    def configure(self, **values: object) -> None:
        """Bring the controller up with parameters; it is put down after the test."""
        settings = {
            'mode': 'gravity_compensation', 'driver_adds': 'none',
            'release_torque': 'zero', 'driver_knows_payload': False,
            'gravity_source': 'parameter', 'gravity_frame': '', 'gravity': DOWN.tolist(),
            'payload.mass': 0.0, 'payload.com': [0.0] * 3, 'payload.inertia': [0.0] * 6}
        self.client.must_set(settings | values)
        self.assertTrue(self.client.transition(rig.CONFIGURE), self.client.last('log'))
        self.addCleanup(self.put_down)
        self.client.wait(lambda: self.client.states.get_subscription_count() > 0, 'it')

    def put_down(self) -> None:
        """Deactivate if active, clean up."""
        self.bench.put_down()

    def activate(self) -> None:
        """Activate; the arm stays where it is."""
        self.bench.activate()
        self.bench.stuck = True
        self.bench.run(0.3)

    def commands(self, count: int) -> list[np.ndarray]:
        """Return so many torques in a row."""
        answers = [self.bench.step() for _ in range(count)]
        return [answer.effort for answer in answers if answer is not None]

    def expect(self, wanted: np.ndarray) -> None:
        """Expect a torque now."""
        found = self.commands(1)[-1]
        size = np.linalg.norm(wanted) or 1.0
        self.assertLess(np.linalg.norm(found - wanted) / size, TOLERANCE, f'{found} {wanted}')

    def ramp(self, request: Callable[[], None], before: np.ndarray, after: np.ndarray,
             most: np.ndarray) -> None:
        """Expect that a request leads from one torque to another in bounded steps."""
        self.expect(before)
        request()
        found = [before]
        for _ in range(2000):
            found += self.commands(1)
            if np.linalg.norm(found[-1] - after) < TOLERANCE * (np.linalg.norm(after) or 1.0):
                break
        self.expect(after)
        steps = np.abs(np.diff(found, axis=0)).max(axis=0)
        self.assertTrue((steps <= most * (1.0 + 1e-6) + 1e-9).all(), f'{steps} {most}')
        self.assertTrue((steps > 0.5 * most)[np.abs(after - before) > 1e-3].any())


class TestPayload(Case):
    """Payloads from the topic and from parameters."""

    def test_topic(self) -> None:
        """A payload comes over its ramp in any frame of the tip, and goes again."""
        self.configure()
        self.activate()
        bare, loaded = Peer().torque(START), Peer(LOAD).torque(START)
        share = np.abs(loaded - bare) * DT / RAMP
        self.ramp(lambda: self.payload.publish(message_of(LOAD, TIP)), bare, loaded, share)
        nothing = message_of(pin.Inertia.Zero(), TIP)
        self.ramp(lambda: self.payload.publish(nothing), loaded, bare, share)
        link = Peer().placement(TIP, 'link_7', START).act(LOAD)
        self.ramp(lambda: self.payload.publish(message_of(link, 'link_7')), bare, loaded, share)
        self.ramp(lambda: self.payload.publish(nothing), loaded, bare, share)
        base = Peer().placement(TIP, 'base_link', START).act(LOAD)
        self.ramp(lambda: self.payload.publish(message_of(base, 'base_link')), bare, loaded,
                  share)

    def test_refusals(self) -> None:
        """What no body can be, or is nowhere, is refused with the reason; nothing changes."""
        self.configure()
        self.activate()
        bare = Peer().torque(START)
        heavy = message_of(LOAD, TIP)
        heavy.inertia.ixx = 10.0
        negative = message_of(LOAD, TIP)
        negative.inertia.m = -1.0
        infinite = message_of(LOAD, TIP)
        infinite.inertia.com.x = float('inf')
        for text, message in {
                'no frame "tool1"; did you mean "tool0".*known: base_link': message_of(
                    LOAD, 'tool1'),
                'impossible for a rigid body': heavy,
                'negative': negative, 'not finite': infinite}.items():
            with self.subTest(text):
                time.sleep(1.0)  # reasons are logged once per second at most
                begin = time.monotonic()
                self.payload.publish(message)
                said = self.client.wait_text('log', 'payload: rejected', begin)
                self.assertRegex(said.text, text)
        self.bench.run(RAMP)
        self.expect(bare)

    def test_parameters(self) -> None:
        """A payload of parameters is there at the start, and changes over the ramp."""
        tensor = [INERTIA[i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
        self.configure(**{'payload.mass': MASS, 'payload.com': COM.tolist(),
                          'payload.inertia': tensor})
        self.activate()
        bare, loaded = Peer().torque(START), Peer(LOAD).torque(START)
        self.expect(loaded)
        nothing = {'payload.mass': 0.0, 'payload.inertia': [0.0] * 6}
        self.ramp(lambda: self.client.must_set(nothing), loaded, bare,
                  np.abs(loaded - bare) * DT / RAMP)
        for change, reason in (
                ({'payload.mass': -1.0}, 'payload.mass'),
                ({'payload.com': [0.0, 0.0]}, 'payload.com needs 3 entries'),
                ({'payload.inertia': [1.0, 0.0, 0.0, 1.0, 0.0, 3.0], 'payload.mass': 1.0},
                 'impossible for a rigid body')):
            taken, why = self.client.set(change)
            self.assertFalse(taken)
            self.assertIn(reason, why)
        self.expect(bare)

    def test_inertia_counts_in_computed_torque(self) -> None:
        """The law accelerates the payload too, and its velocity terms have it."""
        self.configure(mode='computed_torque', stiffness=[50.0], damping=[10.0])
        self.activate()
        self.payload.publish(message_of(LOAD, TIP))
        self.bench.settle()
        self.bench.run(RAMP)
        self.addCleanup(setattr, self.bench, 'q', START.copy())
        self.addCleanup(setattr, self.bench, 'qd', np.zeros(7))
        self.bench.q = START + np.array([0.02, -0.01, 0.02, 0.01, -0.02, 0.02, 0.01])
        self.bench.qd = np.array([0.05, 0.1, -0.1, 0.05, 0.1, -0.05, 0.1])
        qdd = 50.0 * (START - self.bench.q) - 10.0 * self.bench.qd
        self.bench.run(0.2)  # the rate limit of the torque is behind
        self.expect(Peer(LOAD).torque(self.bench.q, self.bench.qd, qdd))

    def test_driver_that_adds_gravity(self) -> None:
        """What the driver adds is taken off: with the payload if it knows it, without if not."""
        bare, loaded = Peer().torque(START), Peer(LOAD).torque(START)
        for adds in ('gravity', 'gravity_and_coriolis'):
            for knows in (False, True):
                with self.subTest(adds=adds, knows=knows):
                    self.configure(driver_adds=adds, driver_knows_payload=knows)
                    self.activate()
                    self.expect(np.zeros(7))
                    self.payload.publish(message_of(LOAD, TIP))
                    self.bench.settle()
                    self.bench.run(RAMP)
                    self.expect(np.zeros(7) if knows else loaded - bare)
                    self.doCleanups()


class TestGravity(Case):
    """Direction of gravity from parameters, an IMU and TF."""

    def test_parameter(self) -> None:
        """A tilted base is a parameter, and changes no faster than gravity_slew."""
        self.configure(gravity=TILTED.tolist())
        self.activate()
        tilted, level = Peer(gravity=TILTED).torque(START), Peer().torque(START)
        unit = np.column_stack([Peer(gravity=axis).torque(START) for axis in np.eye(3)])
        way = (DOWN - TILTED) / np.linalg.norm(DOWN - TILTED)
        self.ramp(lambda: self.client.must_set({'gravity': DOWN.tolist()}), tilted, level,
                  np.abs(unit @ way) * SLEW * DT)

    angles = (0.3, -0.4, 0.9)  # rad, of the base in the world

    def turned(self, mounting: np.ndarray | None = None) -> tuple[pin.Quaternion, np.ndarray]:
        """Return the orientation of what is mounted on the base, and gravity in the base."""
        R = pin.rpy.rpyToMatrix(*self.angles)
        return pin.Quaternion(R if mounting is None else R @ mounting), R.T @ DOWN

    def feed(self, send: Callable[[int], None]) -> None:
        """
        Send a direction with every state, at half the speed of real time.

        Directions pass through Python, states do not: time must not run away from it.
        """
        step = self.bench.step
        self.addCleanup(setattr, self.bench, 'step', step)

        def both(*arguments: float | None) -> rig.Command | None:
            send(self.bench.now)
            time.sleep(2.0 * DT)
            return step(*arguments)
        self.bench.step = both

    def moving_base(self, send: Callable[[int], None], source: str, **values: object) -> None:
        """Prove one source: needed at the start, obeyed, missed when it stops, taken again."""
        client, bench = self.client, self.bench
        self.configure(**values, activation_timeout=2.0)
        self.assertFalse(bench.transition(rig.ACTIVATE))
        client.wait(lambda: any(f'no direction of gravity from {source}' in said.text
                                for said in client.texts['log']), 'a reason')
        client.must_set({'activation_timeout': 10.0})
        alone = bench.step
        self.feed(send)
        self.activate()
        for angles in (self.angles, (-0.6, 0.2, 2.0), (0.5, 0.7, -1.1)):  # it moves
            self.angles = angles
            wanted = Peer(gravity=self.turned()[1]).torque(START)
            bench.run(0.7)  # as long as gravity_slew takes for the largest change
            self.expect(wanted)
        bench.step, begin = alone, bench.now
        bench.run_until(lambda: client.last('state') == 'state lost', 'a fault', 3.0)
        client.wait(lambda: 'gravity direction is too old' in client.last('fault'), 'its cause')
        # Simulated time goes on while the state is reported: a busy machine may add a second.
        self.assertLess((bench.now - begin) * 1e-9, GRAVITY_TIMEOUT + 1.0)
        bench.run_until(lambda: client.last('state') == 'fault', 'the end of the stop')
        self.feed(send)
        bench.run(0.1)
        bench.trigger('reset')
        bench.run_until(lambda: client.last('state') == 'running', 'running')
        bench.run(0.3)
        self.expect(wanted)

    def test_imu(self) -> None:
        """The orientation of an IMU on the base turns gravity; in another frame it is refused."""
        mounting = pin.rpy.rpyToMatrix(0.2, -0.1, 1.5)
        urdf = URDF.replace('</robot>', """<link name="imu"/>
            <joint name="imu_mount" type="fixed"><parent link="base_link"/><child link="imu"/>
            <origin rpy="0.2 -0.1 1.5"/></joint></robot>""")
        self.addCleanup(self.client.must_set, {'robot_description': URDF})

        def send(now: int, frame: str = 'imu') -> None:
            message = Imu()
            q, _ = self.turned(mounting)
            message.header.stamp, message.header.frame_id = rig.to_time(now), frame
            for name in 'xyzw':
                setattr(message.orientation, name, float(getattr(q, name)))
            self.imu.publish(message)
        self.moving_base(send, 'the topic /controller/imu', gravity_source='imu',
                         robot_description=urdf)
        self.feed(lambda now: send(now, 'link_7'))
        begin = self.client.texts['log'][-1].time
        self.bench.run_until(lambda: any(
            'not fixed to the base (known: base_link' in said.text
            for said in self.client.texts['log'] if said.time > begin), 'a reason', 5.0)

    def test_tf(self) -> None:
        """The z axis of a TF frame is up, wherever the base turns to."""
        def send(now: int) -> None:
            q, _ = self.turned()
            message = TransformStamped(child_frame_id='base_link')
            message.header.stamp, message.header.frame_id = rig.to_time(now), 'world'
            for name in 'xyzw':
                setattr(message.transform.rotation, name, float(getattr(q, name)))
            self.tf.publish(TFMessage(transforms=[message]))
        self.moving_base(send, 'TF from base_link to world', gravity_source='tf',
                         gravity_frame='world')


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the controller ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """It ends cleanly when it is told to."""
        launch_testing.asserts.assertExitCodes(proc_info)

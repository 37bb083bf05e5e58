# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""An arm under the controller and the page that drives it, on one clock: how it stops."""

from controller_rig import Arm, MODEL, SOFT, SPEED
import numpy as np
from page_rig import HOLD, PERIOD
import pytest
from rbd_ros.control.modes import Takes, taking
from rbd_ros.nodes.dashboard.dead_man import TIMEOUT
from rbd_ros.nodes.dashboard.joint_drive import ANGULAR_LAG, FASTEST, LEAD, USUAL
from rbd_ros.nodes.dashboard.operator import SET_POINT_AHEAD
from rbd_ros.quoting import markdown_text

pytestmark = pytest.mark.slow
MODE, SPRINGS = taking(Takes.TRAJECTORY)[:2]
TICKS = 20  # periods of the controller for one picture
DRIVE, AIM = 'Drive the joints', 'Drag a target'
#: slow and weak references, which the page would run away from
SETTINGS = {'as it is': {}, 'slow reference': {'reference.velocity': [0.1]},
            'slow robot': {'velocity_limits': [0.2]},
            'slow start': {'reference.acceleration': [0.1]}}


@pytest.fixture
def desk(made):
    """Give the page of the arm."""
    return made


class Led:
    """An arm in a mode, led by what the page sends."""

    held: tuple[str, ...] = ()

    def __init__(self, desk, box, mode, *, simulated=False, **values):
        self.desk, self.arm = desk, Arm(mode=mode, period=PERIOD / TICKS, **values)
        self.arm.release()
        desk.begin(mode=mode, simulated=simulated, q=self.arm.q)
        self.arm.each = self.each
        desk.tick(box)

    def each(self, time):
        """Let the page look 25 times per second; a held button is signalled 10 times."""
        desk, arm, k = self.desk, self.arm, round(time / self.arm.period)
        if self.held and k % (TICKS * 5 // 2) == 0:
            desk.visitor.hold(*self.held)
        if k % TICKS:
            return
        desk.clock.now += PERIOD
        desk.robot.q, desk.robot.reference = arm.q, arm.reference[0]
        desk.talk()
        desk.node.update()
        desk.listen()
        for sent in desk.sent['set-point']:
            if sent.message.points:
                arm.follow([1e-9 * SET_POINT_AHEAD], np.array([sent.message.points[0].positions]))
            else:
                arm.controller.post(arm.controller.hold)
        for _, p, (w, x, y, z) in desk.targets:
            arm.aim(p, (x, y, z, w))
        desk.forget()

    def run(self, seconds, *held):
        """Let time pass; buttons are held meanwhile."""
        self.held = held
        self.arm.run(seconds)
        self.held = ()

    def ask(self, k, goal):
        """Move a slider."""
        self.desk.put(MODEL.joint_names[k], float(goal))

    def block(self, blocked):
        """Hold the arm where it is, or set it free."""
        self.arm.external = None if blocked else np.zeros(len(SPEED))
        self.arm.still, self.arm.qd = blocked, np.zeros(len(SPEED))

    def pull(self, way):
        """Drag the handle of the target; return where the tool is."""
        before = self.arm.pose[:3, 3].copy()
        self.desk.visitor.pull('target', before + way)
        return before


def test_the_arm_goes_where_the_slider_is_at_an_even_speed(desk):
    """No joint is faster than the page says, and the motion is no stop and go."""
    led = Led(desk, DRIVE, MODE, simulated=True)
    arm, way = led.arm, np.array([0.8, -0.3, 0.0, 0.2, 0.0, 0.0, 0.5])
    goal = arm.q + way
    for k, q in enumerate(goal):
        led.desk.visitor.put(MODEL.joint_names[k], float(q))
    desk.called()
    arm.forget()
    led.run(4.0)
    assert arm.state == 'running', arm.fault
    np.testing.assert_allclose(arm.q, goal, atol=5e-3)
    qd, share = np.array(arm.qd_log), USUAL / 100.0
    assert (np.abs(qd).max(axis=0) < 1.1 * share * SPEED).all()
    needed = (np.abs(way) / (share * SPEED)).max()
    middle = slice(round(0.3 * needed / arm.period), round(0.9 * needed / arm.period))
    fastest = np.argmax(np.abs(way) / SPEED)
    assert qd[middle, fastest].min() > 0.8 * share * SPEED[fastest]


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('name', SETTINGS)
def test_the_arm_stops_when_the_button_is_released(desk, name):
    """It is at rest soon after the time of the dead-man and its own braking, and stays there."""
    values = SETTINGS[name]
    led = Led(desk, DRIVE, MODE, **values)
    arm = led.arm
    led.ask(0, arm.q[0] + 1.0)
    before = arm.q.copy()
    led.run(1.0)
    assert np.abs(arm.q - before).max() < 1e-3
    led.run(1.5, HOLD)
    speed, released = arm.qd[0], arm.q[0]
    assert speed > (0.02 if values else 0.15 * SPEED[0])
    arm.forget()
    led.run(4.0)
    moving = np.abs(np.array(arm.qd_log)[:, 0]) > 0.005 * SPEED[0]
    last = arm.period * (1 + int(np.flatnonzero(moving).max()))
    way = np.array(arm.q_log)[:, 0].max() - released
    # until no sign counts any more it goes on, and perhaps gets faster
    most = speed + TIMEOUT * values.get('reference.acceleration', [0.0])[0]
    braking = most / values.get('reference.acceleration', [10.0])[0]
    free = TIMEOUT + PERIOD + 0.1  # of the law, which comes after its reference
    assert last < free + 1.2 * braking + 0.3
    assert way < most * (free + 0.6 * braking) + 0.01
    assert arm.state == 'running', arm.fault
    there = arm.q.copy()
    led.run(1.0)
    assert np.abs(arm.q - there).max() < 2e-3


def test_a_slow_arm_stops_where_it_is_when_the_button_is_released(desk):
    """It does not go on to a set-point that was sent seconds ago."""
    led = Led(desk, DRIVE, MODE, **{'reference.velocity': [0.04]})
    arm, goal = led.arm, led.arm.q[0] + 0.12
    desk.put('Speed, %', FASTEST, 'Joints')
    led.ask(0, goal)
    led.run(1.8, HOLD)
    led.run(TIMEOUT + 0.3)
    there = arm.q[0]
    led.run(3.0)
    assert abs(arm.q[0] - there) < 2e-3 and there < goal - 0.02
    assert arm.state == 'running', arm.fault


def test_an_arm_that_hangs_in_its_springs_does_not_sink_at_each_start(desk):
    """Set-points begin at what the controller follows, not at where the robot is."""
    led = Led(desk, DRIVE, SPRINGS, gravity=[0.0, 0.0, -9.0], **SOFT)
    arm = led.arm
    led.run(3.0)
    assert np.abs(arm.q - arm.reference[0]).max() > 0.01
    first = arm.reference[0].copy()
    for _ in range(3):
        desk.put(DRIVE, False)
        desk.tick(DRIVE)
        led.ask(6, arm.reference[0][6] + 0.1)
        led.run(0.6, HOLD)
        led.run(1.5)
    assert arm.reference[0][6] > first[6] + 0.05
    np.testing.assert_allclose(arm.reference[0][:6], first[:6], atol=1e-9)


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('ticks', [False, True])
def test_an_arm_that_is_blocked_is_waited_for(desk, ticks):
    """However long and often the button is held, its springs are stretched by so much."""
    led = Led(desk, DRIVE, SPRINGS, tracking_limits=[3.0], **SOFT)
    arm = led.arm
    led.run(0.5)
    stands, first = arm.q.copy(), arm.reference[0].copy()
    led.block(True)
    led.ask(0, stands[0] + 1.5)
    for _ in range(4):
        said = []
        for _ in range(10):
            led.run(0.2, HOLD)
            said.append(desk.shown('Joints'))
        name = markdown_text(MODEL.joint_names[0])
        assert any(f'does not follow: {name} is' in each for each in said)
        led.run(1.0)
        assert 'does not follow' not in desk.shown('Joints')
        if ticks:
            desk.put(DRIVE, False)
            desk.tick(DRIVE)
            led.ask(0, stands[0] + 1.5)
    wound = arm.reference[0] - first
    most = (1.0 + 0.5 * ticks) * ANGULAR_LAG + LEAD * USUAL / 100.0 * SPEED[0]
    assert 0.5 * ANGULAR_LAG < wound[0] < 1.1 * most and np.abs(wound[1:]).max() < 0.01
    led.block(False)  # it goes no further than its reference, and then on
    led.run(3.0)
    assert arm.q[0] < stands[0] + 1.2 * most
    led.run(4.0, HOLD)
    assert arm.q[0] > stands[0] + 1.0 and arm.state == 'running', arm.fault


def test_a_blocked_arm_can_be_driven_back(desk):
    """What brings the set-point nearer to the robot is sent."""
    led = Led(desk, DRIVE, SPRINGS, **SOFT)
    arm = led.arm
    led.run(0.5)
    led.block(True)
    first = arm.reference[0][0]
    led.ask(0, arm.q[0] + 1.5)
    led.run(2.0, HOLD)
    assert arm.reference[0][0] > first + 0.1
    led.ask(0, arm.q[0] - 0.1)
    led.run(2.0, HOLD)
    assert arm.reference[0][0] < first


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('mode', taking(Takes.TARGET))
def test_the_tool_follows_a_target_and_stops_soon_after_release(desk, mode):
    """The frame is at rest within the time of the dead-man and a short braking."""
    led = Led(desk, AIM, mode)
    arm = led.arm
    before = led.pull((0.0, 0.0, 0.4))
    led.run(2.0, 'Hold to follow')
    released, path = arm.pose[:3, 3].copy(), []
    assert np.linalg.norm(released - before) > 0.1
    for _ in range(300):
        led.run(0.01)
        path.append(arm.pose[:3, 3].copy())
    way, last = np.linalg.norm(np.array(path) - released, axis=1), 0.01 * (1 + np.flatnonzero(
        np.linalg.norm(np.diff(path, axis=0), axis=1) > 1e-4).max())
    assert last < TIMEOUT + 1.2 and way.max() < 0.06
    assert arm.state == 'running', arm.fault


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('mode', taking(Takes.TARGET))
def test_a_tool_that_was_blocked_does_not_jump(desk, mode):
    """Nobody holds the button when it is free again: it stays within a few centimetres."""
    led = Led(desk, AIM, mode)
    arm = led.arm
    before = led.pull((0.0, 0.0, 0.4))
    led.run(0.5)
    led.block(True)
    led.run(4.0, 'Hold to follow')
    led.run(1.0)
    led.block(False)
    away = []
    for _ in range(100):
        led.run(0.02)
        away.append(np.linalg.norm(arm.pose[:3, 3] - before))
    assert max(away) < 0.03, arm.fault


def test_a_tool_in_soft_springs_does_not_sink_at_each_press(desk):
    """A target goes on from the last one, at which the frame hangs."""
    led = Led(desk, AIM, taking(Takes.TARGET)[1], gravity=[0.0, 0.0, -9.0])
    arm, heights = led.arm, []
    led.run(3.0)
    led.pull((0.4, 0.0, 0.0))
    for _ in range(5):
        led.run(0.5, 'Hold to follow')
        led.run(2.0)
        heights.append(arm.pose[2, 3])
    assert np.abs(np.diff(heights)).max() < 0.005

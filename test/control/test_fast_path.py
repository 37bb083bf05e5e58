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

"""The fast path gives, bit by bit, what the slow path gives, and takes nothing unusual."""

from codec_oracle import joint_state
from cycle_rig import Arm
import numpy as np
import pytest

from rbd_ros.control.parameters.row import scalar
from rbd_ros.control.safety.causes import Cause
from rbd_ros.control.step.modes import Follows, own_mode
from rbd_ros.nodes.codec import JointStateReader, STAMP, unpack_stamp
from rbd_ros.nodes.controller.fast_path import FastPath
from rbd_ros.nodes.controller.outputs import ArrayOutput, JointStateOutput

pytestmark = pytest.mark.slow

PERIOD = 0.001
MODES = ('gravity_compensation', 'damping', 'computed_torque', 'hold', 'operational_space')
PHASE = 0.9 * np.arange(7)


class Wire:
    """A publisher that keeps what it gets."""

    def __init__(self):
        self.messages = []

    def publish(self, message):
        """Keep."""
        self.messages.append(message)


class Pair:
    """The same arm twice: on the fast path wherever possible, and on the slow path alone."""

    def __init__(self, kind=ArrayOutput, order=None, frame='', **values):
        values = {'ramp_time': 0.2} | values  # ramps take the slow path, and all begin with one
        self.arms = Arm(**values), Arm(**values)
        self.wires = Wire(), Wire()
        self.outputs = [kind(wire, self.arms[0].robot.joints) for wire in self.wires]
        for arm, output in zip(self.arms, self.outputs):
            arm.cycle.loop._publish = lambda torque, arm=arm, output=output: output.publish(
                torque, arm.cycle.stamp)
        self.fast_path = FastPath(self.arms[0].cycle, self.outputs[0])
        self.reader = JointStateReader()
        self.names = list(self.arms[0].robot.joints)
        self.order = list(order) if order is not None else list(range(len(self.names)))
        self.frame, self.time, self.padding = frame, 50.0, 0

    def post(self, action):
        """Post a request to both."""
        for arm in self.arms:
            arm.cycle.loop.post(lambda now, steady, arm=arm: action(arm.cycle, now, steady))

    def apply(self, **values):
        """Change parameters of both."""
        for arm in self.arms:
            arm.change(**values)

    def data(self, q, qd, effort=(), stamp=None):
        """Serialise a state, joints in the order of the publisher."""
        ns = round((self.time + 1e4 if stamp is None else stamp) * 1e9)
        names = [self.names[k] for k in self.order]
        values = [[float(v[k]) for k in self.order] if len(v) else [] for v in (q, qd, effort)]
        return joint_state(names, *values, frame=self.frame, stamp=divmod(ns, 10**9),
                           padding=self.padding)

    def state(self, q, qd, effort=(), stamp=None, tick=True):
        """Give one message to both; returns whether the first took the fast path."""
        self.time += PERIOD
        return self.give(self.data(q, qd, effort, stamp), tick)

    def others(self, names, q, qd):
        """Give the state of joints that another publisher has."""
        ns = round((self.time + 1e4) * 1e9)
        self.give(joint_state(names, q.tolist(), qd.tolist(), [], stamp=divmod(ns, 10**9)))

    def give(self, data, tick=True):
        """Give bytes to both; returns whether the first took the fast path."""
        taken = False
        for k, arm in enumerate(self.arms):
            reading = self.reader.read(data)
            arm.cycle.arriving = reading.seconds, reading.nanoseconds
            if k == 0 and self.fast_path.run(self.time, self.time, data, reading.stamp):
                taken = True
            else:
                sent = arm.cycle.state(self.time, self.time, reading.names, reading.position,
                                       reading.velocity, reading.effort, reading.stamp)
                if sent and k == 0:
                    self.fast_path.learn(reading, data)
            if tick:
                arm.cycle.tick(self.time, self.time)
        return taken

    def path(self, t):
        """Return a smooth motion."""
        phase = 2.0 * t + PHASE
        return 0.1 * np.sin(phase) - 0.3, 0.2 * np.cos(phase)

    def run(self, steps):
        """Give many states along the path; returns how many went by the fast path."""
        return sum(self.state(*self.path(self.time)) for _ in range(steps))

    def check(self):
        """Compare everything that others can see of the two."""
        assert self.wires[0].messages == self.wires[1].messages
        one, two = (arm.cycle for arm in self.arms)
        for pick in (lambda c: c.joints.q, lambda c: c.joints.qd, lambda c: c.joints.effort,
                     lambda c: c.limiter.last, lambda c: c.limiter.sent,
                     lambda c: c.limiter.last_sent, lambda c: np.array(c.stamp),
                     lambda c: c.limiter.wanted, lambda c: c.limiter.driver,
                     lambda c: c.limiter.saturated, lambda c: c.limiter.slewing,
                     lambda c: c.loop.sent, lambda c: c.loop._gravity,
                     lambda c: c.loop.switch._last, lambda c: c.reference.state):
            a, b = pick(one), pick(two)
            if not np.array_equal(a, b):  # much quicker than what words the difference
                np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(one.joints.motion.mismatch, two.joints.motion.mismatch,
                                   rtol=0, atol=1e-12)  # fused in the kernel, perhaps
        assert (one.supervisor.state, one.loop.published, one.states, one.joints.expiry) == (
            two.supervisor.state, two.loop.published, two.states, two.joints.expiry)
        assert one.fault_text() == two.fault_text()

    def start(self):
        """Activate and run until the law is in force and the fast path is taken."""
        self.post(lambda cycle, now, steady: cycle.activate(now, steady))
        values = self.arms[0].values
        self.run(round((float(values['ramp_time']) + float(values['state_timeout']) + 0.2)
                       / PERIOD))
        assert self.fast_path.runs > 0
        assert self.arms[0].state == 'running'


@pytest.mark.parametrize('mode', MODES)
def test_both_ways_are_one(mode):
    """A thousand states of a moving arm give the same bytes on both ways, in every mode."""
    pair = Pair(mode=mode, tracking_limits=[10.0], ramp_time=1.0)
    pair.start()
    assert pair.run(1000) == 1000
    pair.check()
    assert len(pair.wires[0].messages) > 2000


def test_both_ways_are_one_in_a_mode_of_the_user():
    """A law function takes the fast path like any other law."""
    def spring(terms, inputs):
        return [g + inputs['k'] * e - v for g, e, v in zip(terms.bias, terms.error, terms.qd)]
    modes = [own_mode('spring', spring, 'a spring', [scalar('k', 20.0, '', 0.0, 99.0, 'K.')],
                      Follows.JOINTS)]
    pair = Pair(mode='spring', tracking_limits=[10.0], modes=modes, integral=[2.0])
    pair.start()
    assert pair.run(200) == 200
    pair.check()


@pytest.mark.parametrize('kind', [ArrayOutput, JointStateOutput])
@pytest.mark.parametrize('frame', ['', 'base', 'world_link'])
def test_any_publisher_and_command(kind, frame):
    """Order of the joints, frame, padding and kind of command do not matter."""
    pair = Pair(kind, order=(3, 0, 6, 1, 2, 5, 4), frame=frame)
    pair.padding = 0xa5
    pair.start()
    pair.padding = 0x5a
    assert pair.run(200) == 200
    pair.check()


def test_driver_and_payload_and_limits():
    """What the driver adds, a payload and acting limits are the same on both ways."""
    pair = Pair(driver_adds='gravity', mode='computed_torque', tracking_limits=[10.0],
                torque_limits=[20.0], torque_rate_limits=[30.0], ramp_time=1.0,
                **{'payload.mass': 2.0})
    pair.start()
    limiter, slewing, saturated = pair.arms[0].cycle.limiter, 0, 0
    for k in range(1000):
        stiffness = [400.0] if k % 200 < 100 else [10.0]
        if k % 100 == 0:
            pair.apply(stiffness=stiffness)
        if pair.state(*pair.path(pair.time)):
            slewing += bool(limiter.slewing.any())
            saturated += bool(limiter.saturated.any())
        pair.check()
    assert slewing > 100 and saturated > 100


@pytest.mark.parametrize('field', ['q', 'qd'])
@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_bad_numbers_go_the_long_way(field, bad):
    """A number that is not finite is not taken, and the next state is."""
    pair = Pair()
    pair.start()
    q, qd = pair.path(pair.time)
    (q if field == 'q' else qd)[3] = bad
    count = len(pair.wires[0].messages)
    assert not pair.state(q, qd)
    if field == 'q':
        assert len(pair.wires[0].messages) == count
    pair.check()
    pair.run(5)
    assert pair.run(10) == 10
    pair.check()


def test_speed_goes_the_long_way():
    """A joint above its speed limit is watched on the slow path, and trips on both."""
    pair = Pair()
    pair.start()
    q, _ = pair.path(pair.time)
    assert not pair.state(q, np.full(7, 50.0))
    for _ in range(100):
        assert not pair.state(q, np.full(7, 50.0))
    pair.check()
    assert 'velocity' in pair.arms[0].cycle.fault_text()


def test_old_and_repeated_states_make_no_torque():
    """A stamp that stands still or is behind is refused on the fast path, too."""
    pair = Pair()
    pair.start()
    count = len(pair.wires[0].messages)
    still = pair.time + 1e4
    for _ in range(20):
        pair.state(*pair.path(pair.time), stamp=still)
    assert len(pair.wires[0].messages) == count
    pair.check()
    pair.run(300)
    pair.check()


@pytest.mark.parametrize('spoil', ['still', 'nan', 'late'])
def test_refused_states_stamp_no_torque(spoil):
    """What leaves while states are refused has the stamp of the last one that was accepted."""
    pair = Pair(JointStateOutput)
    pair.start()
    good = pair.time + 1e4
    count = len(pair.wires[0].messages)
    for k in range(400):
        q, qd = pair.path(pair.time)
        if spoil == 'nan':
            q[2] = np.nan
        stamps = {'still': good, 'nan': None, 'late': good + 1e-6 * (k + 1)}
        pair.state(q, qd, stamp=stamps[spoil])
        pair.check()
    sent = [unpack_stamp(message, STAMP) for message in pair.wires[0].messages[count:]]
    assert len(sent) > 50 and pair.arms[0].state != 'running'
    last = max(s + 1e-9 * ns for s, ns in sent)
    assert last <= good + (0.1 if spoil == 'late' else 1e-6)  # 1e-6: rounding of the sum


def test_what_is_sent_keeps_the_rate_beside_a_driver():
    """A state that jumps moves the driver's part, not the command beyond its rate."""
    pair = Pair(driver_adds='gravity', mode='gravity_compensation', torque_rate_limits=[80.0],
                stop_time=3.0, velocity_limits=[100.0], state_tolerance=[100.0],
                **{'payload.mass': 2.0})
    pair.start()
    q, qd = pair.path(pair.time)
    steps, jumps = [], []
    limiter = pair.arms[1].cycle.limiter
    for k in range(200):
        before, driver = limiter.sent.copy(), limiter.driver.copy()
        pair.state(q + (0.7 if k % 20 < 10 else 0.0), 0.0 * qd)
        pair.check()
        steps.append(np.abs(limiter.sent - before).max())
        jumps.append(np.abs(limiter.driver - driver).max())
    assert max(steps) <= 80.0 * PERIOD * (1.0 + 1e-9)
    assert max(jumps) > 20.0 * max(steps)  # the driver's part did jump


def test_silence_is_seen_by_the_state_that_ends_it():
    """After a gap the first state is only a probe, whichever way it comes."""
    pair = Pair()
    pair.start()
    pair.time += 0.5
    count = len(pair.wires[0].messages)
    pair.state(*pair.path(pair.time), tick=False)
    assert len(pair.wires[0].messages) - count <= 1  # that of the lost state, not of this one
    pair.check()
    pair.run(1500)
    pair.check()
    assert 'no fresh joint state' in pair.arms[0].cycle.fault_text()


def test_requests_and_changes_are_met():
    """Modes, gains, payload, stop and reset come in between and are the same on both ways."""
    pair = Pair(mode='computed_torque', tracking_limits=[10.0])
    pair.start()
    for changes in ({'mode': 'gravity_compensation'}, {'mode': 'operational_space'},
                    {'mode': 'computed_torque', 'stiffness': [80.0]}, {'payload.mass': 1.0},
                    {'gravity': [0.0, 1.0, -9.7]}):
        pair.apply(**changes)
        assert pair.run(1500) > 100
        pair.check()
    pair.post(lambda cycle, now, steady: cycle.supervisor.fault(steady, Cause.OPERATOR_STOP))
    pair.run(1000)
    pair.check()
    assert pair.arms[0].state == 'holding'
    pair.post(lambda cycle, now, steady: cycle.reset(now, steady))
    assert pair.run(1500) > 100
    pair.check()


def test_effort_is_kept():
    """Measured effort is as fresh on the fast path as on the slow one."""
    pair = Pair()
    pair.start()
    for k in range(20):
        pair.state(*pair.path(pair.time), effort=np.arange(7) + 0.1 * k)
    assert pair.state(*pair.path(pair.time), effort=np.full(7, 5.0))
    pair.check()
    assert pair.arms[0].cycle.joints.effort_known


def test_missing_velocity_goes_the_long_way():
    """Where velocity must be differenced, no state is taken."""
    pair = Pair()
    pair.start()
    for _ in range(50):
        q, _ = pair.path(pair.time)
        assert not pair.state(q, ())
    pair.check()


def test_limits_of_the_configuration_stay():
    """Limits that are changed while inactive wait for a configuration, on both ways."""
    pair = Pair(torque_limits=[20.0], torque_rate_limits=[30.0], ramp_time=1.0)
    pair.apply(torque_limits=[200.0], torque_rate_limits=[300.0])
    pair.start()
    assert pair.run(500) == 500
    pair.check()
    assert np.abs(pair.arms[0].cycle.limiter.last).max() == 20.0  # the shoulder wants more


def test_integral_is_the_same():
    """The integral term, its limit and its anti-windup are the same on both ways."""
    pair = Pair(mode='computed_torque', tracking_limits=[10.0], torque_limits=[20.0],
                torque_rate_limits=[30.0], integral=[50.0], integral_limit=[30.0])
    pair.start()
    for k in range(600):
        if k % 100 == 0:
            pair.apply(stiffness=[400.0] if k % 200 else [10.0])
        pair.run(1)
        pair.check()


def test_missing_velocities_now_and_then():
    """A velocity that is missing once is no difference to a position of long ago."""
    pair = Pair()
    pair.start()
    for k in range(60):
        q, qd = pair.path(pair.time)
        if k % 20 == 5:
            qd[3] = np.nan
        pair.state(q, qd)
        pair.check()


def test_low_rate_is_seen_by_the_state_that_shows_it(monkeypatch):
    """The state with which the rate falls below its minimum gets no torque of the law."""
    pair = Pair(minimum_rate=100.0, state_timeout=0.5)
    pair.start()
    monkeypatch.setitem(globals(), 'PERIOD', 0.02)
    for _ in range(60):
        pair.run(1)
        pair.check()
    assert 'minimum_rate' in pair.arms[0].cycle.fault_text()


def test_two_publishers_of_all_joints():
    """What comes in between takes the slow path; relays are not made again and again."""
    pair = Pair()
    pair.start()
    makers = []
    make = pair.fast_path._make_relay
    pair.fast_path._make_relay = lambda *given: makers.append(1) or make(*given)
    runs = 0
    for k in range(200):
        pair.frame = 'other' if k % 2 else ''
        runs += pair.run(1)
    pair.check()
    assert runs >= 99 and not makers
    assert pair.run(100) >= 98  # the other one, now alone
    pair.check()


@pytest.mark.parametrize('apart', [0.0, 0.4])
def test_a_second_source_is_seen_beside_the_fast_path(apart):
    """Two publishers send the joints in another order each; if they disagree, it is a fault."""
    pair = Pair(mode='gravity_compensation')
    pair.start()
    order = pair.order
    for k in range(100):
        pair.order = order[::-1] if k % 2 else order
        q, qd = pair.path(pair.time)
        pair.state(q + apart * (k % 2), 0.97 * qd)  # velocities that are a little wrong
        pair.check()
    assert ('two sources that disagree' in pair.arms[0].cycle.fault_text()) is bool(apart)


def test_joints_of_another_message_count_at_once():
    """Joints that are not controlled move by messages of their own, and have their own age."""
    everything = Arm().robot.joints
    pair = Pair(joints=everything[:5], mode='computed_torque', tracking_limits=[10.0],
                ramp_time=0.2, switch_time=0.2)
    pair.post(lambda cycle, now, steady: cycle.activate(now, steady))
    taken = 0
    for k in range(2000):
        if k % 20 == 0:
            q, qd = pair.path(3.0 * pair.time)
            pair.others(everything[5:], q[5:], qd[5:])
        if k in (1300, 1700):
            pair.apply(mode='gravity_compensation' if k == 1300 else 'computed_torque')
        taken += pair.run(1)
        pair.check()
    assert taken > 1200
    assert pair.run(950) == 950
    pair.run(100)
    pair.check()
    assert everything[5] in pair.arms[0].cycle.fault_text()


def _anything(pair, rng):
    """Let one thing happen, mostly an unusual one; returns the state to give."""
    def refer(action):
        pair.post(lambda cycle, now, steady: cycle.intake.take(lambda: action(cycle, now)))
    goal, twist = rng.uniform(-0.4, -0.2, 7), rng.uniform(-0.1, 0.1, 6)
    events = {
        'mode': lambda: pair.apply(mode=str(rng.choice(MODES))),
        'gains': lambda: pair.apply(stiffness=[float(rng.uniform(10.0, 400.0))]),
        'limits': lambda: pair.apply(torque_limits=[float(rng.uniform(10.0, 90.0))]),
        'speed': lambda: pair.apply(velocity_limits=[float(rng.choice([0.15, 3.0, 3.0, 3.0]))]),
        'payload': lambda: pair.apply(**{'payload.mass': float(rng.uniform(0.0, 2.0))}),
        'gravity': lambda: pair.apply(gravity=[float(rng.uniform(0.0, 1.0)), 0.0, -9.7]),
        'point': lambda: refer(lambda cycle, now: cycle.reference.set_point(now, goal)),
        'twist': lambda: refer(lambda cycle, now: cycle.task_reference.target_twist(now, twist)),
        'hold': lambda: pair.post(lambda cycle, now, steady: cycle.intake.hold()),
        'stop': lambda: pair.post(lambda cycle, now, steady: cycle.supervisor.fault(
            steady, Cause.OPERATOR_STOP)),
        'frame': lambda: setattr(pair, 'frame', str(rng.choice(['', 'base']))),
        'gap': lambda: setattr(pair, 'time', pair.time + float(rng.choice([0.02, 0.09, 0.2])))}
    q, qd = pair.path(pair.time)
    given = {'fast': (q, qd + 1.0), 'no velocity': (q, ()), 'no number': (q, np.where(
        np.arange(7) == 3, np.nan, qd)), 'effort': (q, qd, np.arange(7.0)),
        'stamp': (q, qd, (), pair.time + 1e4), 'no stamp': (q, qd, (), 0.0)}
    name = str(rng.choice([*events, *given]))
    if name in events:
        events[name]()
    return given.get(name, (q, qd))


@pytest.mark.parametrize('seed', range(6))
def test_whatever_happens(seed):
    """Any order of changes, requests and odd messages gives the same on both ways."""
    rng = np.random.default_rng(seed)
    pair = Pair(mode=MODES[seed % len(MODES)], tracking_limits=[50.0], ramp_time=0.05 * (seed % 3),
                recover_lost_state=bool(seed % 2), switch_time=0.05, integral=[20.0],
                observer_feedback=bool(seed % 2), brake_time=0.05, hold_time=0.05,
                release_time=0.05, torque_limits=[30.0], torque_rate_limits=[300.0],
                driver_adds=('none', 'gravity', 'gravity_and_coriolis')[seed % 3])
    pair.post(lambda cycle, now, steady: cycle.activate(now, steady))
    for _ in range(2000):
        odd = rng.random() < 0.015
        pair.state(*(_anything(pair, rng) if odd else pair.path(pair.time)),
                   tick=bool(rng.random() < 0.2))
        pair.check()
        if pair.arms[0].state in ('fault', 'holding'):
            for arm in pair.arms:
                arm.cycle.reset(pair.time, pair.time)
    assert pair.fast_path.runs > 200

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

"""The whole controller without ROS, on a fake clock, with the built-in arm."""

from pathlib import Path

from cycle_rig import Arm, MODEL
import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.control.kernels.barriers import Barrier, guard
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.robot import make_robot
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.modes.modes import MODES
from rbd_ros.errors import ModelError

PERIOD = 0.001


def test_gravity_is_sent():
    """At rest the command is g(q) once the ramp is over."""
    arm = Arm()
    arm.activate()
    arm.run(1.5)
    assert arm.state == 'running'
    np.testing.assert_allclose(arm.sent[-1], arm.dynamics.gravity(arm.q), rtol=0, atol=1e-11)


def test_drivers_gravity_is_not_sent():
    """A driver that adds gravity gets nothing at rest."""
    arm = Arm(driver_adds='gravity')
    arm.activate()
    arm.run(1.5)
    np.testing.assert_allclose(arm.sent[-1], 0.0, rtol=0, atol=1e-11)


@pytest.mark.parametrize('mode', MODES)
def test_switching_does_not_step(mode):
    """A change of the mode steps the law by less than a hundredth of the limit per period."""
    arm = Arm(**{'friction.coulomb': [2.0]})
    arm.qd = np.full(7, 0.3)
    arm.activate()
    arm.run(1.5)
    before = len(arm.sent)
    arm.cycle.loop.post(lambda _now, _steady: arm.cycle.apply(arm.settings(mode=mode)))
    arm.run(0.7)
    assert arm.cycle.mode == mode
    steps = np.abs(np.diff(arm.sent[before - 1:], axis=0)) / arm.settings().torque_limits
    assert steps.max() < 0.01


def test_constant_disturbance_is_observed_away():
    """With observer feedback a constant external torque leaves no tracking error."""
    arm = Arm(mode='computed_torque', observer_feedback=True)
    arm.external = np.zeros(7)
    arm.activate()
    arm.run(1.2)
    arm.external = np.array([3.0, -4.0, 2.0, 1.0, 0.2, 0.1, 0.05])
    arm.run(2.0)
    assert arm.state == 'running'
    # 1e-6: the slowest pole of the loop has decayed by exp(-20)
    np.testing.assert_allclose(arm.cycle.law.error, 0.0, rtol=0, atol=1e-6)
    np.testing.assert_allclose(arm.cycle.law.external, arm.external, rtol=0, atol=1e-6)


def test_activation_meets_no_older_judgement():
    """Re-activation begins with probes, also where the stream never stopped."""
    arm = Arm()
    arm.activate()
    arm.run(1.5)
    arm.cycle.loop.post(lambda _now, steady: arm.cycle.supervisor.fault(
        steady, Cause.DEACTIVATED))
    arm.run(2.0)
    assert arm.state == 'released'
    sent = len(arm.sent)
    arm.activate()
    arm.run(2 * PERIOD)
    assert arm.state == 'probing' and len(arm.sent) == sent


def test_reversed_effort_refuses_the_start():
    """Measured effort of the wrong sign is a fault before any torque leaves."""
    arm = Arm(effort_is_torque=True)
    arm.effort = -arm.dynamics.gravity(arm.q)
    arm.activate()
    arm.run(0.5)
    assert arm.state == 'fault' and not arm.sent
    assert 'sign reversed' in arm.cycle.fault_text()


def test_dead_man_must_be_held_before_and_while():
    """Without the signal nothing starts; when it ends the robot brakes and holds."""
    arm = Arm(dead_man_timeout=0.2)
    arm.activate()
    arm.run(0.5)
    assert arm.state == 'probing' and not arm.sent
    arm.cycle.dead_man.signal(arm.time, True)
    arm.run(0.15)
    assert arm.state == 'ramping in'
    arm.run(0.9)
    assert arm.state == 'holding'
    assert 'dead-man' in arm.cycle.fault_text()


def test_stamps_that_jump_an_hour_ahead_are_told():
    """The clock of a driver was set: it is logged, the states are checked anew, nothing stops."""
    arm = Arm()
    arm.activate()
    arm.run(0.5)
    sent = len(arm.sent)
    for _ in range(50):
        arm.time += PERIOD
        arm.cycle.state(arm.time, arm.time, arm.robot.joints, arm.q, arm.qd, (),
                        arm.time + 1e4 + 3600.0)
    assert arm.state == 'running' and len(arm.sent) == sent + 45  # five probes
    told = [text for kind, text in arm.cycle.events if kind == 'warning' and 'ahead' in text]
    assert told == ['stamps of joint states are 3600 s ahead: the clock that stamps was set, or '
                    'is another one. The states are checked anew']
    assert arm.cycle.joints.leaps == 1


# -- bad commands -----------------------------------------------------------------------------


def bad(arm, count):
    """Refuse references, ten milliseconds apart."""
    for _ in range(count):
        arm.cycle.loop.post(
            lambda _now, _steady: arm.cycle.intake.refuse('positions are not finite'))
        arm.run(0.01)


def moving(arm):
    """Let the reference move slowly for a long time."""
    def follow(now, _steady):
        arm.cycle.intake.take(lambda: arm.cycle.reference.follow(now, Knots(
            np.array([4.0]), (arm.q + 0.1)[None], None, None), now))
    arm.cycle.loop.post(follow)
    arm.run(0.3)
    assert np.abs(arm.cycle.reference.state[1]).max() > 1e-3


def test_refused_references_at_rest_change_nothing():
    """A robot that holds goes on holding, however many references are refused."""
    arm = Arm(mode='computed_torque')
    arm.restart()
    bad(arm, 20)
    assert arm.state == 'running'


def test_row_of_refused_references_in_motion_brakes():
    """In motion the fifth in a row brakes, live, and names the last reason; then it holds."""
    arm = Arm(mode='computed_torque')
    arm.restart()
    moving(arm)
    bad(arm, 4)
    assert arm.state == 'running'
    bad(arm, 1)
    assert arm.state == 'braking'
    fault, = arm.cycle.supervisor.faults
    assert fault.cause is Cause.BAD_COMMAND
    assert str(fault) == ('bad command: 5 references in a row were rejected while the robot '
                          'was moving; the last one: positions are not finite')
    np.testing.assert_allclose(arm.sent[-1], arm.dynamics.gravity(arm.q), rtol=0, atol=0.5)
    arm.run(1.0)
    assert arm.state == 'holding'


def test_good_reference_between_bad_ones_ends_the_row():
    """Who mostly sends good references is not stopped for a bad one now and then."""
    arm = Arm(mode='computed_torque')
    arm.restart()
    for _ in range(4):
        moving(arm)
        bad(arm, 4)
    assert arm.state == 'running'


def test_reference_that_the_loop_refuses_counts_too():
    """A reference beyond the joint limits is refused in the loop and is one of the row."""
    arm = Arm(mode='computed_torque', **{'reference.refusals': 2})
    arm.restart()
    moving(arm)
    for _ in range(2):
        arm.cycle.loop.post(lambda now, _steady: arm.cycle.intake.take(
            lambda: arm.cycle.reference.set_point(now, arm.q + 50.0)))
        arm.run(0.01)
    assert arm.state == 'braking'
    assert 'outside' in arm.cycle.fault_text()


def test_law_without_finite_torque_brakes_at_once():
    """Velocities whose square overflows: no such torque leaves, the robot is braked."""
    arm = Arm(mode='computed_torque')
    arm.restart()
    before = len(arm.sent)
    arm.qd = np.full(7, 1e200)
    arm.run(PERIOD)
    assert arm.state == 'braking'
    assert arm.cycle.supervisor.faults[0].cause is Cause.BAD_COMMAND
    assert 'the torque of the control law is not finite' in arm.cycle.fault_text()
    assert np.isfinite(arm.sent[before:]).all()


# -- robots that cannot be driven --------------------------------------------------------------


def test_a_robot_without_a_joint_to_control_is_refused_in_words():
    """Neither a description without movable joints nor one whose joints are all fixed raises."""
    table = '<robot name="table"><link name="top"/></robot>'
    with pytest.raises(ModelError, match='robot "table" has no movable joint'):
        make_robot(load_urdf(table))
    with pytest.raises(ModelError, match='fixed_positions holds every movable joint'):
        make_robot(MODEL, fixed=dict.fromkeys(MODEL.independent_joint_names, 0.0))


# -- barriers ---------------------------------------------------------------------------------


def settings_of(name, **values):
    """Return the settings of a small robot."""
    robot = make_robot(load_urdf(Path(__file__).parents[1] / 'urdf' / name))
    return Settings(robot, defaults() | {'driver_adds': 'none'} | values, simulated=False)


def test_zone_before_a_limit_is_at_most_a_tenth_of_the_range():
    """A gripper of 4 cm stroke has zones of 4 mm, an elbow those asked for; both are reported."""
    settings = settings_of('mimic_gripper.urdf', **{'barrier.margin': [0.051]})
    model = settings.robot.model
    span = np.array(settings.robot.pick(model.upper)) - settings.robot.pick(model.lower)
    np.testing.assert_allclose(settings.barrier_margins, np.minimum(0.051, 0.1 * span), rtol=1e-15)
    assert (settings.barrier_margins < 0.05).any()
    assert any('barrier.margin is reduced' in text and ' m instead of 0.051' in text
               for text in settings.notices())
    narrow = settings_of('mimic_gripper.urdf', **{'barrier.margin': [1e-4]})
    np.testing.assert_array_equal(narrow.barrier_margins, 1e-4)


def test_zones_never_meet():
    """In the middle of any range no barrier acts, so that every joint can be moved."""
    for name in ('mimic_gripper.urdf', 'gantry.urdf', 'branched.urdf'):
        settings = settings_of(name, **{'barrier.margin': [1.0]})
        model, n = settings.robot.model, len(settings.robot.joints)
        lower, upper = (np.array(settings.robot.pick(x)) for x in (model.lower, model.upper))
        middle = 0.5 * (np.maximum(lower, -1.0) + np.minimum(upper, 1.0))
        bounded = np.isfinite(lower)
        middle[bounded] = 0.5 * (lower[bounded] + upper[bounded])
        barrier = Barrier(lower, upper, settings.barrier_margins, *np.full((2, n), 50.0),
                          np.full(n, np.inf), np.full(n, 10.0), np.full(n, 100.0))
        torque = guard(middle, np.zeros(n), np.ones(n), np.full(n, 3.0), barrier)
        np.testing.assert_array_equal(torque, 3.0)


def test_a_recovery_names_what_was_lost():
    """A gap that the state after it ends is reported with its cause, before the ramp-in."""
    arm = Arm(ramp_time=0.1, recover_lost_state=True)
    arm.release()
    arm.run(0.5)
    assert arm.state == 'running'
    arm.cycle.events.clear()
    arm.time += 0.4                      # no message and no tick of the timer
    arm.run(0.5)
    events = list(arm.cycle.events)
    assert arm.state == 'running'
    before = events[:events.index(('state', 'ramping in'))]
    [warning] = [text for kind, text in before if kind == 'warning']
    assert warning.startswith('recovers by itself: no fresh joint state within state_timeout')


def test_refused_references_are_told_once_per_state_and_second():
    """Thousands of references to a robot that holds are a line per second, with their number."""
    arm = Arm(mode='computed_torque', ramp_time=0.1)
    arm.release()
    arm.cycle.loop.post(lambda _now, steady: arm.cycle.supervisor.fault(
        steady, Cause.OPERATOR_STOP))
    arm.run(1.0)
    assert arm.state == 'holding'
    arm.cycle.events.clear()

    def refer(_time):
        for _ in range(3):
            arm.cycle.loop.post(lambda _now, _steady: arm.cycle.intake.take(lambda: None))
    arm.each = refer
    arm.run(3.5)
    lines = [text for kind, text in arm.cycle.events if kind == 'warning']
    assert len(lines) == 4
    assert all('reference rejected: the controller is holding' in line for line in lines)
    assert 2990 < int(lines[1].split('(')[1].split()[0]) < 3010

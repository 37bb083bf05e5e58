# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the controller sends, refuses and tells, on a fake clock, with the built-in arm."""

from controller_rig import AHEAD, Arm, MODEL
import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.robot import make_robot
from rbd_ros.errors import ModelError

PERIOD = 0.001


def test_drivers_gravity_is_not_sent():
    """A driver that adds gravity gets nothing at rest."""
    arm = Arm(driver_adds='gravity')
    arm.activate()
    arm.run(1.5)
    np.testing.assert_allclose(arm.sent[-1], 0.0, rtol=0, atol=1e-11)


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
    np.testing.assert_allclose(arm.reference[0] - arm.q, 0.0, rtol=0, atol=1e-6)
    np.testing.assert_allclose(arm.controller.x.observer.external, arm.external, rtol=0, atol=1e-6)


def test_stamps_that_jump_an_hour_ahead_are_told():
    """The clock of a driver was set: it is logged, the states are checked anew, nothing stops."""
    arm = Arm()
    arm.activate()
    arm.run(0.5)
    sent = len(arm.sent)
    for _ in range(50):
        arm.time += PERIOD
        arm.receive(arm.q, arm.qd, stamp=arm.time + AHEAD + 3600.0)
    assert arm.state == 'running' and len(arm.sent) == sent + 45  # five probes
    told = [text for kind, text in arm.controller.events if kind == 'warning' and 'ahead' in text]
    assert told == ['stamps of joint states are 3600 s ahead: the clock that stamps was set, or '
                    'is another one. The states are checked anew']
    assert arm.controller.x.states.sources.leaps == 1


# -- bad commands -----------------------------------------------------------------------------


def bad(arm, count):
    """Refuse references, ten milliseconds apart."""
    for _ in range(count):
        arm.controller.refuse(arm.time, arm.time, 'positions are not finite')
        arm.run(0.01)


def moving(arm):
    """Let the reference move slowly for a long time."""
    arm.follow([4.0], (arm.q + 0.1)[None])
    arm.run(0.3)
    assert np.abs(arm.reference[1]).max() > 1e-3


def test_refused_references_at_rest_change_nothing():
    """A robot that holds goes on holding, however many references are refused."""
    arm = Arm(mode='computed_torque')
    arm.start()
    bad(arm, 20)
    assert arm.state == 'running'


def test_row_of_refused_references_in_motion_brakes():
    """In motion the fifth in a row brakes, live, and names the last reason; then it holds."""
    arm = Arm(mode='computed_torque')
    arm.start()
    moving(arm)
    bad(arm, 4)
    assert arm.state == 'running'
    bad(arm, 1)
    assert arm.state == 'braking'
    assert arm.causes == [Cause.BAD_COMMAND]
    assert arm.fault == ('bad command: 5 references in a row were rejected while the robot '
                         'was moving; the last one: positions are not finite')
    np.testing.assert_allclose(arm.sent[-1], arm.dynamics.gravity(arm.q), rtol=0, atol=0.5)
    arm.run(1.0)
    assert arm.state == 'holding'


def test_good_reference_between_bad_ones_ends_the_row():
    """Who mostly sends good references is not stopped for a bad one now and then."""
    arm = Arm(mode='computed_torque')
    arm.start()
    for _ in range(4):
        moving(arm)
        bad(arm, 4)
    assert arm.state == 'running'


def test_reference_that_the_loop_refuses_counts_too():
    """A reference beyond the joint limits is refused in the loop and is one of the row."""
    arm = Arm(mode='computed_torque', **{'reference.refusals': 2})
    arm.start()
    moving(arm)
    for _ in range(2):
        arm.set_point(arm.q + 50.0)
        arm.run(0.01)
    assert arm.state == 'braking'
    assert 'outside' in arm.fault


# -- robots that cannot be driven --------------------------------------------------------------


def test_a_robot_without_a_joint_to_control_is_refused_in_words():
    """Neither a description without movable joints nor one whose joints are all fixed raises."""
    table = '<robot name="table"><link name="top"/></robot>'
    with pytest.raises(ModelError, match='robot "table" has no movable joint'):
        make_robot(load_urdf(table))
    with pytest.raises(ModelError, match='fixed_positions holds every movable joint'):
        make_robot(MODEL, fixed=dict.fromkeys(MODEL.independent_joint_names, 0.0))


def test_a_recovery_is_named_before_anybody_has_looked(monkeypatch):
    """A thread of machine code has gone on when its words are read: they name the right loss."""
    arm = Arm(ramp_time=0.1, recover_lost_state=True)
    arm.release()
    arm.run(0.5)
    for gap in 0.4, 0.6:
        arm.time += gap
        arm.run(2 * arm.period)
        lost = arm.controller.fault_text()
        assert arm.state != 'running' and f'a gap of {gap + arm.period:g} s' in lost
        arm.controller.events.clear()
        with monkeypatch.context() as busy:
            busy.setattr(arm.controller._fault_sentences, 'update', lambda: None)
            arm.run(2.0)
        assert arm.state == 'running'
        assert ('warning', f'recovers by itself: {lost}') in arm.controller.events
        arm.run(0.5)


def test_refused_references_are_told_once_per_state_and_second():
    """Thousands of references to a robot that holds are a line per second, with their number."""
    arm = Arm(mode='computed_torque', ramp_time=0.1)
    arm.release()
    arm.stop(Cause.OPERATOR_STOP)
    arm.run(1.0)
    assert arm.state == 'holding'
    arm.controller.events.clear()

    def refer(_time):
        for _ in range(3):
            arm.set_point(arm.q)
    arm.each = refer
    arm.run(3.5)
    lines = arm.warnings
    assert len(lines) == 4
    assert all('reference rejected: the controller is holding' in line for line in lines)
    assert 2990 < int(lines[1].split('(')[1].split()[0]) < 3010


ENTRIES = {
    'a state': lambda arm: arm.receive(arm.q, arm.qd),
    'bytes': lambda arm: arm.controller.take_unreadable(arm.now, arm.time, 'not a state'),
    'the timer': lambda arm: arm.tick(),
}


@pytest.mark.parametrize('what', ENTRIES)
def test_requests_are_served_with_both_clocks(what):
    """Whatever comes next serves what was posted: control time first, then steady time."""
    arm, seen = Arm(), []
    arm.offset = -47.0
    for k in range(2):
        arm.controller.post(lambda now, steady, k=k: seen.append((k, now, steady)))
    ENTRIES[what](arm)
    assert seen == [(0, 3.0, 50.0), (1, 3.0, 50.0)]

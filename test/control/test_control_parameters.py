# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The table of parameters and how sets of values are judged."""

import math

from hypothesis import example, given, strategies as st
import pytest

from rbd_ros.control.parameters.rules import activation_refusals
from rbd_ros.control.parameters.table import defaults, PARAMETERS
from rbd_ros.control.parameters.validation import per_joint, refusals


def test_every_row_is_complete_and_its_default_valid():
    """Each parameter has a description, and each default is accepted unless it must be given."""
    for parameter in PARAMETERS.values():
        assert len(parameter.description) > 5, parameter.name
        assert parameter.lower < parameter.upper
        if parameter.name not in ('driver_adds', 'release_torque'):
            assert parameter.refusal(parameter.default) == ''
        if parameter.kind == 'double' and parameter.upper < math.inf:
            assert math.isfinite(parameter.lower), parameter.name


def test_the_default_set_is_consistent():
    """The defaults pass every rule, except that the driver's part has none."""
    values = defaults()
    del values['driver_adds']
    assert refusals(values) == []
    assert 'driver_adds must be given' in activation_refusals(defaults())[0]


@pytest.mark.parametrize('adds, release, accepted', [
    ('none', '', False), ('none', 'zero', True), ('none', 'gravity', True),
    ('gravity', '', True), ('gravity_and_coriolis', '', True)])
def test_what_ctrl_c_leaves_must_be_chosen_where_nobody_else_holds_the_robot(
        adds, release, accepted):
    """Without a driver that holds the robot, release_torque is asked for with both meanings."""
    reasons = activation_refusals(defaults() | {'driver_adds': adds, 'release_torque': release})
    assert (reasons == []) is accepted
    if not accepted:
        for word in ('release_torque must be given', '"gravity"', '"zero"', 'falls'):
            assert word in reasons[0]


@pytest.mark.parametrize('changes, word', [
    ({'hold_time': -0.1}, 'outside'), ({'hold_time': math.nan}, 'outside'),
    ({'hold_time': 'long'}, 'type double'), ({'hold_time': True}, 'type double'),
    ({'probe_count': 2.5}, 'type integer'), ({'mode': 'dance'}, "'hold'"),
    ({'stiffness': 3.0}, 'double_array'), ({'stiffness': [1.0, -2.0]}, 'outside'),
    ({'stiffness': []}, 'at least one'), ({'joints': ['a', 3]}, 'type string'),
    ({'hold_time': 2.0}, 'longest stop'), ({'minimum_rate': 2000.0}, 'above nominal_rate'),
    ({'state_timeout': 0.005, 'nominal_rate': 100.0, 'minimum_rate': 50.0},
     'two nominal periods'),
    ({'fixed_positions.joints': ['lift']}, '1 joints but 0 values'),
    ({'realtime.cores': 2}, 'realtime.cores must be of type integer_array'),
    ({'realtime.cores': [2.0]}, 'realtime.cores must be of type integer'),
    ({'realtime.cores': [2, -1]}, 'realtime.cores = -1'), ({'realtime.priority': 100}, 'outside'),
    ({'realtime.cores': [2], 'realtime.cpu': 2}, 'leave realtime.cpu out'),
    ({'gravity': [0.0, 9.81]}, '2 entries; give 3'), ({'task.axes': ['x', 'x']}, 'each once'),
    ({'joint_impedance.stiffness': [-1.0]}, 'joint_impedance.stiffness'),
    ({'joint_impedance.damping': [math.nan]}, 'joint_impedance.damping'),
    ({'cartesian_impedance.linear_stiffness': []}, 'cartesian_impedance.linear_stiffness'),
    ({'cartesian_impedance.angular_stiffness': [math.inf]}, 'impedance.angular_stiffness'),
    ({'cartesian_impedance.damping_ratio': -0.1}, 'cartesian_impedance.damping_ratio'),
    ({'cartesian_impedance.angular_damping': 3.0}, 'cartesian_impedance.angular_damping'),
    ({'task.axes': ['tx', 'x']}, 'each once'), ({'task.axes': [True]}, 'type string'),
    ({'payload.mass': 1.0, 'payload.inertia': [1.0, 0, 0, 1.0, 0, 9.0]}, 'for a rigid body')])
def test_invalid_sets_are_refused_with_a_reason(changes, word):
    """Wrong type, bound, choice, size and combination are each refused, with a reason."""
    reasons = refusals(changes)
    assert reasons
    assert any(word in reason for reason in reasons), reasons


def test_structural_parameters_are_locked_while_active():
    """A structural parameter is refused while active; repeating its value or a gain is not."""
    assert 'deactivate first' in refusals({'hold_time': 0.2}, active=True)[0]
    assert refusals({'hold_time': 0.3}, active=True) == []
    assert refusals({'stiffness': [50.0]}, active=True) == []
    assert refusals({'mode': 'hold'}, active=True) == []
    assert refusals({'gravity': [2.5, 0.0, -9.5]}, active=True) == []
    assert refusals({'gravity': [0.0, 0.0, 9.81]}) == []


def tilted(degrees, size):
    """Return gravity of another size and direction than the usual one."""
    angle = math.radians(degrees)
    return [9.81 * size * math.sin(angle), 0.0, -9.81 * size * math.cos(angle)]


@given(st.lists(st.one_of(
    st.builds(tilted, st.floats(-180.0, 180.0), st.floats(0.0, 10.0)),
    st.builds(tilted, st.floats(-20.0, 20.0), st.floats(0.9, 1.1)),
    st.sampled_from([[math.nan, 0.0, -9.81], [1e300, 0.0, 0.0]])), max_size=8))
@example([[0.0, 0.0, 0.0], [0.0, 0.0, 9.81]])
@example([tilted(each, 1.0) for each in (14.9, 29.0, 44.0, 59.0, 74.0, 89.0, 104.0, 180.0)])
@example([tilted(0.0, 1.04 ** k) for k in range(60)])
def test_gravity_of_a_running_robot_stays_near_that_of_its_start(changes):
    """In however many changes: at most 5 % in size and 15 degrees, and less is always taken."""
    started = tilted(0.0, 1.0)
    current = defaults() | {'gravity': started}
    for change in changes:
        reasons = refusals({'gravity': change}, current, active=True, started=started)
        size = math.hypot(*change) / 9.81
        turn = math.degrees(math.atan2(abs(change[0]), -change[2])) if size else 0.0
        if reasons:
            assert 'deactivate first' in reasons[0] or not size < 20.0
            assert not (abs(size - 1.0) < 0.0499 and turn < 14.99)
        else:
            assert abs(size - 1.0) <= 0.05 + 1e-9 and turn <= 15.0 + 1e-6
            current['gravity'] = change


def test_sizes_are_checked_against_the_joints():
    """A per-joint parameter has one entry or one per joint."""
    assert refusals({'stiffness': [1.0, 2.0]}, joints=2) == []
    assert 'give one for all, or 3' in refusals({'stiffness': [1.0, 2.0]}, joints=3)[0]


def test_a_set_is_judged_together():
    """Two changes that are wrong one by one may be right together, and the other way round."""
    slow = {'nominal_rate': 50.0, 'minimum_rate': 20.0}
    assert refusals(slow) == []
    assert refusals({'nominal_rate': 50.0})
    assert refusals({'brake_time': 1.0, 'hold_time': 0.8})


def test_foreign_parameters_are_left_alone():
    """Parameters of the node that are not ours are not judged here."""
    assert refusals({'use_sim_time': True}) == []


def test_spreading_over_joints():
    """One number serves all joints, none takes the fallback, anything else is refused."""
    assert per_joint('x', [2.0], 3) == [2.0] * 3
    assert per_joint('x', [1, 2, 3], 3) == [1.0, 2.0, 3.0]
    assert per_joint('x', [], 2, [7.0, 8.0]) == [7.0, 8.0]
    with pytest.raises(ValueError, match='x has 2 entries'):
        per_joint('x', [1.0, 2.0], 3)

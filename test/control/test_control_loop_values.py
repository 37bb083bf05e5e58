# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots with closed loops: values that a wrong term or bound would change without a fault."""

import functools
from pathlib import Path

import numpy as np
from parallel_arm import INDEX, JOINTS, laws_of, MODEL, NEAR, parts, Rig, START
import pytest
import rbd_ros
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.kernels.closed_loop_terms import LoopTerms
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.robot import make_robot
from rbd_ros.dynamics.quantity import OnLoops, Quantity
from rbd_ros.joints import Prismatic
from rbd_ros.samples import mechanisms

ABOVE = dict(zip(MODEL.joint_names, NEAR, strict=True))
MOVED = np.array([0.5, -0.4])  # of the driven joints


def closed(driven):
    """Return the position of the whole arm, by what assembles it."""
    q = np.array(NEAR)
    q[INDEX] = driven
    return parts()[0].assemble(q, fixed=JOINTS).q


def test_rate_of_the_tip_holds_the_acceleration_of_passive_joints():
    """The tip accelerates so while the driven joints keep their velocity: differences agree."""
    dynamics, robot, _ = parts()
    terms = LoopTerms(robot)

    def rule(s):
        return {'rate': terms.jacobian_rate(s, 'tool'), 'velocity': terms.velocity(s, 'tool')}
    dynamics.add(Quantity('motion_of_tip', ('q', 'qd'), {'rule': rule},
                          loops=OnLoops({'rule': rule}, regular=True)))
    v, h = np.zeros(4), 1e-3
    v[INDEX] = speed = np.array([1.3, -0.8])
    rate, velocity = dynamics.compute('motion_of_tip', closed(START), v)
    before, now, after = (dynamics.pose(closed(START + t * speed), 'tool') for t in (-h, 0.0, h))
    axes = now[:3, :3]
    np.testing.assert_allclose(axes @ velocity[3:], ((after - before) / (2.0 * h))[:3, 3],
                               atol=1e-5)
    acceleration = ((after - 2.0 * now + before) / h**2)[:3, 3]
    assert np.abs(acceleration).max() > 0.3
    # the components are those along the axes of the frame, which turn
    spatial = rate[3:] + np.cross(velocity[:3], velocity[3:])
    np.testing.assert_allclose(axes @ spatial, acceleration, atol=2e-3)


@functools.cache
def sliders():
    """Return what compiles kernels of two sliders that a loop joint keeps at equal positions."""
    built = rbd_ros.ModelBuilder('sliders')
    for name in ('driven', 'passive'):
        built.add_body(name, 'base', Prismatic((1.0, 0.0, 0.0)), None,
                       mechanisms.rod(0.3, 1.0))
    built.add_loop_joint('bar', 'driven', 'passive', Prismatic((0.0, 1.0, 0.0)))
    robot = make_robot(built.build(), ('driven_joint',),
                       assembly={'driven_joint': 0.0, 'passive_joint': 0.0})
    return LawKernels(robot, driver_adds='none', driver_knows_payload=False).compile('loops')


@pytest.mark.parametrize(('way', 'reached'), [(0.19, True), (-0.19, True), (0.21, False),
                                              (-0.21, False)])
def test_passive_joints_go_a_bounded_way_in_one_evaluation(way, reached):
    """Newton closes these loops from anywhere; a kernel must not, since others have two ways."""
    loops = sliders()
    loops.inputs['q'][:] = [way, 0.0]
    loops.inputs['qd'][:] = [0.4, 9.0]
    loops()
    assert np.abs(loops.outputs['gaps']).max() < 1e-12
    expected = [way, way if reached else np.nan]
    np.testing.assert_allclose(loops.outputs['closed_q'], expected, atol=1e-12)


def test_a_whole_turn_of_a_continuous_joint_is_no_way():
    """A sensor that counts turns anew sends no passive joint round; what else it moved counts."""
    text = (Path(__file__).parents[1] / 'urdf' / 'five_bar.urdf').read_text()
    for name in JOINTS:
        text = text.replace(f'"{name}" type="revolute"', f'"{name}" type="continuous"')
    model = rbd_ros.load_urdf(text)
    robot = make_robot(model, JOINTS, tip='tool', assembly=ABOVE)
    assert robot.continuous == [True, True]
    rig = Rig(ABOVE, robot=(parts()[0], robot, laws_of(robot)))
    assert rig.close(START, starts=True) == (None, '')
    goal, q = closed(START + MOVED), rig.controller.x.joints.q
    assert np.abs(goal - q).max() > 0.3                 # a way that is gone in pieces
    turns = np.array([2.0 * np.pi, -4.0 * np.pi])
    assert rig.close(START + MOVED + turns, starts=False) == (None, '')
    goal[INDEX] += turns
    np.testing.assert_allclose(q, goal, atol=1e-9)


def test_a_way_through_a_singularity_changes_nothing():
    """Pieces that end there are no closed position to go on from."""
    rig = Rig(ABOVE)
    assert rig.close(START, starts=True) == (None, '')
    last = rig.controller.x.closed_loops.q.copy()
    cause, text = rig.close([0.0, np.pi], starts=True)  # both rods in line, far from here
    assert cause is Cause.START_CHECK and 'singular position' in text
    np.testing.assert_array_equal(rig.controller.x.closed_loops.q, last)


def test_an_activation_follows_from_the_named_position_again():
    """Wherever the robot was followed to, the next start begins where the user said."""
    rig = Rig(ABOVE)
    named = rig.controller.x.closed_loops.q.copy()
    assert rig.close(START + MOVED, starts=True) == (None, '')
    assert np.abs(rig.controller.x.closed_loops.q - named).max() > 0.3
    rig.controller.activate(rig.time, rig.time)
    np.testing.assert_array_equal(rig.controller.x.closed_loops.q, named)

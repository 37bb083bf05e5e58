# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Diagnostics of the simulator: counters, and warnings about steps that were not solved."""

import numpy as np
import pytest
from rbd_ros import ModelBuilder
from rbd_ros.joints import Prismatic
from rbd_ros.model.collision_shapes import Box, CollisionShape, HalfSpace, Sphere
from rbd_ros.sim import Imperfections, Schedule, Sensors, SimulatedRobot, Simulation
from rbd_ros.sim.contact.distance import Placed
from rbd_ros.sim.contact.world import Obstacle, World
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

REASON = 'needs ROS 2'
Time = pytest.importorskip('builtin_interfaces.msg', reason=REASON).Time
DiagnosticStatus = pytest.importorskip('diagnostic_msgs.msg', reason=REASON).DiagnosticStatus
messages = pytest.importorskip('rbd_ros.nodes.simulator.messages', reason=REASON)

FLOOR = Obstacle('floor', Placed(HalfSpace(), np.eye(3), np.zeros(3)))
CEILING = Obstacle('ceiling', Placed(Box((1.0, 1.0, 0.1)), np.eye(3), np.array([0, 0, 0.249])))


def simulation(*obstacles, brakes=False):
    """Return a ball on a vertical slide, half a millimetre deep in the floor."""
    builder = ModelBuilder('ball')
    builder.add_body('ball', 'base', Prismatic((0.0, 0.0, 1.0)), joint_name='slide',
                     inertia=RigidInertia.from_com(
                         2.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(0.02, 0.02, 0.02)))
    shape = [CollisionShape('ball', 1, Sphere(0.1))]
    robot = SimulatedRobot(builder.build(), world=World('rigid', shape, obstacles),
                           backend='python')
    robot.place([0.0995])
    return Simulation(robot, Sensors(robot, Imperfections()), ['slide'],
                      Schedule(period_ns=2_000_000, substeps=2, brakes=brakes))


def run(simulated, periods):
    """Step a simulation."""
    simulated.pause(True)
    simulated.step(periods)
    simulated.pause(False)


def status(diagnosis):
    """Return the one status of a report, and its values."""
    (found,) = diagnosis.message(Time()).status
    return found, {each.key: each.value for each in found.values}


def test_unsolved_contacts_are_a_warning():
    """Squeezed between floor and ceiling: a warning that counts steps, until they are solved."""
    squeezed = simulation(FLOOR, CEILING)
    diagnosis = messages.Diagnosis('/simulator', squeezed)
    found, _ = status(diagnosis)
    assert found.level == DiagnosticStatus.OK and found.message == 'running'
    run(squeezed, 3)
    found, values = status(diagnosis)
    assert found.level == DiagnosticStatus.WARN and values['unresolved'] == '6'
    assert found.message.startswith(
        'running; rigid contacts were not solved in 6 of 6 steps: links may sink')
    assert 'squeezed between obstacles; otherwise raise substeps' in found.message
    assert 'friction' not in found.message
    run(squeezed, 2)
    assert '4 of 4 steps' in status(diagnosis)[0].message     # since the last report
    squeezed.robot.place([0.0995])
    squeezed.robot.brake(True)                                # nothing left to solve
    run(squeezed, 2)
    found, values = status(diagnosis)
    assert found.level == DiagnosticStatus.OK and found.message == 'running'
    assert values['unresolved'] == '10'                       # the sum stays to be seen


def test_solved_contacts_are_no_warning():
    """On the floor alone it comes to rest, and every step is solved."""
    resting = simulation(FLOOR)
    diagnosis = messages.Diagnosis('/simulator', resting)
    run(resting, 50)
    found, values = status(diagnosis)
    assert resting.robot.contact_forces
    assert found.level == DiagnosticStatus.OK and found.message == 'running'
    assert (values['unresolved'], values['periods']) == ('0', '50')


def test_unsolved_friction_is_a_warning_of_its_own():
    """Steps without a solution that are not of contacts are those of dry friction."""
    resting = simulation(FLOOR)
    diagnosis = messages.Diagnosis('/simulator', resting)
    run(resting, 2)
    resting.robot.unresolved += 1
    found, _ = status(diagnosis)
    assert found.level == DiagnosticStatus.WARN
    assert found.message.startswith('running; dry friction of joints was not solved in 1 of 4')
    assert 'contacts' not in found.message


@pytest.mark.parametrize('brakes', [True, False])
def test_brakes_are_reported_as_they_are(brakes):
    """A robot without brakes is not held before its first command."""
    _, values = status(messages.Diagnosis('/simulator', simulation(FLOOR, brakes=brakes)))
    assert values['braked'] == str(brakes)

# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Barriers before joint limits: what they add, and where their zones are."""

from pathlib import Path

import numpy as np

from rbd_ros import load_urdf
from rbd_ros.control.kernels.barriers import Barrier, guard
from rbd_ros.control.laws.notices import notices
from rbd_ros.control.monitors.monitors import fill_monitors, MonitorParameters, MotionWatch
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot


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
               for text in notices(settings))
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


def test_the_watch_of_a_start_knows_the_same_zones():
    """Where a barrier pushes a joint as it starts, its motion inside is wanted."""
    settings = settings_of('mimic_gripper.urdf')
    model, margins = settings.robot.model, settings.barrier_margins
    lower, upper = (np.array(settings.robot.pick(x)) for x in (model.lower, model.upper))
    sizes = {'n': len(lower), 'm': len(lower)}
    watch, bounds = MotionWatch(sizes).plain(), MonitorParameters(sizes).plain()
    fill_monitors(bounds, settings.given)
    for q, pushed in ((lower + 0.9 * margins, 1.0), (lower + 1.1 * margins, 0.0),
                      (upper - 1.1 * margins, 0.0), (upper - 0.9 * margins, -1.0)):
        watch.arm(bounds, 0.0, q, np.zeros_like(q))
        np.testing.assert_array_equal(watch.pushed, pushed)

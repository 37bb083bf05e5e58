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

from cycle_rig import Arm
import numpy as np
import pytest
from rbd_ros.control.causes import Cause
from rbd_ros.nodes.cycle import KERNEL_OF_MODE

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


@pytest.mark.parametrize('mode', KERNEL_OF_MODE)
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
    arm.run(0.1)
    assert arm.state == 'ramping in'
    arm.run(0.9)
    assert arm.state == 'holding'
    assert 'dead-man' in arm.cycle.fault_text()

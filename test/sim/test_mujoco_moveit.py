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

"""MuJoCo's arm with friction executes plans of MoveIt and streams of MoveIt Servo."""

from __future__ import annotations

from moveit_rig import Plan, ServoStream
from mujoco_rig import configured, Driven
import numpy as np
import pytest
from rbd_ros.control.interface.results import ResultCode, Status
from rbd_ros.control.modes import Takes, taking

pytestmark = pytest.mark.slow

WAY = np.array([0.4, 0.25, -0.3, 0.3, -0.4, -0.3, 0.5])
RUBS = {'friction': (), 'damping': (), 'step': 1e-3}


@pytest.fixture
def arm() -> Driven:
    """Return the built-in arm with the parameters of its file, running, friction included."""
    driven = Driven('built-in', sensors=True, plant=RUBS, **configured('controller.yaml') | {
        'mode': taking(Takes.TRAJECTORY)[0]})
    driven.start(1.6)
    assert driven.state == 'running', driven.fault
    return driven


def sent(arm: Driven, key: str, sign: float) -> tuple[Plan, float]:
    """Send 200 points from where the arm is measured; return the plan and when it began."""
    plan, controller = Plan(arm.plant.position, sign * WAY, 0.1 * WAY, 2.0), arm.controller
    controller.pursue(arm.time, arm.time, plan.knots(), arm.time, key,
                      controller.accepted.tolerances())
    return plan, arm.time


def off(arm: Driven, plan: Plan, begun: float, seconds: float) -> float:
    """Let time pass; return how far the arm was off the plan at most, rad."""
    worst = [0.0]

    def each(time: float) -> None:
        worst.append(float(np.abs(arm.plant.position - plan.at(time - begun)[0]).max()))
    arm.each = each
    arm.run(seconds)
    arm.each = None
    return max(worst)


def test_plan_of_200_points_and_its_replacement(arm: Driven) -> None:
    """Within 0.02 rad all the way; a plan that replaces it midway is reached as well."""
    plan, begun = sent(arm, 'first', 1.0)
    assert off(arm, plan, begun, 2.0) < 0.02
    arm.run(0.6)
    first, = arm.controller.ended
    assert first[0] == 'first' and first[1].status is Status.SUCCEEDED
    arm.controller.ended.clear()
    sent(arm, 'second', -1.0)
    arm.run(1.0)
    plan, _ = sent(arm, 'third', -0.3)
    arm.run(2.6)
    assert [(key, end.status, end.code) for key, end in arm.controller.ended] == [
        ('second', Status.ABORTED, ResultCode.INVALID_GOAL),
        ('third', Status.SUCCEEDED, ResultCode.SUCCESSFUL)]
    np.testing.assert_allclose(arm.plant.position, plan.end, atol=0.01)
    assert arm.state == 'running', arm.fault


def test_windows_of_servo(arm: Driven) -> None:
    """A jog at 0.3 rad/s is followed within 0.02 rad, and ends 0.1 s and v/a after it."""
    servo, start, begun = ServoStream(0.01, 0.1), arm.plant.position.copy(), arm.time
    jog = 0.3 * np.sign(WAY)

    def at(since: float) -> np.ndarray:  # the speed rises within 0.3 s
        return start + jog * (since - 0.15 if since > 0.3 else since**2 / 0.6)
    errors = []

    def each(time: float) -> None:
        since = time - begun
        if round(since / arm.period) % 5 == 0 and since < 1.0:
            window = servo.command(since, at(since))
            if window is not None:
                arm.controller.take_points(time, time, window[1], begun + window[0])
        if 0.15 < since < 1.0:
            errors.append(np.abs(arm.plant.position - at(since - 0.1)).max())
    arm.each = each
    arm.run(1.0 + 0.1 + 0.3 / 10.0 + 0.02)
    assert not arm.controller.x.references.joint.profile.state[1].any()
    assert max(errors) < 0.02
    arm.run(0.5)
    assert np.abs(arm.plant.velocity).max() < 0.01 and arm.state == 'running'

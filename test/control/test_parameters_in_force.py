# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Whoever sets parameters to what they are leaves the robot as it is, whatever it is doing."""

from controller_rig import Arm, SOFT
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause

MODES = ('computed_torque', 'gravity_compensation', 'operational_space', 'joint_impedance',
         'cartesian_impedance', 'hold')
CAUSES = (Cause.OPERATOR_STOP, Cause.TRACKING, Cause.WRONG_MODEL, Cause.FROZEN, Cause.CONTACT,
          Cause.STATE_STALE)


@pytest.mark.sampled('properties', 2)
@pytest.mark.parametrize('seed', range(12))
def test_setting_what_is_in_force_changes_nothing(seed):
    """Loads and gravity on their way, pushes, causes, resets: no number of the state changes."""
    rng = np.random.default_rng(seed)
    arm = Arm(mode=str(rng.choice(MODES)), observer_feedback=bool(rng.integers(2)), **{
        **SOFT, 'contact.reaction': str(rng.choice(['stop', 'float', 'comply', 'retract'])),
        'contact.torque': [30.0], 'contact.energy': float(rng.choice([0.0, 2.0])),
        'gravity_slew': 0.5, 'tracking_limits': [10.0], 'payload.ramp_time': 0.3,
        'free_damping': [1.0], 'hold_time': 0.1, 'brake_time': 0.1})
    arm.release()
    seen = set()

    def changes_nothing():
        arm.controller.post(lambda now, steady: None)
        arm.controller.serve(arm.now, arm.time)  # what was due is announced
        before = arm.controller.x.memory.copy()
        arm.apply()
        after = arm.controller.x
        assert not [path for (path, _, view), at in zip(after.walk(), np.split(
            before, np.cumsum([each.size for _, _, each in after.walk()])[:-1]))
            if not np.array_equal(view.ravel(), at, equal_nan=True)]
        seen.add(arm.state)

    for k in range(12):
        what = 3 if k == 4 else rng.integers(5)
        if what == 0:
            arm.push(rng.uniform(-3.0, 3.0, 7))
        elif what == 1:
            arm.apply(gravity=[float(rng.uniform(-1.0, 1.0)), 0.0, -9.7])
        elif what == 2:
            arm.apply(**{'payload.mass': float(rng.uniform(0.0, 1.0))})
        elif what == 3:
            arm.stop(CAUSES[rng.integers(len(CAUSES))])
        else:
            arm.reset()
        changes_nothing()
        for _ in range(5):
            arm.run(arm.period * int(rng.integers(1, 40)))
            changes_nothing()
    assert len(seen) > 1

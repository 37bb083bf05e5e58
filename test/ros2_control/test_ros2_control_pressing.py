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

"""A generated controller presses with the wrench that it is told, as the node does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rbd_ros.control.supervisor.states import StateCode
from ros2_control_rig import arm_of, compiled, reason_to_skip, run, settings_of, worst_difference

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins'),
              pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')]

#: the hand points down
ARM = replace(arm_of('panda'), start=(0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785), friction=0.0,
              plate_below=0.005, plate_friction=0.0)
#: the tip is free to go where it is pushed, and keeps its direction
FREE = {'mode': 'operational_space', 'task.linear_stiffness': 0.0}
RUNNING = f'+0 until {StateCode.RUNNING.value} 6000'
#: s for which a wrench acts without another message, and N that are asked for
LASTS, FORCES = 3.0, (10.0, 20.0, 40.0)


def test_wrench_becomes_force(tmp_path: Path) -> None:
    """10, 20 and 40 N become that within 2 %; a wrench that nobody repeats ends."""
    script = [
        '+100 load rbd_controller', '+50 switch +rbd_controller', RUNNING,
        *[f'+2000 wrench /rbd_controller/target_wrench 0.0 0.0 {-force} 0.0 0.0 0.0'
          for force in FORCES], '+2000 see', '+3000 see']
    ran = run(compiled('panda'), ARM, tmp_path, script, cycles=0,
              parameters={**FREE, 'task.timeout': LASTS})
    assert ran.answers() == ['ok'] * len(script), ran.output[-4000:]
    assert ran.states()[-1] == 'running'
    begun = ran.begun()
    for force, end in zip(FORCES, begun[4:7], strict=True):
        found = ran.force[end - 500:end].mean(axis=0)
        np.testing.assert_allclose(found, [0.0, 0.0, -force], atol=0.02 * force)
    assert np.abs(ran.force[begun[3] - 500:begun[3]]).max() == 0.0  # before all
    # the last wrench came 2 s before, and what is left is no wrench
    assert np.abs(ran.force[begun[6] + int(1000 * (LASTS - 1.5)):]).max() < 0.5
    sent, worst = worst_difference(ran, settings_of('panda'))
    assert sent > 8000
    assert worst < 1e-12

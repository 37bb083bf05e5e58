# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""``rbd tool``: what hangs behind a sensor and its bias, from a recording of poses at rest."""

from __future__ import annotations

from pathlib import Path

from command_rig import ARM, data, rbd
import numpy as np
import pytest
import rbd_ros
from rbd_ros.control.parameters.file import check_file
from rbd_ros.identification.rests import read_rests
from resting_arm import COM, FORCE_BIAS, MASS, MOMENT_BIAS, REST, write_rests

pytestmark = pytest.mark.slow


@pytest.mark.parametrize('support', [False, True])
def test_tool_and_bias_come_back(tmp_path: Path, support: bool) -> None:
    """With noise, within what is stated; the file is one that the controller takes."""
    bag, out = write_rests(tmp_path / 'poses', 8, support=support), tmp_path / 'tool.yaml'
    words = ['tool', bag, '--urdf', ARM, '--frame', 'tool0', '--out', out,
             *(['--support'] if support else [])]
    found = data(*words)
    assert found['poses'] == 8
    sign = -1.0 if support else 1.0  # in the file a bias has the sign of the readings
    for name, wanted in (('mass', MASS), ('com', COM), ('force_bias', sign * FORCE_BIAS),
                         ('moment_bias', sign * MOMENT_BIAS)):
        error = np.abs(np.array(found[name]) - wanted)
        assert (error <= 5.0 * np.array(found[f'{name}_deviation'])).all(), name
    assert found['mass'] == pytest.approx(MASS, abs=2e-3)
    given = check_file(str(out), '/controller')
    assert given['force_torque.convention'] == ('support' if support else 'load')
    assert given['force_torque.force_bias'] == pytest.approx(FORCE_BIAS.tolist(), abs=0.02)
    assert given['force_torque.moment_bias'] == pytest.approx(MOMENT_BIAS.tolist(), abs=0.02)
    assert given['payload.frame'] == given['force_torque.frame'] == 'tool0'
    assert given['payload.mass'] == pytest.approx(MASS, abs=2e-3)
    assert given['payload.com'] == pytest.approx(COM.tolist(), abs=2e-3)
    rbd(*words, '--in-urdf')
    given = check_file(str(out), '/controller')
    assert given['force_torque.tool_mass'] == pytest.approx(MASS, abs=2e-3)
    assert 'payload.mass' not in given
    assert 'force bias x' in rbd(*words)[0]


def test_only_rests_are_read(tmp_path: Path) -> None:
    """Each pose once, at its time; on the way the readings are wild and none of them counts."""
    rests = read_rests(write_rests(tmp_path / 'poses', 4), rbd_ros.load_urdf(ARM),
                       '/controller/force_torque')
    np.testing.assert_allclose(rests.t, [1.0, 4.0, 7.0, 10.0], atol=0.05)
    assert (np.abs(np.diff(rests.q, axis=0)).max(axis=1) > 0.1).all()
    assert rests.spread.max() < 0.03


def test_recordings_that_tell_nothing(tmp_path: Path) -> None:
    """Each is refused with what to do."""
    bag = write_rests(tmp_path / 'poses', 2)
    words = ('tool', bag, '--urdf', ARM, '--frame')
    for more, text in (
            (('tool0',), '2 poses: at least 3 are needed'),
            (('nobody',), 'nobody'),
            (('tool0', '--sensor', '/no'), 'no topic "/no"'),
            (('tool0', '--sensor', '/joint_states'), 'not geometry_msgs/msg/WrenchStamped'),
            (('tool0', '--seconds', str(2 * REST)), 'no pose in which all joints rested'),
            (('tool0', '--seconds', '0'), '--seconds 0 must be above 0'),
            (('tool0', '--gravity', '0,0'), 'three numbers that are not all zero'),
            (('tool0', '--gravity', '0,0,0'), 'three numbers that are not all zero')):
        error = rbd(*words, *more, code=2)[1]
        assert text in error and error.count('\n') == 1, error
    six = write_rests(tmp_path / 'six', 6)
    error = rbd('tool', six, '--urdf', ARM, '--frame', 'tool0', '--support', code=2)[1]
    assert 'opposite sign' in error

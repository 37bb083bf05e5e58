# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Directions of gravity that an IMU or TF measures, by topics of a real node."""

import dataclasses
import math

from controller_rig import MODEL
from geometry_msgs.msg import Quaternion, TransformStamped
from node_rig import NodeRig, START, to_time
import numpy as np
import pytest
from rbd_ros import Dynamics
from sensor_msgs.msg import Imu
from tf2_msgs.msg import TFMessage

GRAVITY = 9.81


def gravity_of(down):
    """Return the torque that holds the arm where down is a direction of the base."""
    model = dataclasses.replace(MODEL, gravity=tuple((GRAVITY * np.array(down)).tolist()))
    return Dynamics(model, backend='reference').gravity(START)


def stamped(message, rig):
    """Return a message with the stamp of now."""
    message.header.stamp = to_time(rig.now)
    return message


@pytest.fixture(params=['imu', 'tf'])
def tilted(request):
    """Return a rig whose direction of gravity is measured, and what measures it."""
    rig = NodeRig(gravity_source=request.param, gravity_frame='world', gravity_timeout=5.0,
                  mode='gravity_compensation', activation_timeout=60.0)

    def measure(turn):
        if request.param == 'imu':
            rig.publish('controller/imu', stamped(Imu(orientation=turn), rig))
        else:
            found = stamped(TransformStamped(child_frame_id='base_link'), rig)
            found.header.frame_id, found.transform.rotation = 'world', turn
            rig.publish('/tf', TFMessage(transforms=[found]))
    yield rig, measure, request.param
    rig.close()


def test_gravity_is_measured(tilted):
    """Of a base that is turned about x; what is too old is an error and stops nothing at once."""
    rig, measure, kind = tilted
    turn = Quaternion(x=math.sin(0.2), w=math.cos(0.2))
    assert rig.transition('configure')
    activated = rig.ask_transition('activate')
    while not activated.done():
        measure(turn)
        rig.step(wait=False)
    assert activated.result().success, rig.last_words()
    rig.run_until(lambda: rig.said('state') == 'running', 'running')
    expected = gravity_of([0.0, -math.sin(0.4), -math.cos(0.4)])

    def holds():
        measure(turn)
        return np.allclose(rig.step().effort, expected, atol=1e-6)
    rig.run_until(holds, f'{expected}, not {rig.commands[-1].effort}', 5.0)
    level, _, values = rig.diagnosis('load')
    assert level == b'\0' and float(values['gravity age [s]']) < 5.0
    assert values['gravity source'] == {'imu': 'the topic /controller/imu',
                                        'tf': 'TF from base_link to world'}[kind]
    if kind == 'imu':
        measure(Quaternion(w=0.5))
        values = rig.diagnosis('load', **{'gravity messages refused': '1'})[2]
        assert 'length 0.5' in values['gravity refusal']
        blind, moving = Imu(orientation=turn), Imu(orientation=turn)
        blind.orientation_covariance[0] = -1.0
        moving.header.frame_id = 'tool0'
        for message, text in ((blind, 'has no orientation'), (
                moving, 'frame "tool0", which is not fixed to the base')):
            rig.publish('controller/imu', stamped(message, rig))
            rig.wait(lambda text=text: text in rig.diagnosis('load')[2]['gravity refusal'], text)
    else:
        with rig.logs('more than 2000 frames on /tf'):
            rig.publish('/tf', TFMessage(transforms=[
                TransformStamped(child_frame_id=f'frame_{k}') for k in range(2001)]))
    rig.block()
    rig.run_until(lambda: rig.said('state') != 'running', 'a fault', 10.0)
    level, text, _ = rig.diagnosis('load')
    assert level == b'\2' and text.startswith('no direction of gravity')
    assert 'gravity' in rig.said('fault')


def test_an_activation_without_gravity_names_its_source():
    """It waits for the direction, and says so when it gives up."""
    rig = NodeRig(gravity_source='imu', gravity_timeout=5.0, activation_timeout=1.0)
    try:
        assert rig.transition('configure')
        with rig.logs('cannot activate: no direction of gravity from the topic /controller/imu: '
                      'nothing received'):
            assert not rig.transition('activate')
    finally:
        rig.close()

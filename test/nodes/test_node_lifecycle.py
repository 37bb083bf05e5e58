# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Transitions of a real node: what refuses them, what they leave, and what a start is told."""

import re

from node_rig import NodeRig, START
import numpy as np
import pytest
from rbd_ros.nodes.controller import node as controller
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter

VALUES = {'realtime.freeze_gc': True, 'realtime.lock_memory': True}


def sent_from_now(rig):
    """Return the commands that come within half a second of simulated time."""
    count = len(rig.commands)
    rig.run(0.5)
    rig.received()
    return rig.commands[count:]


@pytest.mark.parametrize('name', ['deactivate', 'shutdown'])
def test_the_answer_comes_after_the_last_torque(name):
    """Whoever puts the robot down hears of it once all is released, and nothing follows."""
    rig = NodeRig()  # one at a time: before that of the others
    try:
        rig.bring_up()
        rig.block()
        begin = len(rig.commands)
        assert rig.transition(name)
        rig.received()
        torques = np.array([each.effort for each in rig.commands[begin:]])
        assert torques.any(axis=1).sum() > 10 and not torques[-1].any()
        assert not sent_from_now(rig)
        if name == 'deactivate':
            rig.activate()
    finally:
        rig.close()


def test_after_a_fault_at_the_start_nobody_tries_again_by_himself():
    """An automatic start that finds a robot beyond its limits is over; a request may begin."""
    rig = NodeRig(autostart=True)
    try:
        rig.q = np.full(7, 20.0)
        with rig.logs('cannot activate: '):
            rig.run_until(lambda: rig.said('fault'), 'a fault')
        rig.wait(lambda: rig.lifecycle == 'inactive', 'the end of it')
        count = len(rig.texts['log'])
        rig.q = START.copy()
        rig.run(0.5)
        assert rig.lifecycle == 'inactive'
        assert not any('activat' in line for line in rig.texts['log'][count:])
        rig.activate()
    finally:
        rig.close()


@pytest.fixture
def rig(started):
    """Return it, unconfigured."""
    started.put_down()
    return started


def test_a_mistyped_parameter_is_named(rig):
    """Nothing of what is asked for is set."""
    answer = rig.call_now('set_parameters_atomically', SetParametersAtomically, parameters=[
        Parameter(name, value=value).to_parameter_msg()
        for name, value in (('mode', 'hold'), ('stifness', [3.0]))]).result
    assert not answer.successful
    assert answer.reason == 'there is no parameter "stifness"; did you mean "stiffness"?'
    assert rig.get('mode') != 'hold'


def test_parameters_that_are_refused(rig):
    """What cannot be used is refused with its reason, and none of a set is taken."""
    rig.bring_up()
    cases = (({'damping': [9.0], 'stiffness': [-1.0]}, 'stiffness'), ({'mode': 'flying'}, 'mode'),
             ({'switch_time': 'long'}, '.'), ({'state_timeout': 0.2}, 'active'),
             ({'use_sim_time': False}, 'use_sim_time'), ({'gravity_scale': [1.0, 1.0]}, 'scale'),
             ({'payload__mass': 1.0, 'payload__inertia': [1.0, 0.0, 0.0, 0.1, 0.0, 0.1]},
              'rigid body'), ({'switch_time': 99.0, 'mode': 'hold'}, 'switch_time'),
             ({'payload__mass': 100.0}, r'100 kg cannot be held: at the present pose joint_\d'))
    before = {name: rig.value(name.replace('__', '.')) for given, _ in cases for name in given}
    for given, reason in cases:
        assert re.search(reason, rig.set(**given)), given
    assert {name: rig.value(name.replace('__', '.')) for name in before} == before
    rig.run(0.2)
    assert rig.said('state') == 'running'


def test_parameters_that_wait(rig):
    """What a robot is made of counts from the next configuration on; a transition has its turn."""
    assert rig.transition('configure')
    with rig.logs('state_timeout: takes effect at the next configuration'):
        rig.must_set(state_timeout=0.5)
    done = rig.ask_transition('activate')
    rig.wait(lambda: rig.said('state') == 'probing', 'an activation that waits')
    reason = rig.call_now('set_parameters_atomically', SetParametersAtomically, parameters=[
        Parameter('switch_time', value=0.3).to_parameter_msg()]).result.reason
    assert 'is activating: wait until' in reason
    rig.run_until(done.done, 'its end')
    rig.must_set(switch_time=0.3)
    assert 'cannot be changed while active' in rig.set(state_timeout=1.0)


def test_a_configuration_that_fails_leaves_nothing(rig):
    """A wrong value is told in one line; once it is right the same node begins."""
    for name, wrong, reason in (
            ('joints', ['joint_8'], 'joint_8'), ('robot_description', '<robot', ''),
            ('robot_description', '', 'there is no robot description: nothing on the topic '
             '/robot_description, and neither robot_description nor')):
        right = rig.value(name)
        rig.must_set(**{name: wrong})
        with rig.logs(f'cannot configure: {reason}' if ' ' in reason else reason):
            assert not rig.transition('configure')
        assert rig.lifecycle == 'unconfigured' and not rig.transition('activate')
        assert not rig.client.count_publishers('controller/commands')
        rig.must_set(**{name: right})
    rig.bring_up()
    assert len(rig.step().effort) == 7


def test_what_became_of_settings_of_the_machine(rig):
    """Garbage is frozen and memory locked where that is asked for; the diagnostics say so."""
    rig.bring_up()
    values = rig.diagnosis('real time')[2]
    assert values['realtime.freeze_gc'] == 'applied'
    assert values['realtime.lock_memory'].startswith(('applied', 'refused ('))


def test_a_loop_that_does_not_answer_keeps_nobody(rig, monkeypatch):
    """A deactivation gives up after 10 s, as the process does when it ends: it says so."""
    clock = [0.0]

    class Time:
        monotonic = staticmethod(lambda: clock[0])

        @staticmethod
        def sleep(seconds):
            clock[0] += seconds
    rig.bring_up()
    rig.block()
    with monkeypatch.context() as patch, rig.logs('not run for 10 s, in which a stop ends: still'):
        patch.setattr(controller, 'time', Time)
        patch.setattr(rig.node.controller, 'post', lambda _: None)
        assert not rig.transition('deactivate')
        assert 10.0 < clock[0] < 10.1 and rig.lifecycle == 'active'
    assert rig.step() is not None
    assert rig.transition('deactivate')

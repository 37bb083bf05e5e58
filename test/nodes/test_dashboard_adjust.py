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

"""Numbers of the controller that the dashboard shows and changes."""

from types import SimpleNamespace
from unittest.mock import MagicMock

from dashboard_page import page
from rbd_ros.nodes.dashboard.adjust import by_hand


def adjusted(shown):
    """Return the numbers of a page, with fields that keep what they are given."""
    adjust = shown._adjust
    adjust.fields = {name: SimpleNamespace(value=0.0, disabled=True, hint='', visible=None)
                     for name in adjust.fields}
    adjust._operator = MagicMock()
    return adjust, adjust.fields


def test_numbers_are_those_of_the_controller_before_they_can_be_changed(node):
    """What was not read cannot be changed; what differs by joint is left alone."""
    adjust, fields = adjusted(page(node, 'tool0')[0])
    adjust.take({'payload.mass': 1.5, 'stiffness': [400.0, 400.0], 'damping': [10.0, 20.0],
                 'gravity': [0.0, 0.0, 9.81], 'cartesian_impedance.linear_stiffness': [500.0],
                 'friction.viscous': [1.0]})
    assert (fields['payload.mass'].value, fields['payload.mass'].disabled) == (1.5, False)
    assert (fields['stiffness'].value, fields['stiffness'].disabled) == (400.0, False)
    assert fields['gravity'].value == (0.0, 0.0, 9.81)
    assert fields['cartesian_impedance.linear_stiffness'].value == (500.0, 500.0, 500.0)
    assert fields['damping'].disabled and 'by joint' in fields['damping'].hint
    assert fields['joint_impedance.stiffness'].disabled
    adjust.take({'joint_impedance.stiffness': []})  # made by the controller: it may be given
    spring = fields['joint_impedance.stiffness']
    assert not spring.disabled and spring.value == 0.0 and 'not given' in spring.hint


def test_a_number_that_begins_to_differ_by_joint_is_left_alone(node):
    """One number would take the place of all of them; it can be changed again if they agree."""
    adjust, fields = adjusted(page(node, 'tool0')[0])
    field = fields['stiffness']
    for values, differs in (([100.0], False), ([100.0, 200.0], True), ([300.0, 300.0], False)):
        adjust.take({'stiffness': values})
        assert field.disabled == differs and ('by joint' in (field.hint or '')) == differs
    assert field.value == 300.0


def test_numbers_are_sent_by_a_button_and_not_by_every_key(node):
    """400 on the way over 4 and 40 sends 400 only; what is being edited is not overwritten."""
    adjust, fields = adjusted(page(node, 'tool0')[0])
    for typed in (4.0, 40.0, 400.0):
        fields['stiffness'].value = typed
        adjust.edit('stiffness')
    fields['gravity'].value = (0.0, 0.0, -1.6)
    adjust.edit('gravity')
    adjust.take({'stiffness': [100.0], 'damping': [10.0], 'gravity': [0.0, 0.0, -9.81]})
    assert fields['stiffness'].value == 400.0 and fields['damping'].value == 10.0
    assert not adjust._operator.set.called
    adjust.send()
    adjust._operator.set.assert_called_once_with(
        {'gravity': [0.0, 0.0, -1.6], 'stiffness': [400.0]})
    adjust.take({'stiffness': [100.0]})  # it was refused: the page shows what holds
    assert fields['stiffness'].value == 100.0
    adjust.send()
    assert adjust._operator.set.call_count == 1


def test_a_mode_with_springs_has_its_numbers_in_their_units(node):
    """Each mode shows its own; what was typed for another one is not sent with them."""
    adjust, fields = adjusted(page(node, 'tool0')[0])

    def shown(mode):
        adjust.show(mode)
        return {name for name, field in fields.items() if field.visible}
    always = {'payload.mass', 'gravity'}
    assert shown('hold') == always | {'stiffness', 'damping'}
    fields['stiffness'].value = 7.0
    adjust.edit('stiffness')
    assert shown('joint_impedance') == always | {'joint_impedance.stiffness',
                                                 'joint_impedance.damping'}
    fields['joint_impedance.damping'].value = 2.0
    adjust.edit('joint_impedance.damping')
    adjust.send()
    adjust._operator.set.assert_called_once_with({'joint_impedance.damping': [2.0]})
    assert shown('cartesian_impedance') == always | {
        f'cartesian_impedance.{name}' for name in
        ('linear_stiffness', 'angular_stiffness', 'damping_ratio', 'linear_damping',
         'angular_damping')}
    fields['cartesian_impedance.linear_stiffness'].value = (800, 800, 200)
    fields['cartesian_impedance.damping_ratio'].value = 1
    adjust.edit('cartesian_impedance.linear_stiffness')
    adjust.edit('cartesian_impedance.damping_ratio')
    adjust.send()
    adjust._operator.set.assert_called_with({
        'cartesian_impedance.damping_ratio': 1.0,
        'cartesian_impedance.linear_stiffness': [800.0, 800.0, 200.0]})


def test_only_a_person_changes_a_value():
    """A value that the program shows is not sent back as a command."""
    done = []
    react = by_hand(lambda: done.append(1))
    react(SimpleNamespace(client=None))
    assert not done
    react(SimpleNamespace(client=object()))
    assert done

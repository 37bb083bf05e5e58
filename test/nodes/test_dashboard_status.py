# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the page says of a robot and its controller, and what its buttons ask of them."""

from datetime import datetime, timezone
import re

from action_msgs.msg import GoalStatus, GoalStatusArray
from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from page_rig import MODEL, START
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.modes import MODES
from rbd_ros.nodes.dashboard.operator import ANSWER_TIMEOUT
from rbd_ros.nodes.dashboard.simulated import PUSH_DURATION
from rbd_ros.nodes.dashboard.telemetry import LATCHED
from rbd_ros.nodes.dashboard.timeline import KEPT, Timeline
from rbd_ros.nodes.diagnostic_names import (
    CONTACT, CONTACT_COUNT, CONTACT_FORCE, CONTACT_PLACE, CONTACT_REACTION, CONTACT_TIME,
    CONTACT_TORQUE, JOINT_STATES, LAST_GOAL, LATENCY, RATE, REFERENCE)
from rcl_interfaces.msg import SetParametersResult
from sensor_msgs.msg import JointState

STOP = f'{Cause.OPERATOR_STOP.text}: ~/stop'
SPEED = f'{Cause.OVER_SPEED.text}: joint_2 at 3 rad/s'


@pytest.fixture
def desk(made):
    """Give the page of a simulated robot that runs."""
    made.robot.refusal = ''
    return made.begin(simulated=True)


def status(desk):
    """Return the colour of the box at the top, and its words."""
    level, words = re.search(r'<div class="status (\w+)"[^>]*>(.*)</div>',
                             desk.visitor.look().html).groups()
    return level, re.sub(' +', ' ', re.sub('<[^>]*>', ' ', words))


def told(desk, count=1):
    """Return the newest events, as they are read: kind and words."""
    events = desk.visitor.look().find_html('events')
    rows = re.findall(r'<tr style="vertical-align.*?</tr>', events)
    cells = [[re.sub('<[^>]*>', '', each) for each in re.findall('<td.*?</td>', row)]
             for row in rows[:count]]
    return [(kind, words) for _, kind, words in cells]


# -- the box at the top -----------------------------------------------------------------------


def test_words_follow_what_is_heard(desk):
    """A controller, a fault, one that has vanished, no states: each is named."""
    assert status(desk) == ('good', ' State running , mode computed_torque ')
    desk.say(state='holding', mode='hold', fault='a <joint> is fast')
    desk.robot.report(level=DiagnosticStatus.ERROR, message='holding')
    desk.until(lambda: 'Error' in desk.text())
    level, words = status(desk)
    assert level == 'fault' and 'State holding , mode hold' in words
    assert 'Fault: a &lt;joint&gt; is fast' in words and 'press Reset' in words
    assert 'Error: controller: supervisor: holding' in words
    desk.pass_time(4.0)
    assert 'No joint states' in status(desk)[1]
    only = desk.robot.simulator.create_publisher(JointState, 'joint_states', 10)
    desk.until(only.get_subscription_count, looks=False)
    only.publish(JointState(name=MODEL.joint_names, position=START.tolist()))
    heard = desk.node.tabs[0].page.telemetry
    desk.until(lambda: heard.take() or heard.age('states') == 0.0, looks=False)
    desk.pass_time(0.3)
    assert 'The controller has vanished' in status(desk)[1] and '4 s' in status(desk)[1]
    desk.robot.simulator.destroy_publisher(only)


@pytest.mark.parametrize(('state', 'fault', 'level', 'advice'), [
    ('running', '', 'good', ''), ('ramping in', '', 'waiting', 'wait'),
    ('inactive', '', 'waiting', 'activate'), ('braking', STOP, 'warning', 'being stopped'),
    ('holding', STOP, 'warning', 'press Reset to go on'),
    ('holding', Cause.DEAD_MAN.text, 'warning', 'press Reset to go on'),
    ('holding', SPEED, 'fault', 'cause, then press Reset'),
    ('braking', SPEED, 'fault', 'being stopped'),
    ('fault', f'{STOP}; {Cause.STATE_STALE.text}', 'fault', 'Reset')])
def test_a_colour_and_what_to_press_next(desk, state, fault, level, advice):
    """A stop that was asked for is no fault, and is not called one; with another cause it is."""
    desk.say(state=state, fault=fault)
    desk.robot.report(level=DiagnosticStatus.ERROR if fault else DiagnosticStatus.OK,
                      message=f'{state}: {fault}' if fault else state)
    desk.look()
    found, words = status(desk)
    assert found == level and advice in words and ('Next:' in words) == bool(advice)
    assert ('Fault:' in words) == (level == 'fault')
    assert 'Error' not in words  # said already


def test_a_warning_has_its_colour_and_is_an_event(desk):
    """The controller runs, but something is not as it should be; a level that falls is none."""
    for level, words, count in (
            (DiagnosticStatus.OK, 'fine', 0), (DiagnosticStatus.WARN, 'joint_4', 1),
            (DiagnosticStatus.WARN, 'joint_5', 0), (DiagnosticStatus.ERROR, 'worse', 1),
            (DiagnosticStatus.WARN, 'better', 0), (DiagnosticStatus.OK, 'fine', 0)):
        before = desk.visitor.look().find_html('events')
        desk.robot.report('torque', level, words)
        desk.until(lambda words=words: desk.node.tabs[0].page.telemetry.diagnostics.get(
            'controller: torque', ('', ''))[1] == words)
        desk.look()
        assert (desk.visitor.look().find_html('events') != before) == bool(count), words
        found, text = status(desk)
        assert found == {b'\0': 'good', b'\1': 'warning', b'\2': 'fault'}[level]
        assert (f': controller: torque: {words}' in text) == (level != DiagnosticStatus.OK)
    assert told(desk, 2) == [('fault', 'controller: torque: worse'),
                             ('warning', 'controller: torque: joint_4')]


def test_what_is_lost_and_comes_back_is_told(desk):
    """Joint states and the controller, with what to do, once."""
    desk.pass_time(4.0)
    desk.pass_time(1.0)
    lost = dict(told(desk, 2)), [words for _, words in told(desk, 2)]
    assert sorted(words.partition(':')[0] for words in lost[1]) == [
        'joint states', 'the controller']
    assert any('driver' in words for words in lost[1])
    desk.look()
    assert sorted(told(desk, 2)) == [('reset', 'joint states: here again'),
                                     ('reset', 'the controller: here again')]


def test_a_controller_without_diagnostics_is_heard_by_its_reports(desk):
    """The plugin of ros2_control has none: what it follows says that it is there."""
    desk.clock.now += 10.0
    desk.robot.talk(desk.clock.now)
    heard = desk.node.tabs[0].page.telemetry
    desk.until(lambda: heard.take() or heard.age('reference') == heard.age('states') == 0.0,
               looks=False)
    desk.node.update()
    assert heard.age('controller') > 9.0
    assert status(desk)[0] == 'good' and 'State running' in status(desk)[1]


def test_a_robot_on_its_feet(desk):
    """The node that holds the robot is named, and its troubles are."""
    desk.robot.report('balance', message='stands', name='other/stand')
    desk.look()
    assert 'State running' in status(desk)[1]
    desk.robot.report('balance', message='stands', name='stand')
    desk.until(lambda: desk.look() or 'on its feet' in status(desk)[1])
    assert status(desk)[0] == 'good'
    desk.robot.report('balance', DiagnosticStatus.ERROR, 'the robot has fallen', name='stand')
    desk.until(lambda: desk.look() or status(desk)[0] == 'fault')
    assert 'Error: stand: balance: the robot has fallen' in status(desk)[1]
    for name in ('stand', 'other/stand'):
        desk.robot.report('balance', message='stands', name=name)
    desk.until(lambda: desk.look() or status(desk)[0] == 'good')


# -- events -----------------------------------------------------------------------------------


def test_a_fault_a_stop_and_a_reset(desk):
    """Each cause is told when it comes, with its advice; the end of all of them is a reset."""
    desk.say(fault=SPEED)
    desk.look(2)
    assert told(desk) == [('fault', f'{SPEED}Next: {Cause.OVER_SPEED.advice}')]
    desk.say(fault=f'{SPEED}; {STOP}', mode='damping')
    desk.look()
    assert told(desk, 2) == [
        ('mode', 'from computed_torque to damping'),
        ('stop', f'{STOP}Next: {Cause.OPERATOR_STOP.advice}')]
    desk.say(fault='', mode='')
    desk.look()
    assert told(desk) == [('reset', 'the faults are cleared')]


def contact(desk, count, place='joint_4', when='2026-03-01T12:00:00.250+00:00'):
    """Have the controller tell of contacts."""
    desk.robot.report(CONTACT, **{
        CONTACT_REACTION: 'stop', CONTACT_COUNT: str(count), CONTACT_TIME: when,
        CONTACT_PLACE: place, CONTACT_TORQUE: '4.2 N.m', CONTACT_FORCE: '12.5'})
    desk.fence()


def test_a_contact_is_told_once_with_the_time_at_which_it_was_felt(desk):
    """A report that repeats the last one adds none; one that begins anew counts anew."""
    before = told(desk, KEPT)
    for count in (0, 'nan', 1, 1):
        contact(desk, count)
    new = told(desk, KEPT)
    assert new[1:] == before
    assert new[0] == ('contact', 'felt by joint_4: 4.2 N.m; 12.5 N at the frame. Then: stop')
    at = datetime(2026, 3, 1, 12, 0, 0, 250000, tzinfo=timezone.utc).astimezone()
    assert f'<td>{at:%H:%M:%S}.250</td>' in desk.visitor.find_html('events')
    contact(desk, 4, 'tz')
    assert 'tz' in told(desk)[0][1] and 'And 2 just before' in told(desk)[0][1]
    contact(desk, 1, 'joint_1', when='?')  # of a controller that was activated again
    assert 'joint_1' in told(desk)[0][1] and len(told(desk, KEPT)) == len(before) + 3


def test_goals_are_accepted_and_end_for_a_reason(desk):
    """The reason comes later, with the next report; goals of before the page are not told."""
    send = desk.robot.controller.create_publisher(
        GoalStatusArray, '~/follow_joint_trajectory/_action/status', LATCHED)
    before = len(told(desk, KEPT))

    def goals(*statuses):
        made = GoalStatusArray()
        for k, each in enumerate(statuses):
            made.status_list.append(GoalStatus(status=each))
            made.status_list[-1].goal_info.goal_id.uuid = [k] * 16
        send.publish(made)

    def words():
        desk.look()
        return [words for _, words in told(desk, len(told(desk, KEPT)) - before)]
    desk.until(send.get_subscription_count)
    done, running = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_EXECUTING
    goals(done)
    desk.fence()
    for now in ([done, running], [done, running], [done, GoalStatus.STATUS_CANCELING]):
        goals(*now)
        desk.until(lambda: words() == ['accepted'])
    goals(done, GoalStatus.STATUS_CANCELED)
    desk.until(lambda: words() == ['cancelled', 'accepted'])
    for reason in ('cancelled (SUCCESSFUL): by its client', 'again'):
        desk.robot.report(REFERENCE, **{LAST_GOAL: reason})
        desk.fence()
        assert told(desk)[0] == ('goal', 'cancelled (SUCCESSFUL): by its client')
    goals(done, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED)
    desk.until(lambda: words()[0] == 'aborted')
    desk.robot.controller.destroy_publisher(send)


def test_the_list_of_events_is_escaped_and_bounded():
    """Nothing of an event becomes part of the page, and old events make room."""
    timeline = Timeline()
    assert 'Nothing so far' in timeline.html()
    timeline.add('fault', 'a <b> joint', 'do <that>', at=datetime(2026, 3, 1, 8, 30).timestamp())
    timeline.add('mode', 'from a to b')
    text = timeline.html()
    assert text.index('from a to b') < text.index('a &lt;b&gt; joint')
    assert '08:30:00.000' in text and 'do &lt;that&gt;' in text and '<that>' not in text
    for k in range(2 * KEPT):
        timeline.add('goal', str(k))
    assert [event.text for event in timeline] == [str(2 * KEPT - 1 - k) for k in range(KEPT)]


# -- what is asked for ------------------------------------------------------------------------


def pressed(desk, label):
    """Press a button; return what is asked and what the page answers."""
    desk.robot.asked.clear()
    desk.press(label)
    desk.until(lambda: desk.robot.asked and ': sent' not in desk.text())
    [(name, _)] = desk.robot.asked
    return name, desk.text()


def test_buttons_ask_and_the_answer_is_told(desk):
    """Stop, reset, home and pause, each of its own service; a refusal has its words."""
    for label, name, words in (('Stop', 'stop', 'stop: stop: as you wish'),
                               ('Reset', 'reset', 'reset: reset: as you wish'),
                               ('Back to the start pose', 'home', 'back to the start pose: home')):
        asked, answer = pressed(desk, label)
        assert asked == name and words in answer
    desk.robot.refusal = 'there is no fault'
    assert 'reset: there is no fault' in pressed(desk, 'Reset')[1]
    desk.robot.refusal = ''
    for paused, word in ((True, 'pause'), (False, 'continue')):
        desk.robot.asked.clear()
        desk.put('Pause the simulator', paused)
        desk.until(lambda word=word: f'{word}: pause: as you wish' in desk.text())
        [(name, request)] = desk.robot.asked
        assert name == 'pause' and request.data is paused


def test_an_answer_that_never_comes_is_given_up(desk):
    """The page says what became of the request, and what came of a later one."""
    spin, desk.spin = desk.spin, lambda: None  # nobody answers
    try:
        desk.visitor.press('Stop')
        desk.called()
        desk.pass_time(0.3)
        assert 'stop: sent' in desk.shown()
        desk.pass_time(ANSWER_TIMEOUT)
        desk.pass_time(0.3)
        assert 'stop: no answer from controller/stop' in desk.shown()
    finally:
        desk.spin = spin
    desk.look(3)
    assert 'reset: reset: as you wish' in pressed(desk, 'Reset')[1]


def test_a_push_lasts_its_time(desk):
    """While it lasts, each picture sends the force that the page shows, at the tool."""
    desk.put('Push, N', [1.0, -2.0, 15.0])
    begin = desk.clock.now
    desk.visitor.press('Push')
    desk.called()
    desk.run(1.0)
    pushes = [each for each in desk.sent['push'] if each.time >= begin]
    assert pushes[-1].time - begin < PUSH_DURATION < pushes[-1].time - begin + 0.05
    for _, message in pushes:
        force = message.wrench.force
        assert (message.header.frame_id, force.x, force.y, force.z) == ('tool0', 1.0, -2.0, 15.0)


def test_the_way_home(desk):
    """The simulator is reset, and the controller as soon as the jump has become its fault."""
    def asked(state, seconds, *names, fault='it jumped'):
        desk.say(state=state, fault=fault)
        desk.clock.now += seconds
        desk.look(2)
        desk.until(lambda: [name for name, _ in desk.robot.asked] == list(names))

    def home():
        desk.forget()
        desk.press('Back to the start pose')
    home()
    asked('running', 0.2, 'home', fault='')
    asked('state lost', 0.5, 'home')
    asked('ramping down', 0.2, 'home')
    asked('fault', 0.2, 'home', 'reset')
    asked('fault', 1.0, 'home', 'reset')
    home()  # a jump so small that it is no fault
    asked('running', 1.0, 'home', fault='')
    asked('running', 5.0, 'home', fault='')
    asked('fault', 1.0, 'home')
    home()  # it was stopped, and did not notice
    asked('holding', 1.0, 'home')
    asked('holding', 5.0, 'home', 'reset')
    home()
    desk.robot.become(simulated=False)  # a real one appears on the way: it is not touched
    desk.until(lambda: desk.look() or not desk.visitor.look().has('Back to the start pose'))
    asked('fault', 1.0, 'home')
    desk.press('Back to the start pose')
    desk.fence()
    asked('fault', 1.0, 'home')


def test_a_mode_is_shown_when_it_changes_and_a_choice_is_asked_for(desk):
    """The page does not undo a choice that nobody has read yet; a refused one it does."""
    assert desk.value('Mode') == 'computed_torque'
    desk.put('Mode', 'damping')
    desk.until(lambda: 'mode damping: set' in desk.text())
    assert desk.robot.parameter('mode') == 'damping'
    desk.say(mode='damping')
    desk.look(15)
    assert desk.value('Mode') == 'damping'
    desk.say(mode='hold')  # set by somebody else
    desk.look()
    assert desk.value('Mode') == 'hold'
    desk.visitor.put('Mode', 'operational_space')  # and refused
    desk.called()
    desk.look(3)
    assert desk.value('Mode') == 'operational_space'
    desk.look(12)
    assert desk.value('Mode') == 'hold'
    desk.say(mode='mine')  # one of the user's
    desk.look()
    assert desk.value('Mode') == 'mine' and desk.part('Mode')['options'] == [*MODES, 'mine']


# -- numbers of the controller ----------------------------------------------------------------


def test_numbers_are_those_of_the_controller_and_are_sent_by_a_button(desk):
    """400 on the way over 4 and 40 sends 400 only; what is being edited is not overwritten."""
    desk.give(**{'stiffness': [100.0], 'damping': [10.0, 20.0], 'payload.mass': 1.5})
    desk.say(mode='hold')
    assert desk.value('Stiffness, 1/s²') == 100.0 and desk.value('Payload, kg') == 1.5
    damping = desk.part('Damping, 1/s')
    assert damping['disabled'] and 'by joint' in damping['hint']
    assert desk.part('Apply')['disabled']
    for typed in (4.0, 40.0, 400.0):
        desk.put('Stiffness, 1/s²', typed)
    desk.put('Gravity, m/s²', [0.0, 0.0, -1.6])
    desk.give(**{'payload.mass': 2.0})  # the page has read all of them again
    assert desk.value('Stiffness, 1/s²') == 400.0 and desk.value('Payload, kg') == 2.0
    assert desk.robot.parameter('stiffness') == [100.0] and not desk.part('Apply')['disabled']
    desk.press('Apply')
    desk.until(lambda: 'gravity 0, 0, -1.6, stiffness 400: set' in desk.text())
    assert desk.robot.parameter('stiffness') == [400.0]
    assert desk.robot.parameter('gravity') == [0.0, 0.0, -1.6]
    assert desk.part('Apply')['disabled']
    desk.give(damping=[30.0, 30.0], gravity=[0.0, 0.0, -9.81])
    assert not desk.part('Damping, 1/s')['disabled'] and desk.value('Damping, 1/s') == 30.0


def test_a_refused_number_is_taken_back_but_not_at_once(desk):
    """The page asks again only when a change has had time to take effect: it does not flicker."""
    desk.say(mode='hold')
    desk.give(**{'payload.mass': 0.5})

    asked = []

    def no(values):
        asked.extend(values)
        return SetParametersResult(successful=False, reason='too much')
    desk.put('Payload, kg', 500.0)
    desk.give(damping=[31.0])  # no answer of before is on its way
    desk.robot.controller.add_on_set_parameters_callback(no)
    try:
        desk.press('Apply')
        desk.until(lambda: asked, looks=False)
        desk.look(8)  # by now it would be time for the next look at the parameters
        assert desk.value('Payload, kg') == 500.0
        desk.until(lambda: 'payload.mass 500.0: refused: too much' in desk.text())
    finally:
        desk.robot.controller.remove_on_set_parameters_callback(no)
    desk.until(lambda: desk.look() or desk.value('Payload, kg') == 0.5)
    desk.give(**{'payload.mass': 0.0})


def test_a_mode_has_its_numbers_in_their_units(desk):
    """Each mode shows its own; what was typed for another one is not sent with them."""
    def shown(mode):
        desk.say(mode=mode)
        desk.look()
        return {part['label'] for part in desk.visitor.look().parts.values()
                if part['type'] in ('GuiNumberMessage', 'GuiVector3Message')
                and 'Adjust' in desk.visitor.around(part) and part['visible']}
    always = {'Payload, kg', 'Gravity, m/s²'}
    assert shown('hold') == always | {'Stiffness, 1/s²', 'Damping, 1/s'}
    desk.put('Stiffness, 1/s²', 7.0)
    spring, damper = 'Stiffness, N.m/rad', 'Damping, N.m.s/rad'
    assert shown('joint_impedance') == always | {spring, damper}
    assert desk.part('Apply')['disabled']  # what was typed is forgotten
    assert 'not given' in desk.part(spring)['hint'] and not desk.part(spring)['disabled']
    desk.put(damper, 2.0)
    desk.press('Apply')
    desk.until(lambda: 'joint_impedance.damping 2: set' in desk.text())
    assert desk.robot.parameter('joint_impedance.damping') == [2.0]
    assert shown('cartesian_impedance') == always | {
        'Linear stiffness, N/m', 'Angular stiffness, N.m/rad', 'Damping ratio',
        'Linear damping, N.s/m', 'Angular damping, N.m.s/rad'}
    desk.put('Linear stiffness, N/m', [800.0, 800.0, 200.0])
    desk.put('Damping ratio', 1.0)
    desk.press('Apply')
    desk.until(lambda: 'damping_ratio 1.0' in desk.text() and ': set' in desk.text())
    assert desk.robot.parameter('cartesian_impedance.linear_stiffness') == [800.0, 800.0, 200.0]
    assert desk.robot.parameter('cartesian_impedance.damping_ratio') == 1.0


def test_positions_come_by_name_and_what_is_not_finite_is_left_out(desk):
    """Names, not places, decide; a number that cannot be drawn leaves the last one."""
    names, states = list(reversed(MODEL.joint_names)), desk.robot.simulator.create_publisher(
        JointState, 'joint_states', 10)
    desk.until(states.get_subscription_count)
    states.publish(JointState(name=names, position=[*map(float, START[::-1] + 0.1)]))
    heard = desk.node.tabs[0].page.telemetry
    desk.until(lambda: heard.take() or heard.positions['joint_1'] == START[0] + 0.1, looks=False)
    desk.pass_time(0.3)
    values = [desk.visitor.look().find(name)['value'] for name in MODEL.joint_names]
    np.testing.assert_allclose(values, START + 0.1, atol=1e-3)
    states.publish(JointState(name=names[:2], position=[float('nan'), 0.7]))
    desk.until(lambda: heard.take() or heard.positions['joint_6'] == 0.7, looks=False)
    desk.pass_time(0.3)
    values = [desk.visitor.look().find(name)['value'] for name in MODEL.joint_names]
    np.testing.assert_allclose(values[5:], [0.7, START[6] + 0.1], atol=1e-3)
    desk.robot.simulator.destroy_publisher(states)


def test_loop_numbers_are_plotted_when_they_are_chosen(desk):
    """Rate and latency as the controller measures them; without a choice none is sent."""
    assert not any(part['visible'] for part in desk.visitor.look().plots())
    for rate in ('498.0', '500.0', 'many'):
        desk.robot.report(JOINT_STATES, **{RATE: rate, LATENCY: '0.42'})
        desk.look(3)
    for what, last in (('Joint states, Hz', 500.0), ('Latency, ms', 0.42)):
        desk.put('Number', what)
        desk.look(3)
        [plot] = [part for part in desk.visitor.look().plots() if part['visible']]
        t, x = plot['data']
        assert plot['title'] == what and x[-1] == last and (np.diff(t) >= 0.0).all()
        low, high = plot['scales']['x']['range']
        assert low <= max(t[0], -1800.0) <= t[-1] <= high == 0.0
    desk.put('Number', 'choose one')
    assert not any(part['visible'] for part in desk.visitor.look().plots())

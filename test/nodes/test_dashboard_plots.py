# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the page keeps over time: plots of a joint, a file, and torques that the model predicts."""

import csv
import io
import re

import numpy as np
from page_rig import MODEL, PERIOD, ROBOT, START
import pytest
from rbd_ros.nodes.dashboard.guide import COMMANDS
from rbd_ros.nodes.dashboard.joint_plots import NOBODY, POINTS
from std_msgs.msg import Float64MultiArray, UInt8MultiArray

K, NAME = 3, 'joint_4'
TIME, UPPER, LOWER, EVENT, MEASURED, SECOND, EXPECTED = range(7)  # lines of a plot


@pytest.fixture
def desk(made):
    """Give the page of a robot that stands, whose gravity is measured."""
    made.begin(simulated=True)
    made.robot.velocity, made.robot.effort = np.zeros(7), ROBOT.gravity(START)
    return made


def plots(desk):
    """Return the lines of the plots that are shown, by the first word of their titles."""
    return {part['title'].split()[0]: part for part in desk.visitor.look().plots()
            if part['visible'] and part['title']}


def look(desk):
    """Let the plots be drawn; return that of the position."""
    desk.look(4)
    return np.array(plots(desk)['Position']['data'])


def test_a_joint_is_plotted_with_its_limits(desk):
    """Nothing is sent of one that nobody looks at; then its lines, limits and units are."""
    desk.put('Joint', NOBODY)
    desk.look(3)
    assert not plots(desk)
    desk.put('Joint', NAME)
    for k in range(100):
        desk.robot.q = START + 0.3 * np.sin(0.1 * k)
        desk.robot.reference = desk.robot.q + 0.01
        desk.robot.velocity = np.full(7, 0.5)
        desk.robot.commands.publish(Float64MultiArray(data=[2.0 + k] * 7))
        desk.run(PERIOD, follows=False)
    desk.look(2)
    found = plots(desk)
    assert [part['title'] for part in found.values()] == [
        f'Position of {NAME}, rad', f'Velocity of {NAME}, rad/s', f'Torque of {NAME}, N.m']
    lines = {title: np.array(part['data']) for title, part in found.items()}
    for title, low, high in (('Position', MODEL.lower[K], MODEL.upper[K]),
                             ('Velocity', -MODEL.velocity_limit[K], MODEL.velocity_limit[K]),
                             ('Torque', -MODEL.effort_limit[K], MODEL.effort_limit[K])):
        assert (lines[title][LOWER] == low).all() and (lines[title][UPPER] == high).all()
        assert (np.diff(lines[title][TIME]) >= 0.0).all()
    position = lines['Position'][:, lines['Position'][TIME] > -4.0]
    np.testing.assert_allclose(position[SECOND] - position[MEASURED], 0.01, atol=1e-9)
    assert np.ptp(position[MEASURED]) > 0.4
    assert set(lines['Velocity'][MEASURED, -20:]) == {0.5}
    assert set(lines['Torque'][SECOND, -20:]) <= {2.0 + k for k in range(100)}
    desk.put('Limits', False)
    assert np.isnan(look(desk)[[UPPER, LOWER]]).all()
    desk.put('Limits', True)
    desk.robot.reference = None
    desk.robot.velocity = np.zeros(7)


def test_the_plots_pause_and_scroll_while_recording_goes_on(desk):
    """Paused they stand; scrolled they show earlier times; then they are at the present again."""
    desk.put('Joint', NAME)
    desk.put('Seconds', 5)
    desk.run(12.0)

    def times():
        found = look(desk)
        scale = plots(desk)['Position']['scales']['x']
        assert not scale['time']
        left, right = scale['range']
        assert left <= found[TIME, 0] and found[TIME, -1] <= right and right - left == 5
        return found, right
    before, right = times()
    assert right == 0.0 and before[TIME, -1] > -0.5 and 'Paused at' not in desk.text()
    chart = plots(desk)['Position']['scales']
    desk.run(0.4)
    assert plots(desk)['Position']['scales'] == chart  # a new chart would forget a zoom
    desk.put('Pause the plots', True)
    stands, _ = times()
    assert re.search(r'Paused at \d\d:\d\d:\d\d\.\d{3}, which is 0 s', desk.text())
    desk.run(2.0)
    np.testing.assert_array_equal(times()[0], stands)
    desk.put('Back, s', 3)
    earlier, right = times()
    assert right == -3.0 and earlier[TIME, -1] <= -3.0
    desk.put('Back, s', 600)  # before the beginning, or in the gap before the test
    desk.look(4)
    assert plots(desk)['Position']['scales']['x']['range'] == [-605.0, -600.0]
    desk.put('Back, s', 0)
    np.testing.assert_array_equal(times()[0], stands)
    desk.put('Pause the plots', False)
    assert times()[0][TIME, -1] > -0.5 and 'Paused at' not in desk.text()
    desk.put('Seconds', 20)


def test_events_are_marked_where_they_happened(desk):
    """A mark is at its time, and long times are thinned."""
    desk.put('Joint', NAME)
    desk.put('Seconds', 120)
    desk.run(2.0)
    at = desk.clock.now
    desk.say(mode='damping')
    desk.node.update()
    desk.run(1.0)
    found = look(desk)
    marks = found[TIME, found[EVENT] == 1.0]
    now = desk.clock.now
    assert np.abs(marks - (at - now)).min() < 0.75  # the plots may be some looks old
    assert len(found[TIME]) <= POINTS + 3 * len(marks)
    assert set(found[EVENT]) == {0.0, 1.0}


def test_the_file_goes_to_the_one_who_asked(desk):
    """It has all joints as they were heard, once each, and the events."""
    other = desk.visit()
    desk.robot.q, desk.robot.effort = START + 0.125, np.arange(7.0)
    desk.say(mode='damping')
    desk.node.update()
    desk.look()
    desk.run(0.2)
    desk.press('Save as CSV', who=1)
    desk.until(lambda: other.look().files)
    [(name, content)] = other.files.items()
    assert name.startswith('joints_') and name.endswith('.csv') and not desk.visitor.files
    head, *rows = csv.reader(io.StringIO(content.decode()))
    table = {each.partition(' ')[0]: [row[k] for row in rows] for k, each in enumerate(head)}
    assert [float(table[f'position.joint_{k + 1}'][-1]) for k in range(7)] == (
        START + 0.125).tolist()
    assert [float(table[f'measured_torque.joint_{k + 1}'][-1]) for k in range(7)] == [
        0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    stamps = [float(each) for each in table['stamp']]
    assert len(set(stamps)) == len(stamps) and any('mode: from' in each for each in table['event'])
    desk.visitors.pop().close()


def test_measured_and_predicted_torque_are_compared(desk):
    """Each joint has its rms difference and its share of the limit; a later one beside it."""
    within = 'Measured and predicted torque'
    desk.robot.effort = ROBOT.gravity(START) + 2.5 * (np.arange(7) == 0)
    desk.give(**{'effort_is_torque': True, 'payload.mass': 1.0, 'payload.frame': 'link_3'})
    desk.run(14.0)  # until what was before is forgotten
    words = desk.text(within)
    share = 100.0 * 2.5 / MODEL.effort_limit[0]
    assert '2.50 N.m' in words and f'{share:.1f} %' in words and words.count('0.00 N.m') == 6
    assert 'another frame' in words and 'effort in joint_states' in words
    assert 'before' not in words
    desk.put('Joint', NAME)
    desk.look(4)
    torque = np.array(plots(desk)['Torque']['data'])
    known = np.isfinite(torque[EXPECTED])
    assert known.sum() > 20
    np.testing.assert_allclose(torque[EXPECTED, known][-10:], ROBOT.gravity(START)[K], atol=1e-6)
    desk.press('Remember')
    desk.run(0.6)
    words = re.sub(' +', ' ', desk.text(within))
    assert 'before' in words and '2.50 2.50 N.m' in words
    guide = desk.text('Identify the robot')
    assert guide.count('✓') == 4
    desk.say(mode='gravity_compensation', fault='a joint is fast')
    desk.give(effort_is_torque=False)
    desk.look(6)
    guide = desk.text('Identify the robot')
    assert guide.count('✓') + guide.count('○') == 4 and guide.count('○') >= 3
    for _, command in COMMANDS[:-1]:
        assert command in guide and command.split()[1] in ('excite', 'identify')
    desk.give(**{'payload.mass': 0.0, 'payload.frame': ''})


def test_bars_show_what_is_sent_or_measured(desk):
    """The torques of commands with their limits; gains for motors are none; then the efforts."""
    def bars():
        desk.node.update()
        return re.findall(r'>(-?\d+\.\d\d)</td>', desk.visitor.look().find_html('torques'))
    desk.robot.commands.publish(Float64MultiArray(data=[float(k) for k in range(7)]))
    desk.robot.saturation.publish(UInt8MultiArray(data=[0, 0, 2, 0, 0, 0, 0]))
    desk.until(lambda: desk.look() or bars() == [f'{k:.2f}' for k in range(7)])
    desk.until(lambda: desk.look() or '#d6336c' in desk.visitor.look().find_html('torques'))
    desk.clock.now += 3.5
    desk.look(2)
    assert bars() == [f'{x:.2f}' for x in ROBOT.gravity(START)]

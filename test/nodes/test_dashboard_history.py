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
"""The history of the joints: what was recorded is what is shown, and what is saved."""

import csv
from datetime import datetime
import io
import math
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
import rbd_ros
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard import joint_plots
from rbd_ros.nodes.dashboard.joint_history import Joint, JointHistory, joints_of, QUANTITIES, ROWS
from rbd_ros.nodes.dashboard.joint_plots import JointPlots, NOBODY, PLOTS, with_marks
from rbd_ros.nodes.dashboard.number_plot import NumberPlot
from rbd_ros.nodes.dashboard.recorder import Recorder
from rbd_ros.nodes.dashboard.timeline import Timeline
from rbd_ros.view.torques import Motion

JOINTS = [Joint('turn', False, -1.0, 2.0, 3.0, 40.0), Joint('slide', True, 0.0, 0.5, 0.2, 9.0)]


def filled(count, rows=50):
    """Return a history of some rows, and a copy of what was added, 25 per second from 1000 s."""
    history, rng, added = JointHistory(JOINTS, rows), np.random.default_rng(count), []
    for k in range(count):
        values = {name: rng.standard_normal(2) * 10.0 ** rng.integers(-9, 9)
                  for name in QUANTITIES}
        if k % 3 == 0:
            del values['reference_position']
        history.add(1000.0 + 0.04 * k, 7.0 + 0.04 * k, **values)
        added.append(values)
    return history, added


@pytest.mark.parametrize('count', [0, 1, 49, 50, 51, 137])
def test_what_is_saved_is_what_was_recorded(count):
    """Read by another program, each number is the same, to the last bit; the oldest are gone."""
    history, added = filled(count)
    head, *rows = csv.reader(io.StringIO(history.table().decode()))
    assert head[:4] == ['time [s since 1970]', 'stamp [s]', 'position.turn [rad]',
                        'velocity.turn [rad/s]']
    assert {'measured_torque.turn [N.m]', 'measured_torque.slide [N]', 'position.slide [m]',
            'reference_velocity.slide [m/s]', 'event'} < set(head)
    assert len(rows) == len(history) == min(count, 50)
    for k, row in zip(range(max(0, count - 50), count), rows, strict=True):
        found = dict(zip(head, row, strict=True))
        assert float(found['time [s since 1970]']) == 1000.0 + 0.04 * k
        assert float(found['stamp [s]']) == 7.0 + 0.04 * k
        for j, joint in enumerate(JOINTS):
            for name in QUANTITIES:
                text = found[f'{name}.{joint.name} [{joint.unit(name)}]']
                assert text == '' if name not in added[k] else float(text) == added[k][name][j]


def test_the_memory_is_bounded():
    """Ten minutes at 25 rows per second, 0.9 MB per joint, and no more for longer."""
    history = JointHistory(JOINTS)
    assert ROWS == 15000 and history._values.nbytes < 0.9e6 * len(JOINTS)
    for k in range(ROWS + 10):
        history.add(float(k), float(k))
    assert len(history) == ROWS


@pytest.mark.parametrize('count', [40, 50, 137])
def test_a_window_has_the_rows_of_its_time(count):
    """Both ends belong to it; outside there is nothing."""
    history, added = filled(count)
    first = max(0, count - 50)
    begin, end = 1000.0 + 0.04 * (first + 5), 1000.0 + 0.04 * (first + 20)
    t, found = history.window(begin, end, 'slide')
    np.testing.assert_array_equal(t, [1000.0 + 0.04 * k for k in range(first + 5, first + 21)])
    np.testing.assert_array_equal(
        found['velocity'], [added[k]['velocity'][1] for k in range(first + 5, first + 21)])
    for nothing in ((0.0, 999.0), (2000.0, 3000.0), (end, begin)):
        assert len(history.window(*nothing, 'turn')[0]) == 0


def test_events_are_noted_in_their_rows():
    """Each in the first row that is not before it; one before all rows or after is left out."""
    history, _ = filled(5)
    table = history.table([(1000.05, 'mode: from "a" to b'), (1000.06, 'stop'), (999.0, 'old'),
                           (1001.0, 'new')])
    rows = list(csv.DictReader(io.StringIO(table.decode())))
    assert [row['event'] for row in rows] == ['', '', 'mode: from "a" to b; stop', '', '']


def test_expected_torques_come_later_and_lie_on_the_line():
    """Rows between two points are interpolated by stamps; others, and those filled, stay."""
    history = JointHistory(JOINTS, 50)
    for k in range(60):
        history.add(1000.0 + 0.04 * k, 5.0 + 0.04 * k, position=[k, k])
    stamps = np.array([5.4, 5.8, 6.4])
    history.expect(stamps, np.column_stack([10.0 * stamps, np.array([1.0, 3.0, 0.0])]))
    t, found = history.window(0.0, 2000.0, 'turn')
    stamp = t - 995.0
    inside = (stamp > 5.4 - 1e-6) & (stamp < 6.4 + 1e-6)
    np.testing.assert_allclose(found['expected_torque'][inside], 10.0 * stamp[inside])
    assert np.isnan(found['expected_torque'][~inside]).all() and inside.sum() > 20
    slide = history.window(0.0, 2000.0, 'slide')[1]['expected_torque']
    np.testing.assert_allclose(slide[np.abs(stamp - 5.6) < 1e-6], 2.0)
    history.expect(stamps, np.zeros((3, 2)))
    np.testing.assert_array_equal(
        history.window(0.0, 2000.0, 'turn')[1]['expected_torque'], found['expected_torque'])


def test_marks_leave_the_lines_as_they_are():
    """At an event there is a peak from 0 to 1 and back; at other times the line of events is 0."""
    t, x = np.linspace(10.0, 11.0, 11), np.linspace(0.0, 5.0, 11)
    at, event, (line,) = with_marks(t, [x], [10.25, 10.25, 10.8, 12.0])
    assert (np.diff(at) >= 0.0).all() and len(at) == 11 + 12
    np.testing.assert_allclose(at[event == 1.0], [10.25, 10.25, 10.8, 11.0])
    assert sorted(set(event)) == [0.0, 1.0]
    np.testing.assert_allclose(line, np.interp(at, t, x), atol=0.3)
    np.testing.assert_array_equal(np.isin(line, x), True)
    at, _, _ = with_marks(t, [x], [10.28, 10.24, 10.25])  # as events come: the newest first
    assert (np.diff(at) >= 0.0).all()
    same = with_marks(t, [x], [])
    np.testing.assert_array_equal(same[0], t)
    assert not same[1].any()


class Clock:
    """The time of the page."""

    def __init__(self, monkeypatch):
        self.now = 1010.0
        monkeypatch.setattr(joint_plots, 'now', lambda: self.now)


@pytest.fixture
def shown(monkeypatch):
    """Give plots of a history of 10 s, and the clock at its end."""
    history = JointHistory(JOINTS, 1000)
    for k in range(250):
        t = 1000.0 + 0.04 * k
        history.add(t, t, position=[math.sin(t), 0.0], velocity=[math.cos(t), 0.0],
                    measured_torque=[t, 0.0])
    gui = MagicMock()
    gui.add_uplot.side_effect = lambda data, series, **more: MagicMock(data=data, **more)
    gui.add_dropdown.side_effect = lambda label, options: MagicMock(value=options[0])
    gui.add_markdown.side_effect = lambda text, **more: MagicMock(content=text, **more)
    gui.add_checkbox.side_effect = lambda label, value, **_: MagicMock(value=value)
    gui.add_slider.side_effect = lambda label, low, high, step, value, **_: MagicMock(value=value)
    events = Timeline()
    clock = Clock(monkeypatch)
    return SimpleNamespace(plots=JointPlots(gui, history, events), history=history, clock=clock,
                           events=events)


def test_nothing_is_sent_of_a_joint_that_nobody_looks_at(shown):
    """The plots are hidden until a joint is chosen, and have its lines, limits and units then."""
    plots = shown.plots
    before = [handle.data for handle in plots._plots]
    plots.update()
    assert plots._joint.value == NOBODY
    assert all(now is then for now, then in zip(
        (handle.data for handle in plots._plots), before, strict=True))
    assert not any(handle.visible for handle in plots._plots)
    plots._joint.value = 'turn'
    plots.update()
    assert all(handle.visible for handle in plots._plots)
    t, upper, lower, event, measured, reference = plots._plots[0].data
    np.testing.assert_allclose(measured, np.sin(t + shown.clock.now))
    np.testing.assert_array_equal(reference, measured)  # there is none
    assert set(upper) == {2.0} and set(lower) == {-1.0} and not event.any()
    assert plots._plots[0].title == 'Position of turn, rad'
    assert plots._plots[2].title == 'Torque of turn, N.m'
    assert [len(handle.data) for handle in plots._plots] == [
        4 + len(plot.lines) for plot in PLOTS]
    assert set(plots._plots[1].data[1]) == {3.0} and set(plots._plots[2].data[2]) == {-40.0}
    plots._limits.value = False
    plots.update()
    assert np.isnan(plots._plots[0].data[1]).all()
    plots._joint.value = NOBODY
    plots.update()
    assert not any(handle.visible for handle in plots._plots)


def test_the_plots_pause_and_scroll_while_recording_goes_on(shown):
    """Paused they stand; scrolled they show earlier times; then they are at the present again."""
    plots, clock = shown.plots, shown.clock
    plots._joint.value, plots._span.value = 'turn', 5

    def times():
        plots.update()
        t, (left, right) = plots._plots[0].data[0], plots._plots[0].scales['x']['range']
        assert left <= t[0] and t[-1] <= right and right - left == plots._span.value
        return round(float(t[0]), 2), round(float(t[-1]), 2), right
    assert times() == (-5.0, -0.04, 0.0) and not plots._zero.visible
    plots.pause(True)
    assert plots._zero.visible
    assert f'{datetime.fromtimestamp(1010.0):%H:%M:%S}.000' in plots._zero.content
    clock.now = 1012.0
    shown.history.add(1011.5, 1011.5, position=[0.0, 0.0])
    assert times() == (-5.0, -0.04, 0.0)
    standing = plots._plots[0].data
    clock.now = 1012.5
    assert times() == (-5.0, -0.04, 0.0) and plots._plots[0].data is standing  # not sent again
    plots._back.value = 3
    assert times() == (-8.0, -3.0, -3.0)
    plots._back.value = 500
    plots.update()
    assert [len(part) for part in plots._plots[0].data] == [1] * 6  # before the beginning
    assert plots._plots[0].data[0][0] > plots._plots[0].scales['x']['range'][1]  # not seen
    plots._back.value = 0
    plots.pause(False)
    assert times() == (-4.98, -1.0, 0.0) and not plots._zero.visible


def test_a_chart_is_made_anew_only_for_another_range(shown):
    """A chart that is replaced forgets where a person zoomed in."""
    plots = shown.plots
    plots._joint.value = 'turn'
    plots.update()
    before = [handle.scales for handle in plots._plots]
    shown.clock.now += 0.3
    plots.update()
    assert all(now is then for now, then in zip(
        (handle.scales for handle in plots._plots), before, strict=True))


def test_events_are_marked_where_they_happened_and_long_times_are_thinned(shown):
    """A mark is at its time, whatever is left out of the lines."""
    shown.events.add('stop', 'as asked', at=1004.123)
    shown.events.add('mode', 'before', at=900.0)
    plots = shown.plots
    plots._joint.value, plots._span.value = 'turn', 60
    for points in (500, 100):
        joint_plots.POINTS, kept = points, joint_plots.POINTS
        try:
            plots.update()
        finally:
            joint_plots.POINTS = kept
        t, _, _, event, *_ = plots._plots[2].data
        np.testing.assert_allclose(t[event == 1.0], [1004.123 - shown.clock.now])
        assert len(t) <= points + 3


@pytest.mark.parametrize(('oldest', 'span'), [(0.0, 15.0), (72.0, 100.0), (374.0, 400.0),
                                              (5000.0, 1800.0)])
def test_a_number_is_plotted_over_the_time_that_it_has(oldest, span):
    """The axis ends now, and is as long as the data; one that fits is kept."""
    gui = MagicMock()
    gui.add_uplot.side_effect = lambda data, series, **more: MagicMock(data=data, **more)
    gui.add_dropdown.side_effect = lambda label, options: MagicMock(value=options[0])
    data = np.linspace(-oldest, 0.0, 5), np.arange(5.0)
    plot = NumberPlot(gui, {'Rate, Hz': SimpleNamespace(arrays=lambda: data)})
    plot.update()
    assert not plot._plot.visible
    plot._what.value = 'Rate, Hz'
    plot.update()
    assert plot._plot.visible and plot._plot.title == 'Rate, Hz' and plot._plot.data == data
    before = plot._plot.scales
    assert before['x']['range'] == (-span, 0.0)
    plot.update()
    assert plot._plot.scales is before


def test_the_file_goes_to_the_one_who_asked(shown):
    """It has all joints, and the events."""
    shown.events.add('stop', 'as asked', at=1004.123)
    client = MagicMock()
    shown.plots.save(client)
    name, content = client.send_file_download.call_args.args
    assert name.startswith('joints_') and name.endswith('.csv')
    assert content.count(b'\n') == 251 and b'stop: as asked' in content


def test_what_is_heard_is_recorded():
    """A row per new state, with what is known; a reference and a command only while they hold."""
    ages = {'reference': 0.1, 'commands': 0.1}
    heard = SimpleNamespace(
        motion=Motion(), positions={'turn': 0.5, 'slide': 0.1}, velocities={'turn': 1.5},
        efforts={'slide': 3.0}, reference_positions={'turn': 0.6},
        reference_velocities={'turn': 1.0, 'slide': 2.0}, command=(7.0, 8.0), age=ages.get)
    history = JointHistory(JOINTS, 20)
    recorder = Recorder(history, heard)
    recorder.record()
    assert len(history) == 0  # no state yet
    heard.motion.newest = 5.0
    recorder.record()
    recorder.record()
    assert len(history) == 1
    ages.update(reference=2.0, commands=2.0)
    heard.motion.newest = 5.04
    recorder.record()
    turn, slide = (history.window(0.0, np.inf, name)[1] for name in ('turn', 'slide'))
    for name, values in {'position': (0.5, 0.1), 'velocity': (1.5, np.nan),
                         'measured_torque': (np.nan, 3.0)}.items():
        np.testing.assert_array_equal((turn[name], slide[name]), np.array([values] * 2).T)
    for name, values in {'reference_position': (0.6, np.nan), 'reference_velocity': (1.0, 2.0),
                         'commanded_torque': (7.0, 8.0)}.items():
        np.testing.assert_array_equal((turn[name][0], slide[name][0]), values)
        assert np.isnan((turn[name][1], slide[name][1])).all()
    points = np.array([4.9, 5.0, 5.1]), None, np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]])
    recorder.expect(SimpleNamespace(points=lambda since: points))
    np.testing.assert_allclose(history.window(0.0, np.inf, 'slide')[1]['expected_torque'],
                               [2.0, 2.8])


def test_joints_are_those_of_the_description():
    """With limits in their order, and units of what turns or slides."""
    model = rbd_ros.load_urdf(find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf'))
    found = joints_of(model, ('joint_4', 'joint_1'))
    k = model.joint_names.index('joint_4')
    assert found[0] == Joint('joint_4', False, model.lower[k], model.upper[k],
                             model.velocity_limit[k], model.effort_limit[k])
    assert found[0].unit('velocity') == 'rad/s'

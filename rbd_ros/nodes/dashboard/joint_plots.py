# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Plots of one joint over time, which can be paused, scrolled and saved.

The time axis is in seconds before now, or before the pause, as its range must be fixed. An axis
that fits itself to its data is kept by viser as a share of the data; where new data comes before a
chart is first drawn, that share is wrong, and the plot stays empty for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np
from rbd_ros.nodes.dashboard.joint_history import JointHistory, KEPT
from rbd_ros.nodes.dashboard.timeline import now

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rbd_ros.nodes.dashboard.joint_history import Joint
    from rbd_ros.nodes.dashboard.timeline import Timeline

    Array = NDArray[np.float64]

__all__ = ['JointPlots', 'NOBODY', 'with_marks']

TITLE = 'Joint over time'
NOBODY = 'choose one'  # what is not looked at is not sent
SHORTEST, LONGEST, USUAL = 5, 120, 20  # s that are shown
POINTS = 500  # of a line at most
LIMIT, EVENT, WITHIN = '#e03131', '#7950f2', 'rgba(64, 192, 87, 0.12)'


class Plot(NamedTuple):
    """A plot: its title, what its unit is that of, and its lines with their colours."""

    title: str
    lines: dict[str, tuple[str, str]]  # quantity: label, colour

    @property
    def quantity(self) -> str:
        """Return what is measured."""
        return next(iter(self.lines))

    def limits(self, joint: Joint) -> tuple[float, float]:
        """Return the lower and the upper limit."""
        return {'position': (joint.lower, joint.upper), 'velocity': (-joint.speed, joint.speed)
                }.get(self.quantity, (-joint.torque, joint.torque))


MEASURED, REFERENCE, EXPECTED = '#1c7ed6', '#e8590c', '#099268'
PLOTS = (
    Plot('Position', {'position': ('measured', MEASURED),
                      'reference_position': ('reference', REFERENCE)}),
    Plot('Velocity', {'velocity': ('measured', MEASURED),
                      'reference_velocity': ('reference', REFERENCE)}),
    Plot('Torque', {'measured_torque': ('measured', MEASURED),
                    'commanded_torque': ('commanded', REFERENCE),
                    'expected_torque': ('expected', EXPECTED)}))


class JointPlots:
    """
    A folder with position, velocity and torque of a joint, and what moves them through time.

    :param gui: of the page.
    :param history: of the joints.
    :param events: that are marked in the plots and noted in the file.
    """

    def __init__(self, gui: Any, history: JointHistory, events: Timeline) -> None:
        self._history, self._events = history, events
        self._joints = {joint.name: joint for joint in history.joints}
        self._end: float | None = None  # time at which the plots stand; None: they go on
        self._drawn: tuple[Any, ...] = ()  # what the plots show, while they stand
        with gui.add_folder(TITLE, expand_by_default=False):
            self._joint = gui.add_dropdown('Joint', (NOBODY, *self._joints))
            self._plots = [self._add(gui, plot) for plot in PLOTS]
            self._zero = gui.add_markdown('', visible=False)
            self._limits = gui.add_checkbox(
                'Limits', True, hint='untick to scale the plots to their lines')
            self._paused = gui.add_checkbox(
                'Pause the plots', False, hint='recording continues meanwhile')
            self._span = gui.add_slider('Seconds', SHORTEST, LONGEST, 1, USUAL)
            self._back = gui.add_slider('Back, s', 0, int(KEPT), 1, 0, hint='how long before '
                                        'now, or before the pause, the plots end')
            save = gui.add_button('Save as CSV', hint=f'the last {KEPT / 60:.0f} minutes of all '
                                  'joints, and the events')
        self._paused.on_update(lambda _: self.pause(self._paused.value))
        self._joint.on_update(lambda _: self.update())
        save.on_click(lambda event: self.save(event.client))

    def _add(self, gui: Any, plot: Plot) -> Any:
        hidden = {'points': {'show': False}, 'width': 1}
        series = ({'label': 'time, s'},
                  {'label': 'upper limit', 'stroke': LIMIT, 'dash': (4, 4), **hidden},
                  {'label': 'lower limit', 'stroke': LIMIT, 'dash': (4, 4), **hidden},
                  {'label': 'event', 'stroke': EVENT, 'scale': 'mark', **hidden},
                  *({'label': label, 'stroke': colour} for label, colour in plot.lines.values()))
        return gui.add_uplot(
            (np.zeros(1),) * len(series), series, title=plot.title, aspect=1.8, visible=False,
            scales=_scales(USUAL, 0), bands=({'series': (1, 2), 'fill': WITHIN},))

    def pause(self, paused: bool) -> None:
        """Let the plots stand, or go on with the present."""
        end = now() if paused else None
        if end is not None:
            clock = datetime.fromtimestamp(end).strftime('%H:%M:%S.%f')[:-3]
            self._zero.content = f'Paused at {clock}, which is 0 s in the plots.'
        self._zero.visible, self._end = paused, end

    def save(self, client: Any) -> None:
        """Send a file with all that is recorded."""
        name = datetime.now().strftime('joints_%Y-%m-%d_%H-%M-%S.csv')
        notes = [(event.time, event.words) for event in self._events]
        client.send_file_download(name, self._history.table(notes), save_immediately=True)

    def update(self) -> None:
        """Show the joint that is chosen; to be called some times per second."""
        joint = self._joints.get(self._joint.value)
        for handle in self._plots:
            if handle.visible != (joint is not None):
                handle.visible = joint is not None
        if joint is None:
            return
        paused = self._end  # once: a thread of the page sets it
        asked = joint, paused, self._span.value, self._back.value, self._limits.value
        if paused is not None and asked == self._drawn:
            return
        self._drawn = asked
        zero = now() if paused is None else paused
        end = zero - self._back.value
        begin = end - self._span.value
        scales = _scales(self._span.value, self._back.value)
        t, found = self._history.window(begin, end, joint.name)
        step = -(-len(t) // POINTS) or 1
        marks = [event.time - zero for event in self._events if begin <= event.time <= end]
        for handle, plot in zip(self._plots, PLOTS, strict=True):
            if handle.scales != scales:  # each change makes a new chart
                handle.scales = scales
            handle.data = self._data(plot, joint, t[::step] - zero, {
                name: found[name][::step] for name in plot.lines}, marks)
            handle.title = f'{plot.title} of {joint.name}, {joint.unit(plot.quantity)}'

    def _data(self, plot: Plot, joint: Joint, t: Array, found: dict[str, Array],
              marks: Sequence[float]) -> tuple[Array, ...]:
        """Return what a plot needs: time, limits, events and lines."""
        if not len(t):
            return np.ones(1), *(np.zeros(1),) * (3 + len(found))  # right of the plot
        lines = list(found.values())
        if plot.quantity in ('position', 'velocity'):
            # uPlot would draw a straight line across: without a reference, it is where it is
            lines[1] = np.where(np.isnan(lines[1]), lines[0], lines[1])
        t, event, lines = with_marks(t, lines, marks)
        lower, upper = (np.full(len(t), limit if np.isfinite(limit) and self._limits.value
                                else np.nan) for limit in plot.limits(joint))
        return t, upper, lower, event, *lines


def _scales(span: float, back: float) -> dict[str, Any]:
    """
    Return the scales of a plot: of time, s, and of the line of events, 0 of which is below it.

    :param span: how long the plot is.
    :param back: how long before 0 it ends.
    """
    return {'x': {'time': False, 'range': (-float(back + span), 0.0 - back)},
            'mark': {'range': (0.02, 1.0)}}


def with_marks(t: Array, lines: Sequence[Array], marks: Sequence[float]
               ) -> tuple[Array, Array, list[Array]]:
    """
    Return times and lines with three points more for each mark, and a line that is 1 there.

    :param t: times of the lines, in order.
    :param lines: go on as they are at the mark.
    :param marks: times; one outside of the others is at their end.
    """
    marks = sorted(marks)  # those between the same two points keep their order, as t must
    at = np.repeat(np.searchsorted(t, marks), 3)
    event = np.insert(np.zeros(len(t)), at, np.tile([0.0, 1.0, 0.0], len(marks)))
    inside = np.clip(np.repeat(np.asarray(marks, float), 3), t[0], t[-1])
    near = np.minimum(at, len(t) - 1)
    return np.insert(t, at, inside), event, [np.insert(x, at, x[near]) for x in lines]

# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A plot of one number over time, which is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rbd_ros.nodes.dashboard.telemetry import History

__all__ = ['NumberPlot']

TITLE = 'Loop over time'
NOTHING = 'choose one'  # what is not looked at is not sent
SPANS = (15.0, 40.0, 100.0, 200.0, 400.0, 1800.0)  # s that the plot can show


class NumberPlot:
    """
    A folder with a plot.

    :param gui: of the page.
    :param histories: by what they are called, with the unit.
    """

    def __init__(self, gui: Any, histories: Mapping[str, History]) -> None:
        self._histories = histories
        with gui.add_folder(TITLE, expand_by_default=False):
            self._what = gui.add_dropdown('Number', (NOTHING, *histories))
            self._plot = gui.add_uplot(
                (np.zeros(1),) * 2,
                ({'label': 'time, s'}, {'label': 'value', 'stroke': '#228be6'}),
                scales=_scales(SPANS[0]), aspect=2.0, visible=False)
        self._what.on_update(lambda _: self.update())

    def update(self) -> None:
        """Show the number that is chosen; to be called some times per second."""
        found = self._histories.get(self._what.value)
        if self._plot.visible != (found is not None):
            self._plot.visible = found is not None
        if found is not None:
            t, x = found.arrays()
            scales = _scales(next((span for span in SPANS if span >= -t[0]), SPANS[-1]))
            if self._plot.scales != scales:  # each change makes a new chart
                self._plot.scales = scales
            self._plot.title, self._plot.data = self._what.value, (t, x)


def _scales(span: float) -> dict[str, Any]:
    """Return a time axis that ends now; why its range is fixed is said in joint_plots."""
    return {'x': {'time': False, 'range': (-span, 0.0)}}

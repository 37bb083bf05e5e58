# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Pictures of measured curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def draw(
    file: Path, x: Sequence[float], curves: Mapping[str, Sequence[float]], *,
    proportional: bool = False, **labels: str,
) -> None:
    """
    Draw curves over one axis.

    :param file: of the picture.
    :param x: abscissae.
    :param curves: ordinates by the name of the curve.
    :param proportional: whether a dotted line from the origin to each curve's end is drawn, too.
    :param labels: xlabel, ylabel, title.
    """
    import matplotlib
    matplotlib.use('Agg')
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(7.0, 4.5))
    for name, values in curves.items():
        line, = axes.plot(x, values, 'o-', label=name)
        if proportional:
            axes.plot((0, x[-1]), (0.0, values[-1]), ':', color=line.get_color(), linewidth=1.0)
    axes.set(**labels)
    axes.set_ylim(bottom=0.0)
    axes.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    pyplot.close(figure)

# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Figures of matplotlib as files: pictures, or a web page with the picture in it."""

from __future__ import annotations

from collections.abc import Callable
import io
from pathlib import Path
from typing import Any

from rbd_ros.errors import RbdError
from rbd_ros.quoting import one_line

__all__ = ['new_figure', 'save_figure']

FORMATS = ('.png', '.svg', '.pdf', '.html')


def new_figure(file: Path, height: float, title: str) -> Any:
    """
    Return an empty figure.

    :param file: in which it will be saved; its ending chooses the format, one of ``FORMATS``.
    :param height: inch.
    :raises RbdError: if the format is unknown, or matplotlib is not installed.
    """
    try:
        from matplotlib import rcParams
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise RbdError('plotting needs the package matplotlib: pip install matplotlib') from error
    if file.suffix not in FORMATS:
        raise RbdError(f'"{file}" must end with one of {", ".join(FORMATS)}')
    rcParams['text.parse_math'] = False  # names of joints are no formulas
    figure = Figure(figsize=(11.0, height), layout='constrained')
    FigureCanvasAgg(figure)
    figure.suptitle(one_line(title))
    return figure


def save_figure(figure: Any, file: Path, page: Callable[[str], str]) -> None:
    """
    Write a figure.

    :param page: returns the web page around an SVG element; for files that end with .html.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix != '.html':
        figure.savefig(file, dpi=110)
        return
    drawn = io.StringIO()
    figure.savefig(drawn, format='svg')
    picture = drawn.getvalue()
    file.write_text(page(picture[picture.index('<svg'):]))

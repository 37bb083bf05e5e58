# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the plots of a page show, as numbers."""

from __future__ import annotations

from typing import Any

from cdp import Page
import numpy as np

#: JavaScript: the lines of each plot that is shown, by title.
LINES = """Object.fromEntries(Object.values(window.__viserTestpoints.uplots || {}).map(
    each => [each.chart.root.querySelector('.u-title')?.textContent || '',
             [...each.chart.data].map(line => [...line])]))"""


def lines(page: Page, title: str) -> Any:
    """Return the lines of the plot whose title begins so, NaN for gaps; None: there is none."""
    return next((np.array([[np.nan if x is None else x for x in line] for line in data])
                 for found, data in page.run(LINES).items() if found.startswith(title)), None)

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

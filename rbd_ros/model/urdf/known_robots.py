# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Well-known robots by name: where their descriptions are, and under which licence.

The table is a file of its own, which ``./run`` reads too: it knows from it which package to fetch.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rbd_ros.errors import UnknownName

__all__ = ['known_robot', 'known_robots', 'KnownRobot']

FILE = Path(__file__).with_name('known_robots.csv')


class KnownRobot(NamedTuple):
    """
    A robot that has a name here.

    :param title: whose robot it is.
    :param address: of its description.
    :param licence: of the description.
    :param parameters: file in ``config`` for controller and simulator.
    :param base: "fixed", or "floating" for robots on legs.
    """

    name: str
    title: str
    address: str
    licence: str
    parameters: str
    base: str

    @property
    def package(self) -> str:
        """Return the package that has the description."""
        return self.address.removeprefix('package://').partition('/')[0]


@cache
def known_robots() -> dict[str, KnownRobot]:
    """Return all robots by name."""
    with FILE.open(encoding='utf-8', newline='') as file:
        return {row['name']: KnownRobot(**row) for row in csv.DictReader(file)}


def known_robot(name: str) -> KnownRobot:
    """
    Return a robot.

    :raises UnknownName: with all names.
    """
    try:
        return known_robots()[name]
    except KeyError:
        raise UnknownName('robot', name, known_robots()) from None

# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Write the supervisor's diagram and its list of transitions from its table.

``./run python docs/supervisor.py`` renews ``pictures/supervisor.svg`` and the list in
``safety.md``; a test fails where they are not what the table says.
"""

from __future__ import annotations

import math
from pathlib import Path

from rbd_ros.control.supervisor.states import SupervisorState as State
from rbd_ros.control.supervisor.transitions import Row, ROWS, Trigger

FOLDER = Path(__file__).parent
BEGIN, END = '<!-- transitions of the supervisor -->', '<!-- end of the transitions -->'

EVENTS = {Trigger.ACTIVATE: 'activation', Trigger.RESET: 'reset', Trigger.FAULT: 'any cause',
          Trigger.FRESH: 'a fresh state', Trigger.SENT: 'a torque was sent',
          Trigger.TIME: 'time passes'}
WIDTH, HEIGHT = 118, 40  # of a box
PLACES = {
    State.INACTIVE: (70, 50), State.PROBING: (310, 50), State.RAMPING_IN: (490, 50),
    State.RUNNING: (850, 50), State.RELEASED: (70, 350), State.FAULT: (232, 275),
    State.HOLDING: (580, 180), State.BRAKING: (735, 140), State.LOST: (850, 350),
    State.RAMPING_DOWN: (490, 350), State.RELEASING: (310, 350),
    State.FLOATING: (400, 215), State.COMPLYING: (400, 135), State.RETRACTING: (640, 262),
}
COLOURS = {
    **dict.fromkeys((State.INACTIVE, State.PROBING, State.RELEASED, State.FAULT), '#eceff1'),
    **dict.fromkeys((State.RAMPING_IN, State.RUNNING), '#c8e6c9'),
    **dict.fromkeys((
        State.BRAKING, State.HOLDING, State.FLOATING, State.COMPLYING, State.RETRACTING),
        '#ffe0b2'),
    **dict.fromkeys((State.LOST, State.RAMPING_DOWN, State.RELEASING), '#ffccbc'),
}


def words(row: Row) -> str:
    """Return what a row needs, in words."""
    if row.event is Trigger.FAULT and row.conditions:  # these are of the cause
        return ', '.join(row.conditions)
    return ', '.join([EVENTS[row.event], *row.conditions])


def table() -> str:
    """Return the list of transitions in Markdown."""
    lines = ['|  | from | on | to |', '|---|---|---|---|']
    for number, row in enumerate(ROWS, 1):
        before = ', '.join(state.value for state in row.before)
        after = row.after.value if row.after else 'the same'
        lines.append(f'| {number} | {before} | {words(row)} | '
                     f'{after}{f" ({row.sets})" if row.sets else ""} |')
    return '\n'.join(lines)


def arrows() -> dict[tuple[State, State], list[int]]:
    """Return the numbers of the rows that lead from one state to another."""
    found: dict[tuple[State, State], list[int]] = {}
    for number, row in enumerate(ROWS, 1):
        for before in row.before:
            if row.after not in (None, before):
                found.setdefault((before, row.after), []).append(number)
    return found


def line(start: tuple[float, float], end: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the ends of an arrow between two boxes, and the place of its text."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    far = math.hypot(dx, dy)
    # to the right of the way, so that the way back does not lie upon it
    side = (-9 * dy / far, 9 * dx / far)

    def leaves(middle: tuple[float, float], sign: int) -> tuple[float, float]:
        ways = [(half - math.copysign(1.0, sign * d) * s) / abs(d)
                for half, d, s in zip((WIDTH / 2, HEIGHT / 2), (dx, dy), side) if d]
        share = sign * min(ways)
        return middle[0] + side[0] + share * dx, middle[1] + side[1] + share * dy

    (x, y), (u, v) = leaves(start, 1), leaves(end, -1)
    return [(x, y), (u, v), (x + 0.3 * (u - x) + 0.9 * side[0],
                             y + 0.3 * (v - y) + 0.9 * side[1] + 4)]


def picture() -> str:
    """Return the diagram."""
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 920 400" font-family="sans-serif">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#455a64"/></marker></defs>',
        '<rect width="920" height="400" fill="white"/>']
    for (before, after), numbers in arrows().items():
        (x, y), (u, v), at = line(PLACES[before], PLACES[after])
        lines += [
            f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{u:.0f}" y2="{v:.0f}" stroke="#455a64" '
            'marker-end="url(#tip)"/>',
            f'<text x="{at[0]:.0f}" y="{at[1]:.0f}" font-size="11" text-anchor="middle" '
            f'fill="#263238">{", ".join(map(str, numbers))}</text>']
    for state, (x, y) in PLACES.items():
        lines += [
            f'<rect x="{x - WIDTH // 2}" y="{y - HEIGHT // 2}" width="{WIDTH}" height="{HEIGHT}" '
            f'rx="6" fill="{COLOURS[state]}" stroke="#455a64"/>',
            f'<text x="{x}" y="{y + 5}" font-size="14" text-anchor="middle">{state.value}</text>']
    return '\n'.join([*lines, '</svg>', ''])


def page() -> str:
    """Return ``safety.md`` with the present list."""
    text = (FOLDER / 'safety.md').read_text()
    head, rest = text.split(BEGIN)
    return f'{head}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}'


if __name__ == '__main__':
    (FOLDER / 'safety.md').write_text(page())
    (FOLDER / 'pictures' / 'supervisor.svg').write_text(picture())

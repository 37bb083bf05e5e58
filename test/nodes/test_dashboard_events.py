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
"""What happens is an event, once, with its time, its reason and what to do."""

from datetime import datetime, timezone
import threading
import time
from types import SimpleNamespace

from action_msgs.msg import GoalStatus, GoalStatusArray
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.nodes.dashboard.event_reports import ContactReports, GoalReports
from rbd_ros.nodes.dashboard.event_watch import ADVICE, advice_for, EventWatch
from rbd_ros.nodes.dashboard.timeline import COLOURS, Event, KEPT, now, Timeline
from rbd_ros.nodes.diagnostic_names import (
    CONTACT_COUNT, CONTACT_FORCE, CONTACT_PLACE, CONTACT_REACTION, CONTACT_TIME, CONTACT_TORQUE,
    LAST_GOAL, SUPERVISOR)

WHEN = '2026-03-01T12:00:00.250+00:00'


@pytest.fixture
def watched():
    """Give what is heard, and a watch that has looked once."""
    ages = {'states': 0.0, 'controller': 0.0}
    heard = SimpleNamespace(fault='', mode='hold', diagnostics={}, timeline=Timeline(),
                            age=ages.__getitem__, ages=ages)
    watch = EventWatch(heard)
    watch.look()
    assert not list(heard.timeline)  # what there is from the beginning is no event

    def look(**changes):
        vars(heard).update(changes)
        before = len(list(heard.timeline))
        watch.look()
        found = list(heard.timeline)
        return [(event.kind, event.text, event.advice) for event in found[:len(found) - before]]
    heard.look = look
    return heard


def test_a_fault_a_stop_and_a_reset(watched):
    """Each cause is told when it comes, with its advice; the end of all of them is a reset."""
    speed = f'{Cause.OVER_SPEED.text}: joint_2 at 3 rad/s'
    stop = f'{Cause.OPERATOR_STOP.text}: ~/stop'
    assert watched.look(fault=speed) == [('fault', speed, ADVICE[Cause.OVER_SPEED])]
    assert watched.look(fault=speed) == []
    assert watched.look(fault=f'{speed}; {stop}') == [
        ('stop', stop, ADVICE[Cause.OPERATOR_STOP])]
    assert watched.look(fault='') == [('reset', 'the faults are cleared', '')]
    assert [kind for kind, *_ in watched.look(fault='something else')] == ['fault']
    assert 'cause' in advice_for('something else')


def test_every_cause_has_its_advice():
    """A fault without one would leave its reader alone."""
    assert set(ADVICE) == set(Cause) and all(ADVICE.values())
    for cause in Cause:
        assert advice_for(f'{cause.text}: more') == ADVICE[cause]


def test_modes_warnings_and_silence(watched):
    """A level that rises is an event, one that stays or falls is none."""
    assert watched.look(mode='damping') == [('mode', 'from hold to damping', '')]
    assert watched.look(mode='') == watched.look(mode='damping') == []

    def said(rank, text, name='controller: torque'):
        return [event[:2] for event in watched.look(diagnostics={name: (rank, text)})]
    assert said('OK', 'fine') == said('stale', 'old') == []
    assert said('warning', 'joint_4') == [('warning', 'controller: torque: joint_4')]
    assert said('warning', 'joint_5') == []
    assert said('error', 'worse') == [('fault', 'controller: torque: worse')]
    assert said('warning', 'better') == said('OK', 'fine') == []
    assert said('warning', 'joint_4') == [('warning', 'controller: torque: joint_4')]
    assert said('error', 'holding: it jumped', f'controller: {SUPERVISOR}') == []  # by ~/fault
    watched.ages['states'] = 4.0
    (lost,) = watched.look()
    assert lost[:2] == ('fault', 'joint states: nothing for 4 s') and 'driver' in lost[2]
    watched.ages['states'] = 0.1
    assert [event[:2] for event in watched.look()] == [('reset', 'joint states: here again')]


def contact(count, place='joint_4', when=WHEN):
    """Return what the controller says of contacts."""
    return {CONTACT_REACTION: 'stop', CONTACT_COUNT: str(count), CONTACT_TIME: when,
            CONTACT_PLACE: place, CONTACT_TORQUE: '4.2 N.m', CONTACT_FORCE: '12.5'}


def test_a_contact_is_told_once_with_the_time_at_which_it_was_felt():
    """A report that repeats the last one adds none; one that begins anew counts anew."""
    timeline = Timeline()
    reports = ContactReports(timeline)
    for values in ({}, contact(0), contact('nan'), contact(1), contact(1)):
        reports.take(values)
    (event,) = timeline
    assert event.kind == 'contact' and event.time == datetime(
        2026, 3, 1, 12, 0, 0, 250000, tzinfo=timezone.utc).timestamp()
    assert 'felt by joint_4: 4.2 N.m; 12.5 N at the frame. Then: stop' in event.text
    assert 'just before' not in event.text
    reports.take(contact(4, 'tz'))
    assert 'tz' in next(iter(timeline)).text and 'And 2 just before' in next(iter(timeline)).text
    reports.take(contact(1, 'joint_1', when='?'))  # of a controller that was activated again
    event = next(iter(timeline))
    assert 'joint_1' in event.text and event.time == pytest.approx(now(), abs=5.0)
    assert len(list(timeline)) == 3


def goals(*statuses):
    """Return the status of some goals, in the order of their numbers."""
    made = GoalStatusArray()
    for k, status in enumerate(statuses):
        each = GoalStatus(status=status)
        each.goal_info.goal_id.uuid = [k] * 16
        made.status_list.append(each)
    return made


def test_goals_are_accepted_and_end_for_a_reason():
    """The reason comes later, with the next report; goals of before the page are not told."""
    timeline = Timeline()
    reports = GoalReports(timeline)

    def told():
        return [event.text for event in timeline]
    reports.take(goals(GoalStatus.STATUS_SUCCEEDED))
    reports.explain({LAST_GOAL: 'succeeded (SUCCESSFUL): old'})
    assert told() == []
    done = GoalStatus.STATUS_SUCCEEDED
    reports.take(goals(done, GoalStatus.STATUS_EXECUTING))
    reports.take(goals(done, GoalStatus.STATUS_EXECUTING))
    reports.take(goals(done, GoalStatus.STATUS_CANCELING))
    assert told() == ['accepted']
    reports.take(goals(done, GoalStatus.STATUS_CANCELED))
    assert told() == ['cancelled', 'accepted']
    at = next(iter(timeline)).time
    reports.explain({LAST_GOAL: 'cancelled (SUCCESSFUL): by its client'})
    assert told() == ['cancelled (SUCCESSFUL): by its client', 'accepted']
    assert next(iter(timeline)).time == at
    reports.explain({LAST_GOAL: 'again'})
    assert 'again' not in told()
    reports.take(goals(done, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED))
    assert told()[0] == 'aborted'  # at once


def test_the_list_is_newest_first_escaped_and_bounded(monkeypatch):
    """Nothing of an event becomes part of the page, and old events make room."""
    timeline = Timeline()
    assert 'Nothing so far' in timeline.html()
    timeline.add('fault', 'a <b> joint', 'do <that>', at=datetime(2026, 3, 1, 8, 30).timestamp())
    timeline.add('mode', 'from a to b')
    text = timeline.html()
    assert text.index('from a to b') < text.index('a &lt;b&gt; joint')
    timeline.reword('mode', ('from a to b',), 'from a to c')
    assert 'from a to c' in timeline.html() and 'from a to b' not in timeline.html()
    assert '08:30:00.000' in text and 'do &lt;that&gt;' in text and '<that>' not in text
    for k in range(2 * KEPT):
        timeline.add('goal', str(k))
    assert [event.text for event in timeline][:2] == [str(2 * KEPT - 1), str(2 * KEPT - 2)]
    assert len(list(timeline)) == KEPT
    monkeypatch.setattr(time, 'time', lambda: 0.0)  # somebody sets the clock back
    before = next(iter(timeline)).time
    timeline.add('goal', 'later')
    assert next(iter(timeline)).time >= before


def test_an_event_that_comes_while_the_list_is_made_is_shown(monkeypatch):
    """Messages come in another thread than that of the page."""
    timeline, plain = Timeline(), Event.html
    late = threading.Thread(target=timeline.add, args=('goal', 'accepted'))

    def slow(event):
        if not late.ident:
            late.start()
            late.join(0.2)
        return plain(event)
    monkeypatch.setattr(Event, 'html', slow)
    timeline.add('fault', 'lost')
    assert 'accepted' not in timeline.html()
    late.join()
    assert 'accepted' in timeline.html()


@pytest.mark.parametrize('colour', COLOURS.values())
def test_the_name_of_a_kind_can_be_read(colour):
    """White on its ground has a contrast of 4.5 or more (WCAG 2.1, AA), on a dark page too."""
    def linear(part):
        return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
    light = sum(weight * linear(part / 255.0) for weight, part in zip(
        (0.2126, 0.7152, 0.0722), bytes.fromhex(colour[1:])))
    assert 1.05 / (light + 0.05) >= 4.5

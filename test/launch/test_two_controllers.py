# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Two controllers of one robot, of which one was halted while the other one began."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import signal
import subprocess
import threading
import time

from arm import BRAKE, HOLD, RELEASE
import pytest
from rbd_env.pace import patient
from rbd_ros.nodes.controller.output_watch import Senders
from rbd_ros.nodes.transport import PROFILES
from sensor_msgs.msg import JointState
from standing import Standing

#: s after which participants of a halted process are forgotten, and after which all is known that
#: there is to be known
LEASE, SETTLED = 2.0, 5.0

#: s in which two may send: one sees the other one and comes to its end, and a margin of three
STOP = 3.0 * (HOLD + BRAKE + RELEASE)

_LOOK = 0.02


class Heard:
    """Who sends commands, and when."""

    def __init__(self, senders: Senders) -> None:
        self.looks: list[tuple[float, set[bytes]]] = []
        self._senders, self._end = senders, threading.Event()
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        while not self._end.wait(_LOOK):
            self.looks.append((time.monotonic(), self._senders.heard()))
        self._senders.destroy()

    def since(self, begin: float) -> list[set[bytes]]:
        """Return who was heard at each look since a time."""
        return [heard for at, heard in list(self.looks) if at > begin]

    def who(self, begin: float) -> set[bytes]:
        """Return who was heard since a time."""
        return set().union(*self.since(begin))

    def close(self) -> None:
        """End listening."""
        self._end.set()
        self._thread.join()


@contextmanager
def forgetful(folder: Path) -> Iterator[dict[str, str]]:
    """Give the environment of processes that forget halted ones soon."""
    file = folder / 'profiles.xml'
    begin = '<discovery_config>'
    file.write_text(PROFILES.read_text().replace(
        begin, f'{begin}<leaseDuration><sec>{LEASE:g}</sec></leaseDuration>'))
    yield {'FASTRTPS_DEFAULT_PROFILES_FILE': str(file),
           'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET', 'ROS_LOCALHOST_ONLY': ''}


@pytest.mark.sampled('launches', 1)
@pytest.mark.parametrize('recover', [True, False])
def test_a_halted_controller_does_not_begin_again_beside_another(tmp_path, recover) -> None:
    """Whether it recovers by itself or is reset, both never send for longer than a stop takes."""
    logs = [(tmp_path / name).open('wb') for name in ('first', 'second')]
    with forgetful(tmp_path) as environment:
        system = Standing({'recover_lost_state': recover, 'stop_time': 0.5},
                          environment=environment, stdout=logs[0], stderr=subprocess.STDOUT)
    client, second, halted = system.client, None, False
    heard = Heard(Senders(client.node, JointState, '/controller/commands'))
    try:
        system.run()
        client.wait(lambda: len(heard.who(0.0)) == 1, 'a command')
        [first] = heard.who(0.0)
        system.process.send_signal(signal.SIGSTOP)
        halted = True
        second = system.another('-p', 'autostart:=true', stdout=logs[1], stderr=subprocess.STDOUT)
        client.wait(lambda: heard.who(time.monotonic() - 0.5) - {first}, 'the other one',
                    patient(60.0))
        time.sleep(0.5)
        begin = time.monotonic()
        system.process.send_signal(signal.SIGCONT)
        halted = False
        time.sleep(SETTLED)
        if not recover:
            client.trigger('reset')
            time.sleep(SETTLED)
        both = _LOOK * sum(len(each) > 1 for each in heard.since(begin))
        print(f'both have sent for {both:.2f} s')
        assert both < STOP + client.stalled(begin), both
        assert len(heard.who(time.monotonic() - 1.0)) < 2
    finally:
        if halted:
            system.process.send_signal(signal.SIGCONT)
        heard.close()
        if second is not None:
            second.kill()
            second.wait()
        system.close()
        for each in logs:
            each.close()
            print(Path(each.name).read_text(errors='replace')[-4000:])

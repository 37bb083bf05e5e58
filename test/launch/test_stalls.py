# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Python stands still, or has gone for good: torques and stops come as ever.

The controller is a saboteur, which keeps the lock of the interpreter, compiles, writes logs or
ends its own threads. Whether Python really stands still is seen by a request that only Python
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, ExitStack, suppress
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from arm import BRAKE, GRAVITY, HOLD, MODEL, PEER, Q, RELEASE, REPEATS, STATE_TIMEOUT
from geometry_msgs.msg import TransformStamped
from lifecycle_msgs.srv import GetState
import numpy as np
import pytest
from rbd_env.pace import patient
import rclpy
from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import LivelinessPolicy, QoSProfile
import rig
from saboteur import CALLBACKS, EXIT, EXIT_CODE
from sampling import some
from sensor_msgs.msg import Imu, JointState
from standing import Standing
from std_msgs.msg import Bool, UInt64
from tf2_msgs.msg import TFMessage

HERE = Path(__file__).parent
RATE = 250.0

#: s without Python after which the loop stops by itself, where that is tested
SUPERVISION = patient(2.0)

#: s without a sign of life after which a driver takes the loop for dead; it is offered a fifth
LEASE = patient(1.0)

#: s after which a measured direction of gravity is too old
GRAVITY_TIMEOUT = patient(2.0)

#: s between two messages of the dead-man switch
PRESSES = 0.1


class Harmed(Standing):
    """
    A controller that does harm to itself, and its operator.

    :param folder: for requests of harm, and for its log.
    :param parameters: of the controller.
    """

    def __init__(self, folder: Path, **parameters: object) -> None:
        self.folder, self._log = folder, (folder / 'log').open('wb')
        super().__init__(
            {'nominal_rate': RATE, 'fault_action': 'release',
             'stop_action': 'release', **parameters},
            [str(HERE / 'saboteur.py')], {'SABOTAGE': str(folder / 'sabotage')},
            stdout=self._log, stderr=subprocess.STDOUT)
        self.beats = self.client.listen(UInt64, 'controller/heartbeat')
        self._switch = self.client.node.create_publisher(Bool, 'controller/dead_man', 1)
        self._held = True
        self._operator = ExitStack()
        self._operator.enter_context(self.client.repeating(PRESSES, self._press))

    def _press(self) -> None:
        if self._held:
            self._switch.publish(Bool(data=True))

    def let_go(self) -> float:
        """Release the dead-man switch; return when."""
        self._held = False
        self._switch.publish(Bool(data=False))
        return time.monotonic()

    def harm(self, kind: str) -> float:
        """Have it do harm; return when it was told so."""
        rig.break_it(self.client, self.folder, kind)
        return time.monotonic()

    @contextmanager
    def standing_still(self) -> Iterator[float]:
        """Have it keep the lock of its interpreter meanwhile."""
        client, pipe = self.client, self.folder / 'pipe'
        client.lifecycle()  # finds the service
        os.mkfifo(pipe)
        self.harm(f'hold: {pipe}')
        ends: list[int] = []

        def has_the_lock() -> bool:
            with suppress(OSError):  # while nobody reads
                ends.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            return bool(ends)
        client.wait(has_the_lock, 'the lock of the interpreter')
        with open(ends[0], 'wb') as end:
            begin = time.monotonic()
            future = client.ask(GetState, 'get_state', GetState.Request())
            yield begin
            assert not future.done(), f'Python answers after {time.monotonic() - begin:.2f} s'
            end.write(b'x')
        client.wait(future.done, 'Python')
        pipe.unlink()

    def run_again(self) -> None:
        """Reset, and wait until the robot is carried."""
        client, since = self.client, time.monotonic()
        self._held = True
        self.driver.behave()
        client.wait(lambda: client.trigger('reset').success, 'a reset')
        client.wait_text('state', 'running', since)
        client.wait(lambda: np.allclose(client.commands[-1].effort, GRAVITY, atol=1e-6), 'gravity')

    def expect_torques(self, what: str, begin: float, until: float = 0.0) -> None:
        """
        Expect: states since a time have had their torques without a gap, which carry the robot.

        :param what: for the output.
        :param begin: of the time.
        :param until: its end; without one, also states that are sent from now on.
        """
        client, now = self.client, time.time_ns()
        shift = now - time.monotonic_ns()  # from times to stamps
        last = shift + 1e9 * until if until else now
        client.wait(lambda: client.commands[-1].stamp > last, what)
        came = [c for c in client.commands
                if shift + 1e9 * begin < c.stamp and (not until or c.stamp < last)]
        gap = float(np.diff([begin, *(c.time for c in came)]).max())
        print(f'{what}: {len(came)} commands, largest gap {1e3 * gap:.1f} ms, '
              f'stalls of the test {1e3 * client.stalled(begin):.0f} ms')
        assert gap < client.margin(begin)  # hundreds of periods
        np.testing.assert_allclose([c.effort for c in came], len(came) * [GRAVITY], atol=1e-6)

    def expect_release(self, what: str, begin: float, limit: float) -> None:
        """Expect: the torque is zero within a time, several times, and then nothing comes."""
        client = self.client

        def zeros() -> list[rig.Command]:
            return [c for c in client.commands if c.time > begin and not c.effort.any()]
        client.wait(lambda: len(zeros()) >= REPEATS, f'{what}: a release', limit + 10.0)
        took = zeros()[0].time - begin
        print(f'{what}: zero after {took:.3f} s, configured {limit:.3f} s')
        assert took < limit + client.margin(begin)
        time.sleep(0.2)
        ended = [c.time for c in client.commands if c.time > begin and c.effort.any()]
        assert not ended or ended[-1] < zeros()[0].time
        assert all(c.time < zeros()[0].time + client.margin(begin) for c in zeros())

    def expect_end(self, code: int) -> None:
        """Expect: the process ends, with a code, and nothing has been sent after the release."""
        assert self.process.wait(patient(15.0)) == code, self.log[-3000:]
        last = [c.effort for c in self.client.commands[-REPEATS:]]
        assert not np.any(last)

    def close(self) -> int:
        """End everything."""
        self._operator.close()
        try:
            return super().close()
        finally:
            self._log.close()

    @property
    def log(self) -> str:
        """Return what it has written."""
        return (self.folder / 'log').read_text(errors='replace')


@contextmanager
def harmed(folder: Path, **parameters: object) -> Iterator[Harmed]:
    """Give a controller that carries the arm; it ends in any case."""
    made = Harmed(folder, **parameters)
    try:
        made.run()
        yield made
    finally:
        made.process.kill()
        made.close()


def test_python_stands_still(tmp_path: Path) -> None:
    """Rate, signs of life, ceased states, ~/stop, dead-man switch and signals need no Python."""
    with harmed(tmp_path, dead_man_timeout=3.0) as system:
        client = system.client
        print(rclpy.get_rmw_implementation_identifier())
        lost: list[float] = []
        client.node.create_subscription(
            JointState, 'controller/commands', lambda _: None, QoSProfile(
                depth=1, liveliness=LivelinessPolicy.MANUAL_BY_TOPIC,
                liveliness_lease_duration=Duration(seconds=LEASE)),
            event_callbacks=SubscriptionEventCallbacks(liveliness=lambda info: (
                lost.append(time.monotonic()) if info.alive_count == 0 else None)))
        with system.standing_still() as begin:
            beats = len(system.beats)
            time.sleep(1.5 * LEASE)
            system.expect_torques('stalled', begin)
            assert len(system.beats) - beats > 5
            assert not [at for at in lost if at > begin] or client.stalled(begin) > 0.5 * LEASE
            silent = system.driver.silence()
            system.expect_release('no states', silent, STATE_TIMEOUT + HOLD + RELEASE)
            blind = [c.time for c in client.commands if c.time > silent + STATE_TIMEOUT / 2.0]
            assert blind[0] - silent < STATE_TIMEOUT + client.margin(silent)
        client.wait_text('fault', 'no fresh joint state', silent)
        system.run_again()
        with system.standing_still():
            asked = time.monotonic()
            answer = client.trigger('stop')
            took = time.monotonic() - asked
            print(f'~/stop: {answer.message} after {1e3 * took:.1f} ms')
            assert answer.success and took < client.margin(asked)
            system.expect_release('~/stop', asked, BRAKE + RELEASE)
        client.wait_text('fault', 'stop requested', asked)
        system.run_again()
        with system.standing_still():
            released = system.let_go()
            system.expect_release('dead-man', released, BRAKE + RELEASE)
        client.wait_text('fault', 'dead-man', released)
        system.run_again()
        with system.standing_still():
            told = time.monotonic()
            system.process.send_signal(signal.SIGTERM)
            system.expect_release('SIGTERM', told, BRAKE + RELEASE)
            assert system.process.poll() is None
        system.expect_end(0)


def imu_message() -> Imu:
    """Return a level base, as an IMU on it says."""
    message = Imu()
    message.header.stamp, message.orientation.w = rig.to_time(time.time_ns()), 1.0
    return message


def tf_message() -> TFMessage:
    """Return a level base, as tf says."""
    turn = TransformStamped(child_frame_id='world')
    turn.header.frame_id, turn.header.stamp = MODEL.body_names[0], rig.to_time(time.time_ns())
    turn.transform.rotation.w = 1.0
    return TFMessage(transforms=[turn])


@pytest.mark.sampled('launches', 1)
@pytest.mark.parametrize(('source', 'topic', 'message'), [
    ('imu', 'controller/imu', imu_message), ('tf', '/tf', tf_message)])
def test_gravity_grows_old(tmp_path: Path, source: str, topic: str,
                           message: Callable[[], object]) -> None:
    """Only Python reads IMU and tf: without it their last direction ends in a release."""
    made = Harmed(tmp_path, gravity_source=source, gravity_frame='world',
                  gravity_timeout=GRAVITY_TIMEOUT)
    client = made.client
    told = client.node.create_publisher(type(message()), topic, 10)
    try:
        with client.repeating(0.02, lambda: told.publish(message())):
            made.run()
            with made.standing_still() as begin:
                made.expect_torques('before it is too old', begin, begin + GRAVITY_TIMEOUT / 2.0)
                made.expect_release('gravity', begin, GRAVITY_TIMEOUT + HOLD + RELEASE)
            client.wait_text('fault', 'gravity direction is too old', begin)
            made.run_again()  # Python reads again
    finally:
        made.process.kill()
        made.close()


def test_floods_while_python_stands_still(tmp_path: Path) -> None:
    """Topics that the loop reads, and those that nobody reads then, cost no torque."""
    with harmed(tmp_path) as system:
        flooder = subprocess.Popen([sys.executable, str(HERE / 'flooder.py'), '0.7'],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   bufsize=1)
        try:
            with system.standing_still():
                for kind in some('launches', ('dead_man', 'names', 'trajectory'), 1):
                    flooder.stdin.write(f'2000 {kind}\n')
                    assert flooder.stdout.readline() == 'begun\n'
                    begin = time.monotonic()
                    sent = flooder.stdout.readline().strip()
                    system.expect_torques(f'{sent} of {kind}', begin)
        finally:
            flooder.communicate(timeout=patient(60.0))
        assert system.client.last('state') == 'running'
        assert system.client.last('fault') == ''


def test_python_has_gone(tmp_path: Path) -> None:
    """
    The loop goes on without it, and stops after its time as asked for: held, or let go.

    First every callback raises: the robot is held, and once Python is back it says why. Then the
    threads have gone: the robot is released, and a signal ends the process.
    """
    with harmed(tmp_path, supervision_timeout=SUPERVISION, fault_action='hold',
                stop_action='hold') as system:
        client, driver = system.client, system.driver
        begin = system.harm(CALLBACKS)
        system.expect_torques('exceptions', begin, begin + SUPERVISION / 2.0)

        def is_held() -> bool:
            """Push joint 1 back and forth; return whether a torque besides gravity resists."""
            for shift in (0.02, -0.02):
                driver.q[0] = Q[0] + shift
                sent = driver.count
                client.wait(lambda sent=sent: driver.count > sent + 20, 'states')
                if shift * (client.commands[-1].effort[0] - PEER.gravity(driver.q)[0]) < -1e-3:
                    return True
            return False
        end = time.monotonic() + rig.PATIENCE
        while not is_held():
            assert time.monotonic() < end, 'nobody holds the robot'
        system.harm(f'spare: {CALLBACKS}')
        client.wait_text('fault', 'the program around the control loop does not answer', begin)
        client.wait(lambda: client.last('state') == 'holding', 'its state')
        driver.q[0] = Q[0]
        client.put_down()
        client.must_set({'fault_action': 'release', 'stop_action': 'release'})
        system.run()
        begin = system.harm('end: services transitions attendant')
        system.expect_torques('without executors', begin, begin + SUPERVISION / 2.0)
        system.expect_release('without executors', begin, SUPERVISION + BRAKE + RELEASE)
        beats = len(system.beats)
        client.wait(lambda: len(system.beats) > beats + 3, 'heartbeats')
        system.process.send_signal(signal.SIGINT)
        system.expect_end(1)  # there were exceptions


def test_interpreter_ends(tmp_path: Path) -> None:
    """The main thread ends, an import fails at exit: the robot is released, nothing crashes."""
    with harmed(tmp_path) as system:
        system.harm('forbid imports: ')
        begin = system.harm(EXIT)
        system.expect_release('main thread ended', begin, BRAKE + RELEASE)
        system.expect_end(EXIT_CODE)
        assert 'nothing_of_this_name' in system.log

# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""From a description to a controller that moves a robot it has never seen before."""

from __future__ import annotations

import os
from pathlib import Path
import re
import subprocess

import pytest
from rbd_env.pace import patient

rclpy = pytest.importorskip('rclpy', reason='ROS is not sourced')
from rbd_ros.control.parameters.file import read_file  # noqa: E402, I100
from rbd_ros.nodes.process_start import explain_rcl_error  # noqa: E402
from rclpy.context import Context  # noqa: E402
from sampling import some  # noqa: E402
from test_launch_advice import answer, Launched  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
URDF = ROOT / 'urdf' / 'seven_joint_arm.urdf'
ACTION = 'control_msgs/action/FollowJointTrajectory'
HEAD = '/**:\n  controller:\n    ros__parameters:\n'


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Keep the log files of launch out of the home folder."""
    return {**os.environ, 'ROS_LOG_DIR': str(tmp_path / 'log')}


def run(env: dict[str, str], *words: str) -> tuple[int, str]:
    """Run a command to its end."""
    done = subprocess.run(words, env=env, text=True, check=False, timeout=patient(120), cwd=ROOT,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def test_from_the_refusal_to_a_finished_goal(
    ros2: str, env: dict[str, str], tmp_path: Path,
) -> None:
    """A real robot without parameters is refused; what the refusal says leads to a moving arm."""
    launch = (ros2, 'launch', 'rbd_ros', 'controller.launch.py', f'urdf:={URDF}')
    code, said = run(env, *launch)
    assert code != 0 and 'a real robot needs a parameter file of its own' in said
    assert 'Traceback' not in said and 'process started' not in said
    command = re.search(r'^  (?:\./run )?ros2 (run rbd_ros make_config .+) > \S+$', said, re.M)
    assert command, said

    file = tmp_path / 'made.yaml'
    code, text = run(env, ros2, *command[1].split())
    assert code == 0, text
    file.write_text(text)
    code, said = run(env, *launch, f'params_file:={file}')
    assert code != 0 and 'does not give driver_adds and effort_is_torque' in said

    code, text = run(env, ros2, *command[1].split(), '--rate', '100', '--driver-adds', 'none',
                     '--release-torque', 'gravity', '--effort-is-torque', 'true')
    assert code == 0, text
    for strict, loose in (('state_timeout: 0.2', 'state_timeout: 1.0'),
                          ('minimum_rate: 50.0', 'minimum_rate: 5.0')):
        assert strict in text
        text = text.replace(strict, loose)  # a busy machine stands still now and then
    file.write_text(text)
    robot = tmp_path / 'robot.yaml'
    robot.write_text('/**:\n  simulator:\n    ros__parameters:\n      state_rate: 100.0\n'
                     '      substeps: 10\n')
    driver = Launched(ros2, env, tmp_path / 'driver', f'urdf:={URDF}',
                      f'simulator_params_file:={robot}', name='simulator.launch.py')
    controller = Launched(ros2, env, tmp_path / 'out', *launch[4:], f'params_file:={file}')
    try:
        controller.wait(lambda: 'The controller is waiting.' in controller.text, 'its word')
        controller.wait(lambda: 'process started' in controller.text, 'its process')
        _drive(ros2, controller)
    finally:
        ended = controller.close()
        driver.close()
        subprocess.run([ros2, 'daemon', 'stop'], env=env, check=False, timeout=patient(60))
    assert ended == 0, controller.text


def _drive(ros2: str, controller: Launched) -> None:
    """Type what the launch file says, then send a goal."""
    for transition in ('configure', 'activate'):
        line = re.search(rf'  \S*.*(lifecycle set /controller {transition})$', controller.text,
                         re.M)
        assert line, controller.text
        assert 'Transitioning successful' in answer(f'{ros2} {line[1]}', 'Transitioning'), \
            controller.text
    said, wanted = some('examples', (('get /controller', 'active [3]'), ('nodes', '/controller')),
                        1)[0]
    assert answer(f'{ros2} lifecycle {said}', '').startswith(wanted)
    controller.wait(lambda: '[controller]: running' in controller.text, 'running')
    answer(f'{ros2} param set /controller mode computed_torque', 'successful')
    joints = [f'joint_{k}' for k in range(1, 8)]
    loose = ', '.join(f'{{name: {name}, position: 0.3}}' for name in joints)
    said = answer(
        f'{ros2} action send_goal /controller/follow_joint_trajectory {ACTION} "{{trajectory: '
        f'{{joint_names: [{", ".join(joints)}], points: [{{positions: [0.2, 0.1, 0.1, -0.1, 0.1, '
        f'0.1, 0.1], time_from_start: {{sec: 1}}}}]}}, goal_tolerance: [{loose}]}}"', 'Goal')
    assert 'Goal finished with status: SUCCEEDED' in said, said


# -- what rcl itself makes of a file -------------------------------------------------------------

def overrides(file: Path) -> dict[str, object]:
    """Return what a node called controller gets from a file, by rcl."""
    context = Context()
    rclpy.init(args=['--ros-args', '--params-file', str(file)], context=context)
    node = rclpy.create_node('controller', context=context, start_parameter_services=False)
    try:
        return {name: value.value for name, value in node._parameter_overrides.items()}
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


def test_values_are_those_of_rcl(tmp_path: Path) -> None:
    """Every way to write a value gives the value and the type that rcl gives it."""
    words = ('1', '-7', '+3', '0x1F', '010', '0', '1.0', '.5', '5.', '-2.5e-3', '1e3', '.inf',
             '-.inf', 'true', 'True', 'y', 'Y', 'n', 'off', 'On', 'no', '"y"', "'1'", 'text',
             'a b', '1a', '1.2.3', 'e5', '[1, 2]', '[1.0, 2.5]', '[a, b]', '["y", b]',
             '[true, off]')
    file = tmp_path / 'values.yaml'
    file.write_text(HEAD + ''.join(f'      p{k}: {word}\n' for k, word in enumerate(words)))
    theirs = overrides(file)
    ours = {name: entry.value for name, entry in read_file(str(file), '/controller').items()}
    for k, word in enumerate(words):
        value = theirs[f'p{k}']
        value = value if isinstance(value, (bool, int, float, str)) else list(value)
        assert (type(ours[f'p{k}']), ours[f'p{k}']) == (type(value), value), word


@pytest.mark.parametrize('text', ['      a: [x, y]\n', '\ta: 1\n', '      a: [1, 2.5]\n'])
def test_what_rcl_refuses_is_explained(tmp_path: Path, text: str) -> None:
    """A file that rcl cannot read is explained by its line, not by the sources of rcl."""
    file = tmp_path / 'wrong.yaml'
    file.write_text(HEAD + text)
    with pytest.raises(RuntimeError) as caught:
        overrides(file)
    assert re.match(rf'params_file "{file}" line 4', explain_rcl_error(str(caught.value)))

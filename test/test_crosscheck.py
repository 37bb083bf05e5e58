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

"""
Every robot of example-robot-data against Pinocchio, some against MuJoCo.

The full comparison, 20 states of every robot compiled, is ``python -m benchmark.crosscheck``; here
every robot goes through the uncompiled source with few states, and ten are compiled.
"""

from pathlib import Path
import subprocess
import sys
import warnings

import numpy as np
import pytest
import rbd_ros

pytest.importorskip('pinocchio', reason='Pinocchio is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from benchmark import crosscheck  # noqa: E402, I100
from benchmark.mujoco_bridge import MujocoRobot  # noqa: E402
from benchmark.pinocchio_bridge import PinocchioRobot, read_mimics  # noqa: E402
from benchmark.robots import all_files  # noqa: E402

ROOT = Path(__file__).parents[1]
URDF = Path(__file__).parent / 'urdf'
# Neither Pinocchio nor we can read these: a link is missing, a file has no robot in it.
BROKEN = ('falcon.urdf', 'ur3.urdf')
COMPILED = ('ur5_robot', 'panda', 'xarm7', 'baxter', 'tiago_no_hand', 'solo12', 'kinova',
            'so101', 'bolt', 'double_pendulum_continuous')
BOTH = pytest.mark.parametrize('floating', [False, True], ids=['fixed', 'floating'])


def files():
    """Return the robots that can be read."""
    return [path for path in all_files() if path.name not in BROKEN]


def load(path, floating):
    """Return model and peer, without the warnings about doubtful inertias."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model, _ = crosscheck.load(path, floating)
    return model, PinocchioRobot(model, path.read_text(), floating)


def check(robot, peer, count, quantities=crosscheck.QUANTITIES, batch=False):
    """Compare and fail with the list of what differs."""
    states = crosscheck.random_states(robot.model, count)
    results = list(crosscheck.compare(robot, peer, states, quantities, batch=batch))
    wrong = [f'{each.label}: {each.error:.1e}' for each in results
             if not each.error <= crosscheck.LIMIT]
    assert not wrong
    return results


@BOTH
@pytest.mark.parametrize('path', files(), ids=crosscheck.short_name)
def test_every_robot_uncompiled(path, floating):
    """Each quantity agrees with Pinocchio's to 1e-10 of its norm."""
    model, peer = load(path, floating)
    if model.nb == 0:
        assert model.nv == 0 and peer.pin.nv == 0
        return
    check(rbd_ros.Dynamics(model, backend='reference'), peer, 1)


@pytest.mark.parametrize('name', COMPILED)
def test_ten_robots_compiled(name):
    """Machine code, one state after the other and as a batch, agrees with Pinocchio."""
    path = next(path for path in all_files() if path.stem == name)
    model, peer = load(path, False)
    check(rbd_ros.Dynamics(model), peer, 5, batch=True)


@pytest.mark.parametrize('name', ['ur5_robot', 'panda', 'double_pendulum_continuous'])
def test_straight_line_python(name):
    """The backend without any dependency agrees with Pinocchio too."""
    path = next(path for path in all_files() if path.stem == name)
    model, peer = load(path, False)
    check(rbd_ros.Dynamics(model, backend='python'), peer, 2, batch=True)


@pytest.mark.parametrize('name', ['floating_joint', 'planar_base', 'mimic_gripper', 'rotor',
                                  'branched', 'gantry'])
def test_joints_that_the_package_lacks(name):
    """Floating and planar joints, mimics and rotors of the test robots agree with Pinocchio."""
    model, peer = load(URDF / f'{name}.urdf', False)
    check(rbd_ros.Dynamics(model, backend='reference'), peer, 3)


@BOTH
@pytest.mark.parametrize('name', ['xarm7', 'go2', 'bolt', 'simple_humanoid', 'talos_reduced',
                                  'double_pendulum', 'solo12'])
def test_second_opinion(name, floating):
    """The library MuJoCo finds the same H, C and tau."""
    path = next(path for path in all_files() if path.stem == name)
    model, _ = load(path, floating)
    try:
        peer = MujocoRobot(model, path.read_text(), floating)
    except ValueError as error:
        assert name == 'xarm7' and 'cannot float' in str(error)
        return
    check(rbd_ros.Dynamics(model, backend='reference'), peer, 2, crosscheck.MUJOCO_QUANTITIES)


def test_robots_that_nobody_reads():
    """The files left out above are refused, with the element that is wrong."""
    for name in BROKEN:
        path = next(path for path in all_files() if path.name == name)
        with pytest.raises(rbd_ros.ModelError, match='does not exist|has no link'):
            rbd_ros.load_urdf(path)


def test_robot_with_massless_joints():
    """A finger without mass has no acceleration: the error names the joint and what to do."""
    path = next(path for path in all_files() if path.name == 'bravo7_gripper.urdf')
    model, peer = load(path, False)
    notes = {each.label: each.note for each in check(
        rbd_ros.Dynamics(model, backend='reference'), peer, 1) if each.note}
    assert set(notes) == {each.label for each in crosscheck.QUANTITIES if each.solved}
    assert 'joint "bravo_finger1_joint" of "bravo7_gripper" moves without inertia' in notes[
        'forward dynamics']
    assert 'forward_dynamics does not exist; give what it carries a mass' in notes[
        'forward dynamics']


def test_robot_without_mass_has_no_centre_of_mass():
    """The error says so, where a division by zero would be."""
    builder = rbd_ros.ModelBuilder('ghost')
    builder.add_body('arm', 'base', rbd_ros.joints.Revolute((0.0, 0.0, 1.0)), joint_name='hinge')
    robot = rbd_ros.Dynamics(builder.build())
    with pytest.raises(rbd_ros.SingularError, match='"ghost" has no moving mass'):
        robot.center_of_mass([0.0])


def test_mimics_are_followed_to_their_leader():
    """A chain of mimics multiplies factors and carries offsets along."""
    text = """<robot name="r">
      <joint name="a" type="revolute"/>
      <joint name="b" type="revolute"><mimic joint="a" multiplier="2" offset="1"/></joint>
      <joint name="c" type="revolute"><mimic joint="b" multiplier="3" offset="-1"/></joint>
    </robot>"""
    assert read_mimics(text) == {'b': ('a', 2.0, 1.0), 'c': ('a', 6.0, 2.0)}


def test_errors_are_seen():
    """The comparison fails where one number of one quantity is off by 1e-9."""
    path = next(path for path in all_files() if path.stem == 'ur5_robot')
    model, peer = load(path, False)

    class Wrong(PinocchioRobot):

        def bias(self, q, qd):
            C = super().bias(q, qd)
            C[3] += 1e-9 * np.linalg.norm(C)
            return C
    robot = rbd_ros.Dynamics(model, backend='reference')
    with pytest.raises(AssertionError, match='bias: 1.*e-09'):
        check(robot, Wrong(model, path.read_text()), 1)
    assert not any(each.note for each in check(robot, peer, 1))


def test_command_line(capsys):
    """The table names each robot; an unknown name is an error, a passing run exit status 0."""
    assert crosscheck.main(['--only', 'TwoDofs', '--backend', 'reference', '--quick']) == 0
    text = capsys.readouterr().out
    assert 'TwoDofs, floating' in text
    assert '2 comparisons, 0 over the limit of 1e-10' in text
    assert crosscheck.main(['--only', 'no such robot']) == 1
    assert 'no robot has "no such robot" in its file name' in capsys.readouterr().out


def test_without_llvmlite():
    """Where llvmlite is missing, one warning is given and the numbers are the same."""
    script = """if True:
        import sys
        sys.modules['llvmlite'] = None
        sys.modules['llvmlite.binding'] = None
        import warnings
        import numpy as np
        import rbd_ros
        from rbd_ros import families
        model = families.random_tree(6, 1)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter('always')
            robot = rbd_ros.Dynamics(model)
            plain = rbd_ros.Dynamics(model, backend='reference')
            rng = np.random.default_rng(0)
            q = np.array(rbd_ros.configuration.random_position(model, rng))
            qd, x = rng.normal(size=(2, model.nv))
            for name in ('inverse_dynamics', 'forward_dynamics'):
                a, b = (getattr(each, name)(q, qd, x) for each in (robot, plain))
                assert np.linalg.norm(a - b) <= 1e-10 * np.linalg.norm(b), name
            a, b = (each.operational_space(q, qd, 'body_6', max_condition=1e6)
                    for each in (robot, plain))
            assert np.linalg.norm(a.Phi - b.Phi) <= 1e-10 * np.linalg.norm(b.Phi)
        text = [str(each.message) for each in seen]
        assert len(text) == 1 and 'llvmlite is not installed' in text[0], text
        assert robot.kernel('inverse_dynamics').backend == 'python'
        print('fine')
    """
    done = subprocess.run([sys.executable, '-c', script], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    assert done.stdout == 'fine\n', done.stderr

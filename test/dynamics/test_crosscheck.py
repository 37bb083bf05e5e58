# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Every robot of example-robot-data against Pinocchio, some against MuJoCo.

The full comparison, 20 states of every robot compiled, is ``python -m benchmark.crosscheck``; here
every robot goes through the uncompiled source with few states, and five are compiled: two
arms, a mobile one, legs, and joints without limits.
"""

import math
from pathlib import Path
import subprocess
import sys
import warnings

import numpy as np
import pytest
import rbd_ros

pytestmark = pytest.mark.slow

pytest.importorskip('pinocchio', reason='Pinocchio is not installed')
pytest.importorskip('mujoco', reason='MuJoCo is not installed')

from benchmark import crosscheck  # noqa: E402, I100
from benchmark.robots import all_files  # noqa: E402
from rbd_ros.peers import deviation  # noqa: E402
from rbd_ros.peers.mujoco_robot import MujocoRobot  # noqa: E402
from rbd_ros.peers.pinocchio_robot import PinocchioRobot, read_mimics  # noqa: E402

ROOT = Path(__file__).parents[2]
URDF = Path(__file__).parents[1] / 'urdf'
BROKEN = tuple(f'{name}.urdf' for name in crosscheck.UNREADABLE)
COMPILED = ('ur5_robot', 'panda', 'tiago_no_hand', 'solo12', 'double_pendulum_continuous')
BOTH = pytest.mark.parametrize('floating', [False, True], ids=['fixed', 'floating'])


def files():
    """Return the robots that can be read."""
    return [path for path in all_files() if path.name not in BROKEN]


def load(path, floating):
    """Return model and peer, without the warnings about doubtful inertias."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model, _ = crosscheck.load(path, floating)
    return model, PinocchioRobot(model, crosscheck.peer_text(path.read_text()), floating)


def check(robot, peer, count, quantities=crosscheck.QUANTITIES, batch=False, singular=False):
    """Compare and fail with the list of what differs."""
    states = crosscheck.random_states(robot.model, count)
    results = list(crosscheck.compare(
        robot, peer, states, quantities, batch=batch, singular=singular))
    wrong = [f'{label}: {verdict.error:.1e}' for label, verdict in results if not verdict.passes]
    assert not wrong
    return results


@pytest.mark.sampled('robots', 0.12)
@BOTH
@pytest.mark.parametrize('path', files(), ids=crosscheck.short_name)
def test_every_robot_uncompiled(path, floating):
    """Each quantity agrees with Pinocchio's, and solves its equation of motion to 1e-13."""
    model, peer = load(path, floating)
    if model.nb == 0:
        assert model.nv == 0 and peer.pin.nv == 0
        return
    check(rbd_ros.Dynamics(model, backend='reference'), peer, 1,
          singular=path.stem in crosscheck.SINGULAR)


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('name', COMPILED)
def test_robots_compiled(name):
    """Machine code, one state after the other and as a batch, agrees with Pinocchio."""
    path = next(path for path in all_files() if path.stem == name)
    model, peer = load(path, False)
    check(rbd_ros.Dynamics(model), peer, 5, batch=True)


@pytest.mark.sampled('robots', 1)
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


@pytest.mark.sampled('robots', 3)
@BOTH
@pytest.mark.parametrize('name', ['xarm7', 'go2', 'bolt', 'simple_humanoid', 'talos_reduced',
                                  'double_pendulum', 'solo12'])
def test_second_opinion(name, floating):
    """The library MuJoCo finds the same H, C and tau."""
    path = next(path for path in all_files() if path.stem == name)
    model, _ = load(path, floating)
    try:
        peer = MujocoRobot(model, crosscheck.peer_text(path.read_text()), floating)
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
    notes = {label: verdict.note for label, verdict in check(
        rbd_ros.Dynamics(model, backend='reference'), peer, 1, singular=True) if verdict.note}
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
    with pytest.raises(AssertionError, match='bias: .*e-0[89]'):
        check(robot, Wrong(model, path.read_text()), 1)
    assert not any(verdict.note for _, verdict in check(robot, peer, 1))


def light_finger():
    """Return an arm whose finger has a ten-millionth of its inertia, and cond(H) above 1e5."""
    body = ('<link name="{0}"><inertial><origin xyz="0.1 0 0.02"/><mass value="{1}"/><inertia '
            'ixx="{2}" iyy="{2}" izz="{2}" ixy="0" ixz="0" iyz="0"/></inertial></link>')
    joint = ('<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{2}"/>'
             '<origin xyz="0.3 0.1 0"/><axis xyz="{3}"/></joint>')
    text = '\n'.join([
        '<robot name="arm">', '<link name="base"/>', body.format('upper', 10.0, 1.0),
        body.format('lower', 5.0, 0.3), body.format('finger', 1e-6, 1e-8),
        joint.format('shoulder', 'base', 'upper', '0 0 1'),
        joint.format('elbow', 'upper', 'lower', '0 1 0'),
        joint.format('knuckle', 'lower', 'finger', '0 1 0'), '</robot>'])
    model = rbd_ros.load_urdf(text)
    return model, PinocchioRobot(model, text)


class Faulty:
    """
    Our robot with a fault in what it answers.

    :param fault: takes the answer and whether it is a batch, and returns the wrong one.
    """

    def __init__(self, model, names, fault):
        self.model, self.names, self.fault = model, names, fault
        self.right = rbd_ros.Dynamics(model, backend='python')

    def __getattr__(self, name):
        def ask(*arguments, **options):
            answer = getattr(self.right, name)(*arguments, **options)
            wrong = name in self.names
            return self.fault(np.array(answer), np.ndim(arguments[0]) == 2) if wrong else answer
        return ask


def refuse(answer, batch):
    """Plant a refusal."""
    raise rbd_ros.SingularError('planted')


def off_by(factor):
    """Plant a factor on the last joint."""
    def fault(answer, batch):
        answer[..., -1] *= factor
        return answer
    return fault


FAULTS = {
    'a batch of NaN': lambda answer, batch: answer * (np.nan if batch else 1.0),
    'NaN one by one': lambda answer, batch: answer * (1.0 if batch else np.nan),
    'one NaN in a batch': lambda answer, batch: np.where(
        (np.arange(answer.size) == answer.size - 1).reshape(answer.shape) & batch, np.nan, answer),
    'infinity': lambda answer, batch: np.full_like(answer, np.inf),
    'a batch in another order': lambda answer, batch: answer[::-1] if batch else answer,
    'a batch of one row': lambda answer, batch: answer[:1] if batch else answer,
    'a batch that is 1e-9 off': lambda answer, batch: answer * (1.0 + 1e-9 * batch),
    '0.1 % on the lightest joint': off_by(1.001),
    '0.1 % on the lightest joint of a batch':
        lambda answer, batch: off_by(1.001)(answer, batch) if batch else answer,
    'a refusal': refuse,
}


@pytest.mark.parametrize('method', ['inverse_dynamics', 'gravity', 'mass_matrix', 'pose',
                                    'inverse_mass_matrix', 'forward_dynamics'])
@pytest.mark.parametrize('fault', FAULTS)
def test_planted_faults_are_seen(fault, method):
    """NaN, a wrong batch, 0.1 % on a light joint and a refusal fail, whatever the condition."""
    if method in ('gravity', 'pose') and 'lightest joint' in fault:
        method = 'bias'
    model, peer = light_finger()
    states = crosscheck.random_states(model, 3)
    assert min(np.linalg.cond(peer.mass_matrix(q)) for q in states.q) > 1e5
    quantities = tuple(each for each in crosscheck.QUANTITIES if each.method == method)
    for robot, expected in (rbd_ros.Dynamics(model, backend='python'), True), \
            (Faulty(model, [method], FAULTS[fault]), False):
        results = list(crosscheck.compare(robot, peer, states, quantities))
        assert len(results) >= len(quantities) > 0
        assert [verdict.passes for _, verdict in results] == [expected] * len(results)


def test_an_inverse_is_judged_in_each_state_by_its_own_size():
    """A state near a singularity hides no error of another, nor does it seem worse than it is."""
    H = np.array([np.diag([2.0, 3.0]), [[2.0, 1.4142], [1.4142, 1.0]]])  # det 2e-6
    units = deviation.Units(H)
    theirs = np.linalg.inv(H)
    for state in (0, 1):
        ours = theirs.copy()
        ours[state] *= 1.0 + 1e-6
        error = deviation.energy_error(ours, theirs, units, deviation.MOBILITY)
        assert error == pytest.approx(1e-6, rel=1e-6)


def test_a_singular_robot_must_be_refused():
    """A robot on the list that gives an acceleration all the same fails."""
    model, peer = light_finger()
    states = crosscheck.random_states(model, 2)
    robot = rbd_ros.Dynamics(model, backend='reference')
    results = list(crosscheck.compare(robot, peer, states, batch=False, singular=True))
    solved = {each.label for each in crosscheck.QUANTITIES if each.solved}
    assert {label for label, verdict in results if not verdict.passes} == solved


def test_report_fails_with_what_is_not_expected(monkeypatch, tmp_path, capsys):
    """A robot that cannot be read is left out only if it is on the list."""
    report = crosscheck.Report()
    path = next(path for path in all_files() if path.stem == 'falcon')
    arguments = (path, False, 1, 'reference', PinocchioRobot, crosscheck.QUANTITIES)
    crosscheck.check_robot(report, *arguments)
    assert len(report.skipped) == 1 and not report.failures
    monkeypatch.setattr(crosscheck, 'UNREADABLE', ())
    crosscheck.check_robot(report, *arguments)
    assert len(report.skipped) == 1 and 'falcon' in report.failures[0]
    report.row('robot', 1, [crosscheck.Result('tau', deviation.Verdict(np.inf, 1.0))], 0.0)
    assert report.failures[1:] == ['robot, tau: inf'] and report.summary() == 1
    assert 'FAILS' in capsys.readouterr().out


def test_the_peer_reads_right_angles_as_we_do():
    """An angle that load_urdf takes for a right one is so for the other library, and no other."""
    text = """<origin rpy="3.14159265359 0.1 -1.57079632679"/>
        <origin rpy='1.5707963 0 0'/> <!-- rpy="${pi} 0 0" -->"""
    assert crosscheck.peer_text(text) == f"""<origin rpy="{math.pi} 0.1 {-math.pi / 2}"/>
        <origin rpy='1.5707963 0.0 0.0'/> <!-- rpy="${{pi}} 0 0" -->"""


def test_the_peer_takes_no_settings_of_the_file():
    """What a URDF tells MuJoCo by itself, here a least mass, is not the robot's."""
    inertial = ('<inertial><origin xyz="0.3 0 0"/><mass value="2"/><inertia ixx="0.1" ixy="0" '
                'ixz="0" iyy="0.2" iyz="0" izz="0.2"/></inertial>')
    urdf = ('<robot name="bar"><link name="base"/><link name="rod">' + inertial + '</link>'
            '<mujoco><compiler boundmass="50"/></mujoco><joint name="hinge" type="continuous">'
            '<parent link="base"/><child link="rod"/><axis xyz="0 0 1"/></joint></robot>')
    peer = MujocoRobot(rbd_ros.load_urdf(urdf), urdf)
    assert peer.mj.body('rod').mass == pytest.approx(2.0)


def test_command_line(capsys):
    """The table names each robot; an unknown name is an error, a passing run exit status 0."""
    assert crosscheck.main(['--only', 'TwoDofs', '--backend', 'reference', '--quick']) == 0
    text = capsys.readouterr().out
    assert 'TwoDofs, floating' in text
    assert '2 comparisons, 0 over the limit' in text
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
        from rbd_ros.samples import families as samples
        model = samples.random_tree(6, 1)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter('always')
            robot = rbd_ros.Dynamics(model)
            plain = rbd_ros.Dynamics(model, backend='reference')
            rng = np.random.default_rng(0)
            q = np.array(rbd_ros.model.positions.random_position(model, rng))
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

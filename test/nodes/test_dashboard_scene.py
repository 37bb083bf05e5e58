# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the page draws: the robot, ellipsoids, forces and obstacles, and from where it is seen."""

import asyncio
from types import SimpleNamespace

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
import numpy as np
from page_rig import MODEL, ROBOT, START
import pytest
from rbd_ros.model.collision_shapes import Box
from rbd_ros.nodes.arrows import PER_NEWTON
from rbd_ros.nodes.dashboard import joint_plots
from rbd_ros.nodes.dashboard.drawings import MAX_HALF_AXIS, MIN_FORCE
from rbd_ros.nodes.dashboard.look import ABOVE, BESIDE, fitted, PRESETS
from rbd_ros.nodes.dashboard.pull import LinkPull, MOST, USUAL
from rbd_ros.nodes.dashboard.telemetry import LATCHED
from rbd_ros.nodes.dashboard.timeline import COLOURS
from rbd_ros.nodes.simulator.contacts import arrows, scene_marker
from rbd_ros.sim import ContactForce
from rbd_ros.view.figures import ellipsoid, quaternion
from rbd_ros.view.scene import link_poses, RobotScene
from rbd_ros.view.server_part import ServerPart
from scipy.spatial.transform import Rotation
from visitor import FOV
from visualization_msgs.msg import MarkerArray

REACH, SPRINGS = 'Manipulability', 'Stiffness at the tool'
LINEAR = 'cartesian_impedance.linear_stiffness'
PULL = 'Pull at the links with the mouse'


@pytest.fixture
def desk(made):
    """Give the page of a simulated robot that stands somewhere."""
    return made.begin(simulated=True)


def turn(wxyz):
    """Return the matrix of a quaternion."""
    w, x, y, z = wxyz
    return Rotation.from_quat([x, y, z, w]).as_matrix()


def drawn_matrix(axes, wxyz):
    """Return the symmetric matrix with half-axes as principal values, turned by a quaternion."""
    return turn(wxyz) @ np.diag(axes) @ turn(wxyz).T


def test_the_robot_is_where_it_says(desk):
    """Each link at its pose; what does not move is not sent again."""
    for q in (START, START + 0.2):
        desk.robot.q = q
        desk.look()
        for name, (p, wxyz) in link_poses(MODEL, q).items():
            node = desk.drawn(f'robot/{name}')
            np.testing.assert_allclose(node['position'], p, atol=1e-6)
            np.testing.assert_allclose(turn(node['wxyz']), turn(wxyz), atol=1e-6)


def test_ellipsoids_are_those_of_the_position(desk):
    """Inertia felt at the frame and reach of J J^T, where the robot is; each has its box."""
    J, H = ROBOT.jacobian(START, 'tool0'), ROBOT.pose(START, 'tool0')
    felt = np.linalg.inv(J @ np.linalg.solve(ROBOT.mass_matrix(START), J.T))
    R = H[:3, :3]
    desk.put(REACH, True)
    for name, A in (('inertia', felt[3:, 3:]), ('manipulability', J[3:] @ J[3:].T)):
        found, expected = desk.drawn(f'~/{name}'), ellipsoid(R @ A @ R.T, MAX_HALF_AXIS)
        assert found['visible']
        np.testing.assert_allclose(found['position'], H[:3, 3], atol=1e-6)
        # the sign of a principal axis is left to LAPACK: compare what is seen
        np.testing.assert_allclose(drawn_matrix(found['scale'], found['wxyz']),
                                   drawn_matrix(*expected), atol=1e-6)
    desk.put(REACH, False)
    assert desk.drawn('~/inertia')['visible'] and not desk.drawn('~/manipulability')['visible']
    desk.put('Number', 'Condition number')
    desk.look(4)
    [plot] = [each for each in desk.visitor.look().plots() if each['visible']]
    assert plot['data'][1][-1] == pytest.approx(np.linalg.cond(J @ np.linalg.solve(
        ROBOT.mass_matrix(START), J.T)), rel=0.5)
    count = len(plot['data'][0])
    for frame in (MODEL.body_names[0], MODEL.body_names[1]):  # cannot move; a pivot
        desk.give(**{'task.frame': frame})
        desk.look(4)
        assert not desk.drawn('~/inertia')['visible'], frame
    desk.give(**{'task.frame': ''})
    desk.put('Number', 'choose one')
    assert count > 1


def test_springs_of_the_frame_are_drawn_along_its_axes(desk):
    """With half-axes in proportion to N/m, and the numbers at their ends."""
    desk.say(mode='cartesian_impedance')
    desk.give(**{LINEAR: [800.0, 400.0, 200.0]})
    desk.look(3)
    H, found = ROBOT.pose(START, 'tool0'), desk.drawn('~/stiffness')
    np.testing.assert_allclose(found['scale'], MAX_HALF_AXIS * np.array([0.25, 0.5, 1.0]),
                               rtol=1e-4)
    np.testing.assert_allclose(found['position'], H[:3, 3], atol=1e-6)
    assert f'{SPRINGS}: **200 N/m, 400 N/m, 800 N/m**' in desk.text()
    labels = [desk.drawn(f'~/stiffness_{k}') for k in range(3)]
    assert [each['text'] for each in labels] == ['200 N/m', '400 N/m', '800 N/m']
    ways = np.array([np.array(each['position']) - H[:3, 3] for each in labels])
    for way, axis, share in zip(ways, (2, 1, 0), (0.25, 0.5, 1.0), strict=True):
        np.testing.assert_allclose(np.abs(H[:3, :3].T @ way),
                                   MAX_HALF_AXIS * share * np.eye(3)[axis], atol=1e-4)
    # as the figure is turned: its first half-axis, the softest, is along z of the frame
    R = (ways / np.linalg.norm(ways, axis=1)[:, None]).T
    assert abs(np.dot(quaternion(R), found['wxyz'])) == pytest.approx(1.0, abs=1e-5)


def test_no_spring_is_drawn_that_nobody_feels(desk):
    """In a mode that follows nothing, after a stop, with passive joints, switched off."""
    def seen():
        desk.look(2)
        nodes = [desk.drawn(f'~/stiffness{k}')['visible'] for k in ('', '_0', '_1', '_2')]
        assert len({*nodes, f'{SPRINGS}: ' in desk.text()}) == 1
        return nodes[0]
    for mode, springs in (('gravity_compensation', False), ('damping', False), ('', False),
                          ('cartesian_impedance', True), ('computed_torque', True),
                          ('hold', True)):
        desk.say(mode=mode)
        assert seen() == springs, mode
    desk.say(state='holding')
    assert not seen()
    desk.say(state='running')
    desk.give(passive_joints=['joint_7'])
    assert not seen()
    desk.give(passive_joints=[])
    assert seen()
    desk.put(SPRINGS, False)
    assert not seen()
    desk.put(SPRINGS, True)
    desk.robot.answers = False
    desk.pass_time(4.0)  # the controller has vanished
    assert not desk.drawn('~/stiffness')['visible']


def test_the_external_force_is_an_arrow_of_the_controlled_frame(desk):
    """It begins at that and is turned from its axes to those of the base; a small one has none."""
    heard = desk.node.tabs[0].page.telemetry

    def arrow(force):
        message = WrenchStamped()
        message.wrench.force.y = force
        desk.robot.wrench.publish(message)
        desk.until(lambda: heard.take() or heard.force[1] == force, looks=False)
        desk.look()
        return desk.drawn('~/force')
    for told, frame in (('', 'tool0'), ('link_4', 'link_4'), ('of another robot', 'tool0')):
        desk.give(**{'task.frame': told})
        found = arrow(20.0)
        assert found['visible']
        begin, end = found['points'].reshape(2, 3)
        p, wxyz = link_poses(MODEL, START)[frame]
        np.testing.assert_allclose(begin, p, atol=1e-6)
        np.testing.assert_allclose((end - begin) / PER_NEWTON, turn(wxyz) @ [0.0, 20.0, 0.0],
                                   atol=1e-3)
    desk.give(**{'task.frame': ''})
    assert not arrow(0.9 * MIN_FORCE)['visible'] and arrow(1.1 * MIN_FORCE)['visible']
    desk.put('External force', False)
    assert not arrow(20.0)['visible']
    desk.put('External force', True)
    assert arrow(20.0)['visible']
    desk.clock.now += 4.0
    desk.look()
    assert not desk.drawn('~/force')['visible']


def test_contact_forces_are_arrows_where_they_act(desk):
    """What the simulator publishes is drawn at its points, as long as the force, until it ends."""
    tell = desk.robot.simulator.create_publisher(MarkerArray, '~/contact_markers', 10)
    heard = desk.node.tabs[0].page.telemetry
    forces = [ContactForce(7, 'table', np.array([0.3, 0.1, 0.2]), np.array([0.0, 3.0, 40.0])),
              ContactForce(6, 'table', np.array([0.2, 0.0, 0.2]), np.array([0.0, 0.0, -8.0]))]

    def seen(given=None):
        if given is not None:
            tell.publish(arrows(given, 'base'))
            desk.until(lambda: len(heard.contacts) == len(given))
        desk.node.update()
        return desk.drawn('/contacts')['visible']
    desk.until(tell.get_subscription_count)
    assert not seen() and seen(forces)
    points = desk.drawn('/contacts')['points'].reshape(2, 2, 3)
    np.testing.assert_allclose(points[:, 0], [f.point for f in forces], atol=1e-6)
    np.testing.assert_allclose(np.diff(points, axis=1)[:, 0] / PER_NEWTON,
                               [f.force for f in forces], atol=1e-3)
    desk.put('Contact forces', False)
    assert not seen()
    desk.put('Contact forces', True)
    desk.pass_time(4.0)  # the robot stands still: a simulator that pauses, say
    assert seen()
    desk.look()  # it moves, and nothing is heard of contacts
    assert not seen() and seen(forces[:1]) and not seen([])
    desk.robot.simulator.destroy_publisher(tell)


def test_obstacles_are_drawn_and_replaced(desk):
    """A scene that is published anew takes the place of the one before."""
    tell = desk.robot.simulator.create_publisher(MarkerArray, '~/scene', LATCHED)
    R = Rotation.from_euler('z', 90, degrees=True).as_matrix()
    table = SimpleNamespace(placed=(Box((0.3, 0.2, 0.1)), R, np.array([0.4, 0.0, 0.2])))
    tell.publish(MarkerArray(markers=[scene_marker(table, 'base', 0)]))
    desk.until(lambda: '/obstacle_0' in desk.visitor.look().nodes)
    box = desk.drawn('/obstacle_0')
    np.testing.assert_allclose(box['dimensions'], (0.3, 0.2, 0.1))
    np.testing.assert_allclose(box['position'], (0.4, 0.0, 0.2))
    np.testing.assert_allclose(turn(box['wxyz']), R, atol=1e-9)
    tell.publish(MarkerArray())
    desk.until(lambda: '/obstacle_0' not in desk.visitor.look().nodes)
    desk.robot.simulator.destroy_publisher(tell)


# -- the camera -------------------------------------------------------------------------------


def seen(points, eye, look, width, height):
    """Return where points are in a picture, pixels from its upper left corner: a pinhole."""
    forward = (look - eye) / np.linalg.norm(look - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    rays = np.asarray(points, float) - eye
    depth = rays @ forward
    assert (depth > 0.0).all()
    scale = 0.5 * height / np.tan(0.5 * FOV) / depth
    return np.column_stack([0.5 * width + scale * (rays @ right),
                            0.5 * height + scale * (rays @ np.cross(forward, right))])


@pytest.mark.parametrize(('width', 'height'), [
    (1200, 900), (1920, 1000), (390, 844), (780, 1688)])
def test_the_robot_is_in_the_part_that_the_panel_leaves_free(width, height):
    """Whatever its shape and from wherever it is seen, and it fills it up to an edge."""
    rng = np.random.default_rng(width)
    free = np.array([BESIDE * width, height] if width > height else [width, ABOVE * height])
    for back in [preset.back for preset in PRESETS.values()] * 20:
        points = rng.uniform(-1.0, 1.0, (12, 3)) * rng.uniform(0.1, 2.0, 3) + rng.normal(size=3)
        at = seen(points, *fitted(points, back, FOV, width / height), width, height)
        assert (at > -1e-6).all() and (at < free + 1e-6).all()
        assert (np.minimum(at, free - at) / free).min() < 1e-6


def camera(visitor):
    """Return where the page has put the camera of a visitor, and where it looks."""
    visitor.look()
    return tuple(np.array(visitor.camera.get(f'SetCamera{each}Message', (0.0, 0.0, 0.0)))
                 for each in ('Position', 'LookAt'))


@pytest.mark.parametrize('name', PRESETS)
def test_a_button_moves_the_camera_of_the_one_who_pressed_it(desk, name):
    """It looks at the robot, or at the tool from near, with z upward."""
    mine, others = desk.visit(), camera(desk.visitor)
    before = camera(mine)[0]
    desk.put('Camera', name, who=-1)
    desk.until(lambda: (camera(mine)[0] != before).any())
    eye, look = camera(mine)
    np.testing.assert_array_equal(camera(desk.visitor), others)
    up = mine.camera.get('SetCameraUpDirectionMessage', [0, 0, 1])  # as it was
    np.testing.assert_array_equal(up, [0, 0, 1])
    links = {link: p for link, (p, _) in link_poses(MODEL, START).items()}
    at = seen(list(links.values()), eye, look, 1200, 900)
    if name == 'Tool':
        np.testing.assert_allclose(at[list(links).index('tool0')], [0.5 * BESIDE * 1200, 450.0],
                                   atol=1.0)
        far, _ = fitted(list(links.values()), PRESETS['Fit'].back, FOV, 4.0 / 3.0)
        assert np.linalg.norm(eye - links['tool0']) < 0.5 * np.linalg.norm(far - links['tool0'])
    else:
        assert (at > 0.0).all() and (at < [BESIDE * 1200, 900]).all()
    back = np.array(PRESETS[name].back)
    assert (eye - look) @ back > 0.999 * np.linalg.norm(eye - look) * np.linalg.norm(back)
    # REP 103: x is forward, y left, z up; a camera in front of the robot is at positive x
    axis = {'Front': [1, 0, 0], 'Side': [0, -1, 0], 'Top': [0, 0, 1]}.get(name)
    assert axis is None or back @ axis > 0.99 * np.linalg.norm(back)
    desk.visitors.pop().close()


def test_whoever_opens_the_page_in_a_high_window_sees_the_robot_above_the_panel(desk):
    """The camera of a phone is put there; that of another window is where the scene says."""
    wide, phone = desk.visit(), desk.visit((390, 844))
    desk.until(lambda: len(camera(phone)) and (camera(phone)[0] != camera(wide)[0]).any())
    links = [p for p, _ in link_poses(MODEL, START).values()]
    at = seen(links, *camera(phone), 390, 844)
    assert (at > 0.0).all() and (at < [390, ABOVE * 844]).all()
    for _ in range(2):
        desk.visitors.pop().close()


def light(colour):
    """Return the relative luminance of a colour (WCAG 2.1)."""
    parts = [part / 255.0 for part in bytes.fromhex(colour[1:])]
    return sum(weight * (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4)
               for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def contrast(one, other):
    """Return the contrast of two colours."""
    low, high = sorted(map(light, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_can_be_told_apart():
    """Lines from the panel, light or dark, by 3; white words from their ground by 4.5 (WCAG)."""
    lines = {colour for plot in joint_plots.PLOTS for _, colour in plot.lines.values()}
    for colour in lines | {joint_plots.LIMIT, joint_plots.EVENT}:
        assert min(contrast(colour, ground) for ground in ('#ffffff', '#242424')) >= 3.0, colour
    assert min(contrast(colour, '#ffffff') for colour in COLOURS.values()) >= 4.5


# -- a base that floats ----------------------------------------------------------------------


def test_a_floating_base_is_where_its_odometry_says(desk):
    """The robot is drawn there, and what belongs to it with it; without, it is at the origin."""
    tell = desk.robot.simulator.create_publisher(Odometry, '~/odometry', 10)
    heard = desk.node.tabs[0].page.telemetry

    def root(turned):
        message = Odometry(child_frame_id='link_1')
        at, spin = message.pose.pose.position, message.pose.pose.orientation
        (at.x, at.y, at.z), (spin.w, spin.x, spin.y, spin.z) = (0.3, -0.2, 0.5), turned
        tell.publish(message)
        desk.until(lambda: heard.take() or any(turned) == (heard.base is not None), looks=False)
        desk.look()
        return desk.drawn('/robot')
    desk.until(tell.get_subscription_count)
    np.testing.assert_allclose(root((0.0, 0.0, 0.0, 0.0))['position'], 0.0)  # no orientation
    base = root((np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)))
    link = desk.drawn('robot/link_1')
    np.testing.assert_allclose(turn(base['wxyz']) @ turn(link['wxyz']),
                               Rotation.from_euler('z', 90, degrees=True).as_matrix(), atol=1e-6)
    np.testing.assert_allclose(base['position'] + turn(base['wxyz']) @ link['position'],
                               [0.3, -0.2, 0.5], atol=1e-6)
    desk.robot.simulator.destroy_publisher(tell)


# -- the mouse at a link ----------------------------------------------------------------------


def world(q, base, R, link, point):
    """Return where a point of a link is in the world."""
    p, wxyz = link_poses(MODEL, q)[link]
    return base + R @ (p + turn(wxyz) @ point)


@pytest.mark.parametrize('seed', range(2))
def test_the_wrench_does_the_work_of_the_force_at_the_point(desk, seed):
    """Joint torques of what is sent are those of the band, by differences of the point's place."""
    rng = np.random.default_rng(seed)
    desk.robot.q = q = rng.uniform(-1.5, 1.5, 7)
    desk.put(PULL, True)
    root = desk.drawn('/robot')  # where odometry has put it
    place = np.array(root['position']), turn(root['wxyz'])
    paths = [path for path in desk.visitor.nodes if 'link' in path and 'shape' in path]
    path = str(rng.choice(paths))
    link, point = path.split('/')[2], rng.uniform(-0.2, 0.2, 3)
    at = world(q, *place, link, point)
    end = at + rng.uniform(-0.5, 0.5, 3)
    desk.visitor.drag('start', path, at, end)
    desk.robot.q = q = q + rng.uniform(-0.2, 0.2, 7)  # the robot takes the point with it
    desk.run(0.2, follows=False)
    message = desk.sent['push'][-1].message
    force, torque = message.wrench.force, message.wrench.torque
    assert message.header.frame_id == link
    band, h = USUAL * (end - world(q, *place, link, point)), 1e-6
    expected = [band @ (world(q + h * e, *place, link, point)
                        - world(q - h * e, *place, link, point)) / (2.0 * h)
                for e in np.eye(7)]
    sent = [torque.x, torque.y, torque.z, force.x, force.y, force.z]
    found = ROBOT.jacobian(q, link).T @ sent
    np.testing.assert_allclose(found, expected, atol=1e-5)
    a, b = desk.drawn('/pull')['points'].reshape(2, 3)
    np.testing.assert_allclose(USUAL * (b - a), band, atol=1e-3)
    desk.visitor.drag('end', path, at, end)


def test_a_pull_at_a_robot_that_stands_aside(desk):
    """What the mouse says is in the world; the force is the same as without an offset."""
    part = ServerPart(desk.server, 'aside', (0.3, -1.5, 0.2))
    drawn = RobotScene(part, MODEL, [], root='/one', beside=(0.0, 0.0, 0.0))
    sent, box = [], drawn.boxes[1]
    pull = LinkPull(part, drawn, SimpleNamespace(
        allowed=True, simulated=True, push=lambda *words: sent.append(words)))
    link = drawn.link_of(box)
    at = drawn.pose(link)[0] + part.origin
    asyncio.run(pull.drag(SimpleNamespace(phase='start', client_id=1, target=box,
                                          start_position=at, end_position=at + (0.2, 0.0, 0.0))))
    pull.send()
    [(frame, force, torque)] = sent
    np.testing.assert_allclose(drawn.pose(link)[1] @ force, [0.2 * USUAL, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(torque, 0.0, atol=1e-6)
    assert frame == link
    part.remove()


def test_a_pull_ends_with_the_mouse(desk):
    """With a force of nothing, once; another browser neither moves nor ends it."""
    def force():
        desk.run(0.08)
        each = desk.sent['push'][-1].message.wrench.force
        return np.linalg.norm([each.x, each.y, each.z])
    shapes = [path for path in desk.visitor.look().nodes if 'shape' in path or 'inertia' in path]
    assert not any(desk.visitor.nodes[path].get('bindings') for path in shapes)
    desk.put(PULL, True)
    assert all(desk.drawn(path)['bindings'] for path in shapes if '~' not in path)
    path, at = next(each for each in shapes if 'link_3' in each), (0.0, 0.0, 0.5)
    other = desk.visit()
    desk.visitor.drag('start', path, at, (0.0, 0.1, 0.5))
    desk.visitor.drag('update', path, at, (0.0, 90.0, 0.5))
    other.drag('update', path, at, (0.0, 0.2, 0.5))
    other.drag('end', path, at, (0.0, 0.2, 0.5))
    assert force() == pytest.approx(MOST)  # however far the mouse is
    assert desk.drawn('/pull')['visible']
    desk.visitor.drag('end', path, at, (0.0, 0.2, 0.5))
    assert force() == 0.0 and not desk.drawn('/pull')['visible']
    count = len(desk.sent['push'])
    desk.run(0.2)
    assert len(desk.sent['push']) == count
    desk.visitor.drag('start', path, at, (0.0, 0.1, 0.5))
    desk.put(PULL, False)  # the mouse belongs to the camera again
    assert force() == 0.0
    assert not any(desk.drawn(path)['bindings'] for path in shapes if '~' not in path)
    desk.visitors.pop().close()


def test_only_what_is_simulated_is_pulled(desk):
    """A real robot that appears beside a simulator is none, whatever a browser sends."""
    path = next(each for each in desk.visitor.look().nodes if 'link_3/shape' in each)
    desk.put(PULL, True)
    desk.robot.become(simulated=False)
    desk.until(lambda: desk.look() or not desk.node.tabs[0].page.simulated)
    desk.visitor.drag('start', path, (0.0, 0.0, 0.5), (0.0, 0.1, 0.5))
    desk.run(0.2)
    assert not desk.sent['push'] and not desk.drawn('/pull')['visible']

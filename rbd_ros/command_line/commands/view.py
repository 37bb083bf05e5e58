# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Show a robot in 3-D on a web page, with a slider for each joint. Needs no ROS.

    rbd view robot.urdf
    rbd view robot.urdf --plan excite.yaml

Open the address that is printed in a browser; Ctrl-C ends it. Links without a mesh or shape are
shown as boxes with the same inertia. The page shows the torque that holds the robot in the pose on
display. With --plan it plays a planned motion and draws the path of the tip, before a robot moves.
Only this machine can open the page, unless --host says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
import time
from typing import Annotated, Any, Optional, TYPE_CHECKING

from rbd_ros.command_line.options import AsJson, Robot
from rbd_ros.command_line.output import number, progress, show, warn
import typer

if TYPE_CHECKING:
    from rbd_ros.compiler import Array
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.view.scene import RobotScene


def run(
    robot: Robot,
    plan: Annotated[Optional[Path], typer.Option(
        metavar='FILE', help='Motion to play, a goal of FollowJointTrajectory.')] = None,
    port: Annotated[int, typer.Option(
        min=1, max=65535, help='Port; if it is taken, the next free one.')] = 8080,
    host: Annotated[str, typer.Option(
        help='Address to listen on; 0.0.0.0 for all networks.')] = '127.0.0.1',
    seconds: Annotated[Optional[float], typer.Option(
        min=0.0, help='End after this time; by default with Ctrl-C.')] = None,
    as_json: AsJson = False,
) -> None:
    """Serve a page with the robot."""
    from rbd_ros.command_line.excitation_plan import read_plan
    from rbd_ros.command_line.robots import load, tips
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.model.urdf import find_resource
    from rbd_ros.view.motion import MotionPlayer
    from rbd_ros.view.scene import RobotScene
    from rbd_ros.view.server import start_server, stop_server
    from rbd_ros.view.shapes import read_shapes
    model, text, _ = load(robot, quiet=as_json)
    if model.loops and not as_json:
        warn('the robot has closed loops: the sliders move its spanning tree and leave them open')
    path = None if plan is None else read_plan(plan, model)
    shapes = read_shapes(text)
    near = None if robot == '-' else find_resource(robot)
    server = start_server(host, port)
    try:
        with progress('loading meshes', 1) as step:
            scene = RobotScene(server, model, shapes, near=near)
            step()
        place = _controls(server, scene, Dynamics(model))
        for problem in scene.problems:
            if not as_json:
                warn(problem)
        url = f'http://{host}:{server.get_port()}'
        show({'url': url, 'links': list(scene.links), 'problems': scene.problems,
              **({} if path is None else {'duration': path.t[-1]})}, as_json,
             f'{model.name}: open {url} in a browser; Ctrl-C ends this')
        end = float('inf') if seconds is None else time.monotonic() + seconds
        with nullcontext() if path is None else MotionPlayer(
                server, scene, path.position, float(path.t[-1]), tips(model), place):
            while time.monotonic() < end:
                time.sleep(min(0.2, max(end - time.monotonic(), 0.0)))
    except KeyboardInterrupt:
        pass
    finally:
        stop_server(server)


def _controls(server: Any, scene: RobotScene, robot: Dynamics) -> Callable[[Array], None]:
    """Add a slider for each joint with one coordinate, and what to show; return what moves it."""
    import numpy as np
    from rbd_ros.model.positions import neutral
    from rbd_ros.quoting import markdown_text
    from rbd_ros.view.joint_sliders import joint_sliders, single_joints
    model = scene.model
    q = np.array(neutral(model), float)
    torques = server.gui.add_markdown('')

    def update() -> None:
        scene.show(q)
        held = robot.gravity(q)
        lines = [f'| {markdown_text(name)} | '
                 f'{number(float(held[model.velocity_slice(name).start]), 3)} |'
                 for name in single_joints(model)]
        torques.content = '\n'.join(['| joint | holding torque, N.m |', '|---|---|', *lines])

    with server.gui.add_folder('Joints'):
        joint_sliders(server.gui, model, q, update)
    boxes = server.gui.add_checkbox('inertia boxes', False)
    shapes = server.gui.add_checkbox('shapes', True)
    standing = [box.visible for box in scene.boxes]

    def chosen(_: object) -> None:
        for box, always in zip(scene.boxes, standing, strict=True):
            box.visible = boxes.value or always
        for shape in scene.drawn:
            shape.visible = shapes.value
    boxes.on_update(chosen)
    shapes.on_update(chosen)

    def place(position: Array) -> None:
        q[:] = position
        update()
    place(q)
    return place

# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Start the controller: with a simulated robot, or alone for a real driver.

Without arguments the built-in seven-joint arm is simulated, with ``robot`` another one that is
known by name. With ``urdf`` or ``use_robot_description`` only the controller starts, and a driver
must publish joint states. Then a parameter file must be given: those of the simulated arm suit no
other robot.
"""

import os
from pathlib import Path
import re
import shlex
from typing import Any

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from launch import Action, LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument, GroupAction, IncludeLaunchDescription, LogInfo, OpaqueFunction,
    SetLaunchConfiguration)
from launch.conditions import IfCondition, UnlessCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution, PythonExpression
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare
from rbd_ros.control.parameters.file import check_file, read_file
from rbd_ros.control.parameters.rules import activation_refusals
from rbd_ros.control.parameters.table import defaults
from rbd_ros.errors import nearest, nearest_file, RbdError, ROBOT_FILES, SettingError
from rbd_ros.model.urdf.known_robots import known_robot, known_robots
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.model.urdf.resources import find_resource

LEVELS = ('debug', 'info', 'warn', 'error', 'fatal')
#: the name of a topic; a part in braces stands for a word that ROS fills in
TOPIC = r'(~?/)?[A-Za-z_{][\w{}]*(/[A-Za-z_{][\w{}]*)*'

#: every line can be typed as it is printed
NEXT = """
The simulated robot floats in gravity compensation. In another terminal, try:
  # watch the supervisor
  {ros2} topic echo --qos-reliability reliable --qos-durability transient_local \\
    {ns}/controller/state std_msgs/msg/String
  # hold this position
  {ros2} param set {ns}/controller mode hold
  # brake and hold, as after a fault; then continue
  {ros2} service call {ns}/controller/stop std_srvs/srv/Trigger
  {ros2} service call {ns}/controller/reset std_srvs/srv/Trigger
"""
NEXT_BUILT_IN = """\
  # float again, and push the arm
  {ros2} param set {ns}/controller mode gravity_compensation
  {ros2} topic pub --rate 50 --times 25 {ns}/simulator/wrench geometry_msgs/msg/WrenchStamped \\
    "{{header: {{frame_id: tool0}}, wrench: {{force: {{x: 15.0}}}}}}"
  # follow a trajectory
  {ros2} param set {ns}/controller mode computed_torque
  {ros2} topic pub --once {ns}/controller/joint_trajectory trajectory_msgs/msg/JointTrajectory \\
    "{{joint_names: [joint_1, joint_2, joint_3, joint_4, joint_5, joint_6, joint_7], points: \\
    [{{positions: [0.5, 0.4, 0.0, -1.2, 0.0, 0.8, 0.0], time_from_start: {{sec: 2}}}}]}}"
"""

NEXT_ON_FEET = """
The simulated robot stands on its feet. In another terminal, try:
  # push it to the left
  {ros2} topic pub --rate 50 --times 25 {ns}/simulator/wrench geometry_msgs/msg/WrenchStamped \\
    "{{header: {{frame_id: {base}}}, wrench: {{force: {{y: 20.0}}}}}}"
  # where its base is
  {ros2} topic echo {ns}/simulator/odometry --field pose.pose
  # put it back
  {ros2} service call {ns}/simulator/reset std_srvs/srv/Trigger
"""

REFUSED = """\
a real robot needs a parameter file of its own: the parameters of the simulated arm would drop or
lift it. Make one, answer the questions in it, and add params_file:={name} to your command:
  {ros2} run rbd_ros make_config {source} > {name}
With simulate:=true the robot is simulated instead."""
WAITING = """
The controller is waiting. When the driver and the robot are ready, run in another terminal:
  {ros2} lifecycle set {node} configure
  {ros2} lifecycle set {node} activate
"""


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments, then what starts."""
    share = FindPackageShare('rbd_ros')
    return LaunchDescription([
        DeclareLaunchArgument(
            'robot', default_value='',
            description='well-known robot to simulate, by name, such as panda or ur5; list: show '
                        'all names'),
        DeclareLaunchArgument(
            'params_file', default_value='',
            description='parameter file of the controller; required for a real robot ("ros2 run '
                        'rbd_ros make_config" writes one); empty: parameters for simulation'),
        DeclareLaunchArgument(
            'urdf', default_value='',
            description='URDF or xacro file of your robot; starts the controller alone, for a '
                        'real driver, unless simulate is true'),
        DeclareLaunchArgument(
            'use_robot_description', default_value='false', choices=['true', 'false'],
            description='take the robot from the topic robot_description; starts the '
                        'controller alone'),
        DeclareLaunchArgument(
            'simulate', default_value='auto', choices=['auto', 'true', 'false'],
            description='also start the simulator; auto: only without urdf and '
                        'use_robot_description'),
        DeclareLaunchArgument('namespace', default_value='',
                              description='namespace of nodes and topics'),
        DeclareLaunchArgument('use_sim_time', default_value='false', choices=['true', 'false'],
                              description='take time from /clock'),
        DeclareLaunchArgument('autostart', default_value='auto', choices=['auto', 'true', 'false'],
                              description='configure and activate automatically; auto: for a '
                                          'simulated robot, or if params_file says so'),
        DeclareLaunchArgument('joint_states', default_value='joint_states',
                              description='topic of the joint states'),
        DeclareLaunchArgument('commands', default_value='controller/commands',
                              description='topic of the commands, for instance '
                                          '/effort_controller/commands'),
        DeclareLaunchArgument('dashboard', default_value='false', choices=['true', 'false'],
                              description='also serve a web page that shows the robot'),
        DeclareLaunchArgument('dashboard_port', default_value='8080',
                              description='port of that page, on this machine only'),
        DeclareLaunchArgument('allow_commands', default_value='auto',
                              choices=['auto', 'true', 'false'],
                              description='whether the page may drive the robot; auto: only a '
                                          'simulated one'),
        DeclareLaunchArgument('rviz', default_value='false', choices=['true', 'false'],
                              description='also start RViz, if it is installed'),
        DeclareLaunchArgument('log_level', default_value='info',
                              description='debug, info, warn, error or fatal'),
        OpaqueFunction(function=_mistyped),
        OpaqueFunction(function=_list, condition=IfCondition(_listed())),
        GroupAction([
            OpaqueFunction(function=_named), OpaqueFunction(function=_check),
            *_simulation(share), OpaqueFunction(function=_controller),
            OpaqueFunction(function=_dashboard, condition=IfCondition(
                LaunchConfiguration('dashboard'))),
            OpaqueFunction(function=_rviz, condition=IfCondition(LaunchConfiguration('rviz'))),
        ], scoped=False, condition=UnlessCondition(_listed())),
    ])


def _mistyped(context: LaunchContext) -> list[Action]:
    """Name arguments that nobody asked for and that look like one of ours; launch says nothing."""
    folder = Path(FindPackageShare('rbd_ros').perform(context)) / 'launch'
    included = PythonLaunchDescriptionSource(str(folder / 'simulator.launch.py'))
    known = {argument.name for description in (
        generate_launch_description(), included.get_launch_description(context))
        for argument in description.get_launch_arguments()}
    others = [name for name in context.launch_configurations if name not in known]
    return [*(LogInfo(msg=f'{name}:= is not an argument here and has no effect{near}')
              for name in others if name not in defaults()
              and (near := nearest(name, known) or nearest(name, defaults()))),
            *(LogInfo(msg=f'{name}:= is not an argument here and has no effect: it is a parameter '
                          f'of the controller. Write it in params_file, or type {_ros2()} param '
                          f'set {_node(context)} {name} VALUE when the controller runs')
              for name in others if name in defaults())]


def _listed() -> PythonExpression:
    """Return whether the names of robots are asked for, and nothing else."""
    return PythonExpression(['"', LaunchConfiguration('robot'), '" == "list"'])


def _list(context: LaunchContext) -> list[Action]:
    """Show the robots that have a name."""
    rows = [f'  {robot.name:10} {robot.title} ({robot.licence})'
            for robot in known_robots().values()]
    return [LogInfo(msg='\n'.join(['', 'robots by name, and the licences of their descriptions:',
                                   *rows]))]


def _named(context: LaunchContext) -> list[Action]:
    """Take description and parameters of a robot by its name; simulate it if nobody objects."""
    name = LaunchConfiguration('robot').perform(context)
    if not name:
        return []
    if (LaunchConfiguration('urdf').perform(context)
            or LaunchConfiguration('use_robot_description').perform(context) == 'true'):
        raise RuntimeError(f'robot:={name} and another description are given: leave one out')
    try:
        robot = known_robot(name)
        find_resource(robot.address)
    except RbdError as error:
        raise RuntimeError(f'robot:={name}: {error}') from error
    wanted = {'urdf': robot.address}
    share = FindPackageShare('rbd_ros').perform(context)
    file = os.path.join(share, 'config', robot.parameters)
    if robot.base == 'floating':
        wanted |= _on_its_feet(context, name, file)
    elif LaunchConfiguration('simulate').perform(context) != 'false':
        wanted['simulate'] = 'true'
        if not LaunchConfiguration('params_file').perform(context):
            wanted['params_file'] = file
        if _speaks_of(file, '/simulator') and (
                'simulator_params_file' not in context.launch_configurations):
            wanted['simulator_params_file'] = file
    return [LogInfo(msg=f'{robot.title}; its description, from {robot.package}, is under '
                        f'{robot.licence}'),
            *(SetLaunchConfiguration(key, value) for key, value in wanted.items())]


def _on_its_feet(context: LaunchContext, name: str, file: str) -> dict[str, str]:
    """Return what a robot on legs needs: another node holds it, answering each state in turn."""
    if (LaunchConfiguration('simulate').perform(context) == 'false'
            or LaunchConfiguration('params_file').perform(context)):
        raise RuntimeError(f'robot:={name} is a legged robot: it is simulated, and held by the '
                           f'node "stand", not by the controller, which is for robots with a '
                           f'fixed base. Leave out simulate and params_file')
    return {'legged': 'true', 'simulate': 'true', 'lockstep': 'true',
            'command_type': 'joint_state', 'params_file': file,
            'simulator_params_file': context.launch_configurations.get(
                'simulator_params_file', file)}


def _legged(context: LaunchContext) -> bool:
    """Return whether the robot stands on its feet."""
    return context.launch_configurations.get('legged') == 'true'


def _speaks_of(file: str, node: str) -> bool:
    """Return whether a parameter file has something for a node."""
    try:
        return bool(read_file(file, node))
    except SettingError:
        return False


def _check(context: LaunchContext) -> list[Action]:
    """Refuse what cannot be used before anything starts: launch leaves behind what it started."""
    _check_words(context)
    if _legged(context):
        return []
    simulated = _wanted().evaluate(context)
    urdf = LaunchConfiguration('urdf').perform(context)
    file = LaunchConfiguration('params_file').perform(context)
    if urdf and '://' not in urdf and urdf not in known_robots() and not Path(urdf).is_file():
        raise RuntimeError(f'urdf:={urdf}: there is no such file'
                           f'{nearest_file(urdf, ROBOT_FILES)}')
    if not file and not simulated:
        topic = _node(context).removesuffix('controller') + 'robot_description'
        raise RuntimeError(REFUSED.format(
            ros2=_ros2(), source=f'--urdf {shlex.quote(urdf)}' if urdf else f'--topic {topic}',
            name=shlex.quote(f'{Path(urdf).name.partition(".")[0] or "my_robot"}.yaml')))
    if not file:  # the built-in arm has numbers of its own
        share = FindPackageShare('rbd_ros').perform(context)
        file = os.path.join(share, 'config', 'simulated.yaml' if urdf else 'controller.yaml')
    given = _read(context, file)
    if not simulated:
        _require(file, given)
    autostart = LaunchConfiguration('autostart').perform(context)
    if autostart == 'auto':
        autostart = 'true' if simulated or given.get('autostart') else 'false'
    return [SetLaunchConfiguration('params_file', file),
            SetLaunchConfiguration('autostart', autostart),
            *([] if autostart == 'true' else [LogInfo(msg=WAITING.format(
                ros2=_ros2(), node=_node(context)))])]


def _check_words(context: LaunchContext) -> None:
    """Refuse words that the nodes would refuse, each in its own way, or would not notice."""
    port = LaunchConfiguration('dashboard_port').perform(context)
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise RuntimeError(f'dashboard_port:={port}: a port is a number from 1 to 65535')
    name = LaunchConfiguration('namespace').perform(context)
    parts = name.strip('/').split('/') if name.strip('/') else []
    if not all(re.fullmatch('[A-Za-z_][A-Za-z0-9_]*', each) for each in parts):
        raise RuntimeError(f'namespace:={name}: a namespace has letters, digits and _ only, and '
                           'does not begin with a digit')
    for argument in ('joint_states', 'commands'):
        topic = LaunchConfiguration(argument).perform(context)
        if not re.fullmatch(TOPIC, topic):
            raise RuntimeError(f'{argument}:={topic}: the name of a topic has letters, digits, _ '
                               f'and / only, such as /{argument}')
    level = LaunchConfiguration('log_level').perform(context)
    if level.rpartition(':=')[2].lower() not in LEVELS:
        raise RuntimeError(f'log_level:={level}: it must be one of {", ".join(LEVELS)}')
    if (LaunchConfiguration('urdf').perform(context) and not LaunchConfiguration(
            'robot').perform(context) and LaunchConfiguration(
            'use_robot_description').perform(context) == 'true'):
        raise RuntimeError('urdf and use_robot_description:=true are both given: leave one out')


def _read(context: LaunchContext, file: str) -> dict[str, Any]:
    """Return what a parameter file gives the controller."""
    try:
        return check_file(file, _node(context))
    except SettingError as error:
        raise RuntimeError(str(error)) from error


def _require(file: str, given: dict[str, Any]) -> None:
    """Refuse a file for a real robot that leaves open what nobody else can know."""
    missing = [name for name in ('driver_adds', 'effort_is_torque') if name not in given]
    if missing:
        raise RuntimeError(f'params_file "{file}" does not give {" and ".join(missing)}: choose a '
                           'value, in the file that make_config printed by removing the # from '
                           'one line of each; docs/connect_your_robot.md explains them')
    reasons = activation_refusals({**defaults(), **given})
    if reasons:
        raise RuntimeError(f'params_file "{file}": ' + '; '.join(reasons))


def _node(context: LaunchContext) -> str:
    """Return the name of the controller with its namespace."""
    name = LaunchConfiguration('namespace').perform(context).strip('/')
    return f'/{name}/controller' if name else '/controller'


def _ros2() -> str:
    """Return how the user calls ros2."""
    return './run ros2' if os.environ.get('RBD_ROS_RUN') else 'ros2'


def _controller(context: LaunchContext) -> list[Action]:
    """Return the controller with what the arguments say; an empty urdf says nothing."""
    if _legged(context):
        return [_stand()]
    parameters: dict[str, bool | str | ParameterValue] = {
        name: ParameterValue(LaunchConfiguration(name), value_type=bool)
        for name in ('use_sim_time', 'autostart')}
    if _wanted().evaluate(context):  # what is simulated must be spoken to in its own way
        parameters |= {'driver_adds': 'none', 'effort_is_torque': True}
        if _given(context, 'release_torque') is None:  # the driver keeps it until its brakes close
            parameters['release_torque'] = 'gravity'
        parameters['command_type'] = ParameterValue(
            LaunchConfiguration('command_type'), value_type=str)
    if LaunchConfiguration('urdf').perform(context):
        parameters['robot_description_file'] = ParameterValue(
            LaunchConfiguration('urdf'), value_type=str)
    return [Node(
        package='rbd_ros', executable='controller', name='controller', output='screen',
        namespace=LaunchConfiguration('namespace'),
        arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
        remappings=[('joint_states', LaunchConfiguration('joint_states')),
                    ('~/commands', LaunchConfiguration('commands'))],
        parameters=[LaunchConfiguration('params_file'), parameters])]


def _stand() -> Node:
    """Return the node that keeps a robot on its feet, in the place of the controller."""
    return Node(
        package='rbd_ros', executable='stand', name='stand', output='screen',
        namespace=LaunchConfiguration('namespace'),
        arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
        remappings=[('joint_states', LaunchConfiguration('joint_states')),
                    ('controller/commands', LaunchConfiguration('commands'))],
        parameters=[LaunchConfiguration('params_file'), {
            'robot_description_file': ParameterValue(LaunchConfiguration('urdf'), value_type=str),
            'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)}])


def _dashboard(context: LaunchContext) -> list[Action]:
    """Return the web page; it drives a real robot only if that was asked for."""
    allowed = LaunchConfiguration('allow_commands').perform(context)
    if allowed == 'auto':
        allowed = 'true' if _wanted().evaluate(context) else 'false'
    parameters: dict[str, bool | str | int | list[str] | ParameterValue] = {
        'allow_commands': allowed == 'true', 'frame': _given(context, 'task.frame') or '',
        'port': ParameterValue(LaunchConfiguration('dashboard_port'), value_type=int),
        'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)}
    if _given(context, 'joints'):
        parameters['joints'] = list(_given(context, 'joints'))
    if LaunchConfiguration('urdf').perform(context):
        parameters['robot_description_file'] = ParameterValue(
            LaunchConfiguration('urdf'), value_type=str)
    return [Node(
        package='rbd_ros', executable='dashboard', name='dashboard', output='screen',
        namespace=LaunchConfiguration('namespace'),
        remappings=[('joint_states', LaunchConfiguration('joint_states')),
                    ('controller/commands', LaunchConfiguration('commands'))],
        parameters=[parameters])]


def _rviz(context: LaunchContext) -> list[Action]:
    """Return RViz with what there is to see, or the reason why not."""
    try:
        get_package_prefix('rviz2')
    except PackageNotFoundError:
        return [LogInfo(msg='rviz:=true: the package rviz2 is not installed here; dashboard:=true '
                            'shows the robot in a browser')]
    share = FindPackageShare('rbd_ros').perform(context)
    return [Node(package='rviz2', executable='rviz2', name='rviz', output='screen',
                 namespace=LaunchConfiguration('namespace'),
                 arguments=['-d', os.path.join(share, 'config', 'rbd_ros.rviz')])]


def _wanted() -> IfCondition:
    """Return whether the robot is to be simulated."""
    return IfCondition(PythonExpression([
        '"', LaunchConfiguration('simulate'), '" == "true" or ("', LaunchConfiguration('simulate'),
        '" == "auto" and not "', LaunchConfiguration('urdf'), '" and "',
        LaunchConfiguration('use_robot_description'), '" == "false")']))


def _simulation(share: FindPackageShare) -> list[Action]:
    """Return the simulated robot and advice, unless the controller starts alone."""
    file = PathJoinSubstitution([share, 'launch', 'simulator.launch.py'])
    return [
        OpaqueFunction(function=_commanded, condition=_wanted()),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(file), condition=_wanted(),
            launch_arguments={'publish_clock': LaunchConfiguration('use_sim_time')}.items()),
        OpaqueFunction(function=_advice, condition=_wanted()),
    ]


def _commanded(context: LaunchContext) -> list[Action]:
    """Let the simulated robot take commands for the joints that the controller is given."""
    joints = _given(context, 'joints')
    if context.launch_configurations.get('joints') or not joints:
        return []
    return [SetLaunchConfiguration('joints', ','.join(joints))]


def _given(context: LaunchContext, name: str) -> Any:
    """Return what the parameter file gives the controller; None: nothing."""
    if _legged(context):  # there is no controller
        return None
    return _read(context, LaunchConfiguration('params_file').perform(context)).get(name)


def _advice(context: LaunchContext) -> list[Action]:
    """Say what to try, with the names that it has here."""
    if _legged(context):
        return [LogInfo(msg=NEXT_ON_FEET.format(
            ros2=_ros2(), ns=_node(context).removesuffix('/controller'),
            base=load_urdf(
                LaunchConfiguration('robot').perform(context),
                on_warning=lambda text: None).body_names[0]))]
    text = NEXT if LaunchConfiguration('urdf').perform(context) else NEXT + NEXT_BUILT_IN
    return [LogInfo(msg=text.format(
        ros2=_ros2(), ns=_node(context).removesuffix('/controller')))]

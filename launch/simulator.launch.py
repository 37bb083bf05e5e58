# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Start a simulated robot that stands in for a driver."""

from launch import Action, LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments, then the node."""
    parameters = PathJoinSubstitution([FindPackageShare('rbd_ros'), 'config', 'simulator.yaml'])
    return LaunchDescription([
        DeclareLaunchArgument('simulator_params_file', default_value=parameters,
                              description='parameters of the simulator, YAML'),
        DeclareLaunchArgument('urdf', default_value='',
                              description='URDF or xacro file; empty: the built-in arm'),
        DeclareLaunchArgument('namespace', default_value='',
                              description='namespace of node and topics'),
        DeclareLaunchArgument('lockstep', default_value='false', choices=['true', 'false'],
                              description='integrate only when the last state was answered'),
        DeclareLaunchArgument('command_type', default_value='float64_multi_array',
                              choices=['float64_multi_array', 'joint_state', 'motor_array',
                                       'motor_joint_state'],
                              description='message type of the commands; controller.launch.py '
                                          'passes it to the controller'),
        DeclareLaunchArgument('joint_states', default_value='joint_states',
                              description='topic of the joint states'),
        DeclareLaunchArgument('commands', default_value='controller/commands',
                              description='topic of the commands'),
        DeclareLaunchArgument('publish_clock', default_value='false', choices=['true', 'false'],
                              description='publish simulated time on /clock'),
        DeclareLaunchArgument('log_level', default_value='info',
                              description='debug, info, warn, error or fatal'),
        DeclareLaunchArgument('joints', default_value='',
                              description='joints that take commands, in their order, separated '
                                          'by commas; empty: all; controller.launch.py takes '
                                          'them from params_file'),
        OpaqueFunction(function=_simulator),
    ])


def _simulator(context: LaunchContext) -> list[Action]:
    """Return the node with what the arguments say; no joints say nothing."""
    parameters: dict[str, list[str] | ParameterValue] = {
        'robot_description_file': ParameterValue(LaunchConfiguration('urdf'), value_type=str),
        'lockstep': ParameterValue(LaunchConfiguration('lockstep'), value_type=bool),
        'command_type': ParameterValue(LaunchConfiguration('command_type'), value_type=str),
        'publish_clock': ParameterValue(LaunchConfiguration('publish_clock'), value_type=bool)}
    joints = LaunchConfiguration('joints').perform(context)
    if joints:
        parameters['joints'] = [name.strip() for name in joints.split(',')]
    return [Node(
        package='rbd_ros', executable='simulator', name='simulator', output='screen',
        namespace=LaunchConfiguration('namespace'),
        arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
        remappings=[('joint_states', LaunchConfiguration('joint_states')),
                    ('controller/commands', LaunchConfiguration('commands'))],
        parameters=[LaunchConfiguration('simulator_params_file'), parameters])]

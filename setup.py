# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Installation of the ROS 2 package rbd_ros."""

from glob import glob
from pathlib import Path
import re

from setuptools import find_packages, setup

package_name = 'rbd_ros'
share = f'share/{package_name}'


def readme() -> str:
    """Return the README as an index shows it: links into the checkout would lead nowhere there."""
    file = Path(__file__).with_name('README.md')
    text = file.read_text(encoding='utf-8') if file.exists() else ''
    without_pictures = re.sub(r'!\[[^]]*\]\((?!https?:)[^)]*\)\n*', '', text)
    return re.sub(r'\[([^]]*)\]\((?!https?:)[^)]*\)', r'\1', without_pictures)


setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(include=['rbd_ros', 'rbd_ros.*']),
    package_data={'rbd_ros': ['py.typed'], 'rbd_ros.nodes': ['*.xml'],
                  'rbd_ros.learn': ['*.md'], 'rbd_ros.model.urdf': ['*.csv'],
                  'rbd_ros.command_line.ros2_control': [
                      'robot/*.c', 'rbd_controller/*', 'rbd_controller/*/*',
                      'rbd_controller/*/*/*'],
                  'rbd_ros.command_line.embedded': ['*.in']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{package_name}']),
        (share, ['package.xml']),
        (f'{share}/launch', glob('launch/*.launch.*')),
        (f'{share}/config', glob('config/*.yaml') + glob('config/*.rviz')),
        (f'{share}/config/layouts', glob('config/layouts/*')),
        (f'{share}/config/legged', glob('config/legged/*')),
        (f'{share}/urdf', glob('urdf/*.urdf')),
        # the nodes are found by ros2 run and launch files, not by a shell
        (f'lib/{package_name}', glob('scripts/*')),
    ],
    python_requires='>=3.10',
    install_requires=['llvmlite>=0.44', 'numpy>=1.26,<3', 'PyYAML>=5.4', 'rich>=13.7,<16',
                      'scipy>=1.11', 'setuptools', 'typer>=0.9,<1'],
    zip_safe=False,
    maintainer='rbd_ros developers',
    maintainer_email='rbd_ros@example.org',
    description='Rigid-body dynamics after Featherstone, compiled for your robot.',
    long_description=readme(),
    long_description_content_type='text/markdown',
    author='rbd_ros developers',
    author_email='rbd_ros@example.org',
    license='Apache-2.0',
    license_files=['LICENSE'],
    keywords=['robotics', 'rigid-body dynamics', 'ROS 2', 'torque control', 'URDF'],
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Developers',
        'Intended Audience :: Science/Research',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3 :: Only',
        *(f'Programming Language :: Python :: 3.{minor}' for minor in range(10, 15)),
        'Programming Language :: Python :: Implementation :: CPython',
        'Topic :: Scientific/Engineering',
        'Topic :: Scientific/Engineering :: Physics',
        'Typing :: Typed',
    ],
    extras_require={
        'cluster': ['dask', 'distributed', 'ray'],
        'contact': ['clarabel'],
        'dashboard': ['pycollada', 'trimesh>=4,<6', 'viser>=1,<2', 'websockets>=13.1,<17'],
        'identification': ['clarabel', 'mcap', 'rosbags'],
        'jax': ['jax>=0.5'],
        'learn': ['jupyterlab>=4,<5', 'trimesh>=4,<6', 'viser>=1,<2', 'websockets>=13.1,<17'],
        'meshes': ['coal'],
        'plot': ['matplotlib>=3.6,<4', 'mcap', 'rosbags'],
        'test': ['pytest'],
        'torch': ['torch>=2.4'],
    },
    entry_points={
        'console_scripts': [
            'rbd = rbd_ros.command_line.__main__:main',
        ],
    },
)

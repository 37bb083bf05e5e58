# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which transports a process gets: none of them waits for another process."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from rbd_ros.nodes import transport
from rbd_ros.nodes.transport import avoid_shared_memory

FAST = 'rmw_fastrtps_cpp'
PROFILES = str(Path(transport.__file__).parent / 'network_only.xml')
ON_THIS_MACHINE = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET',
                   'FASTRTPS_DEFAULT_PROFILES_FILE': PROFILES}


@pytest.mark.parametrize(('given', 'expected'), [
    ({}, {'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4'}),
    ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'},
     {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET', 'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4'}),
    ({'ROS_LOCALHOST_ONLY': '0'},
     {'ROS_LOCALHOST_ONLY': '0', 'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4'}),
    ({'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST', 'ROS_DOMAIN_ID': '7'},
     {**ON_THIS_MACHINE, 'ROS_DOMAIN_ID': '7'}),
    ({'ROS_LOCALHOST_ONLY': '1'}, ON_THIS_MACHINE),
])
def test_shared_memory_is_left_out(given: dict[str, str], expected: dict[str, str]) -> None:
    """Each discovery range keeps its reach and loses its shared memory."""
    assert avoid_shared_memory(FAST, given)
    assert given == expected


@pytest.mark.parametrize('chosen', [
    {'FASTDDS_BUILTIN_TRANSPORTS': 'SHM'}, {'FASTRTPS_DEFAULT_PROFILES_FILE': '/my/profiles.xml'},
])
def test_what_the_user_chose_stays(chosen: dict[str, str]) -> None:
    """Who configures Fast DDS gets what is configured."""
    for more in ({}, {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}):
        given = {**chosen, **more}
        assert not avoid_shared_memory(FAST, given)
        assert given == {**chosen, **more}


def test_other_middlewares_are_left_alone() -> None:
    """The variables are those of Fast DDS, and so is the lock."""
    given = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    assert not avoid_shared_memory('rmw_cyclonedds_cpp', given)
    assert given == {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}


def test_the_profile_has_one_transport_and_one_peer() -> None:
    """It is UDP, and nobody outside this machine is asked."""
    name = {'': 'http://www.eprosima.com'}
    root = ElementTree.parse(PROFILES).getroot()
    assert [e.text for e in root.iterfind('.//transport_descriptor/type', name)] == ['UDPv4']
    assert [e.text for e in root.iterfind('.//useBuiltinTransports', name)] == ['false']
    assert [e.text for e in root.iterfind('.//initialPeersList//address', name)] == ['127.0.0.1']
    assert root.find('.//metatrafficUnicastLocatorList/locator/udpv4', name) is not None

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

"""Guards against a second publisher of a reference, or of the output."""

from rbd_ros.nodes.controller.publisher_guards import Access, OutputGuard, ReferenceGuard


def test_two_publishers_of_a_reference():
    """While a topic has two publishers its messages are dropped; the change is reported once."""
    guard = ReferenceGuard()
    assert guard.accept()
    assert guard.publishers(2)
    assert not guard.publishers(2)
    assert not guard.accept()
    assert not guard.publishers(1)
    assert guard.accept()


def test_second_publisher_on_the_output():
    """A second publisher is waited for up to 25 s, with the reason, and then refused."""
    guard = OutputGuard()
    access, text = guard.check(0.0, 1)
    assert access is Access.WAIT
    assert '10-20 s' in text
    assert guard.check(24.9, 1)[0] is Access.WAIT
    assert guard.check(25.0, 1)[0] is Access.REFUSED
    assert guard.check(0.0, 1)[0] is Access.WAIT
    assert guard.check(20.0, 0)[0] is Access.FREE

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

"""The numbers of causes are those of their list, and say the same about each."""

from __future__ import annotations

from rbd_ros.control.interface.causes import Cause, Reaction
from rbd_ros.control.interface.cause_codes import (
    CauseCode, CAUSES, is_by_operator, is_cause, is_final, is_good, is_lost)


def test_causes_have_the_same_numbers_and_families():
    """Each cause has its place as number; the families follow from it."""
    assert [code.name for code in CauseCode] == [cause.name for cause in Cause]
    assert [int(code) for code in CauseCode] == list(range(CAUSES))
    for code, cause in enumerate(Cause):
        assert is_lost(code) is (cause.reaction is Reaction.LOST)
        assert is_good(code) is (cause.reaction is Reaction.GOOD)
        assert is_final(code) is (cause.reaction is Reaction.FINAL)
        assert is_by_operator(code) is cause.by_operator
        assert is_cause(code)
    assert not is_cause(-1) and not is_cause(CAUSES)

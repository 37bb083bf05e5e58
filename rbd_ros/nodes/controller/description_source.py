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

"""Where the description of the robot comes from: a parameter, a file or the latched topic."""

from __future__ import annotations

from rbd_ros.errors import ModelError
from rbd_ros.nodes.description import description_text

__all__ = ['DescriptionSource']


class DescriptionSource:
    """What was heard on the topic, and which source counts."""

    def __init__(self) -> None:
        """Start with nothing heard."""
        self.topic_text = ''

    def find(self, text: str, file: str) -> tuple[str, str]:
        """
        Return the URDF in force and where it came from; both empty while there is none.

        :param text: parameter robot_description.
        :param file: parameter robot_description_file.
        """
        if text.strip() and file.strip():
            raise ModelError('robot_description and robot_description_file are both given: '
                             'choose one')
        if text.strip():
            return text, 'the parameter robot_description'
        if file.strip():
            return description_text('', file.strip()), f'the file {file.strip()}'
        if self.topic_text:
            return self.topic_text, 'the topic robot_description'
        return '', ''

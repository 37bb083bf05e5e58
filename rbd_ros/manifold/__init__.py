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

"""
Constrained systems on their manifold (Spencer, MS thesis, Iowa State University, 2004).

Letters are Featherstone's, as everywhere else: K and k of K qdd = k, and G and g of
qdd = G ydd + g. The thesis calls the first G and -dG/dt v, the second K and dK/dt dy/dt, and
its multipliers have the other sign. Numbers in comments are its equations.
"""

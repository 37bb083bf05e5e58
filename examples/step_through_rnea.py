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

"""What happens inside the recursive Newton-Euler algorithm? RBDA Table 5.1, step by step."""

import numpy as np

import rbd_ros
from rbd_ros.kinematics import links
from rbd_ros.spatial import Force, Motion, Vec3

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
q, qd, qdd = [0.1 * k for k in range(7)], [0.5] * 7, [1.0] * 7

Xup, S = links(model, q)                                # ^iX_parent and the columns of S
v, a, f = [Motion.zero()], [Motion(Vec3.zero(), -Vec3(*model.gravity))], [Force.zero()]
for i in range(1, model.nb + 1):                        # outward
    p, s, I = model.parent[i], S[i][0], model.inertia[i]
    v_J = s * qd[i - 1]
    v.append(Xup[i] @ v[p] + v_J)                                                   # 5.14
    a.append(Xup[i] @ a[p] + s * qdd[i - 1] + v[i].cross(v_J))                      # 5.15
    f.append(I @ a[i] + v[i].cross(I @ v[i]))                                       # 5.9
    print(f'{model.body_names[i]}: v = {np.round(v[i].to_list(), 3)}')
    print(f'        a = {np.round(a[i].to_list(), 3)}  (true minus g)')
tau = [0.0] * model.nv
for i in range(model.nb, 0, -1):                        # inward
    tau[i - 1] = S[i][0].dot(f[i])                                                  # 5.11
    print(f'{model.joint_names[i - 1]}: f = {np.round(f[i].to_list(), 3)}, tau = {tau[i - 1]:.4f}')
    f[model.parent[i]] = f[model.parent[i]] + Xup[i].inv_apply(f[i])                # 5.20

# The library's own source does the same; set a breakpoint in rbd_ros.inverse.rnea.
reference = rbd_ros.inverse_dynamics(model, q, qd, qdd)
print('largest difference to the library:', np.abs(reference - tau).max())

# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A tree of ours as a model of Pinocchio: every joint type, without a URDF in between."""

import numpy as np
import pinocchio as pin
from rbd_ros.joints.directions import across

#: Order of our velocity variables in Pinocchio's, where the two differ.
ORDER = {'free': [3, 4, 5, 0, 1, 2], 'planar': [1, 2, 0], 'rollpitchyaw': [2, 1, 0]}


class PinocchioTree:
    """
    A model of Pinocchio that is the same tree, with the maps between the coordinates.

    :param model: any tree of the joint types of ``samples.JOINTS``.
    """

    def __init__(self, model):
        self.model, self.pin = model, pin.Model()
        self.pin.gravity.linear = np.array(model.gravity)
        offset = [pin.SE3.Identity()]               # of our body frame in Pinocchio's joint frame
        self.B = np.zeros((model.nv, model.nv))     # v_pin = B v
        for i in range(1, model.nb + 1):
            joint, p = model.joint[i], model.parent[i]
            turned = pin.SE3.Identity()
            if joint.type_name == 'planar':         # theirs is about z
                u, v = across(joint.normal)
                turned = pin.SE3(np.array([list(u), list(v), joint.normal]).T, np.zeros(3))
            E, r = np.array(model.X_T[i].E.to_list()), np.array(list(model.X_T[i].r))
            self.pin.addJoint(p, _joint(joint), offset[p] * pin.SE3(E.T, r) * turned, f'joint_{i}')
            offset.append(turned.inverse())
            body = model.inertia[i]
            c = np.array(list(body.h)) / body.m
            I = np.array(body.I.to_list()) - body.m * (c @ c * np.eye(3) - np.outer(c, c))
            self.pin.appendBodyToJoint(i, pin.Inertia(body.m, c, I), offset[i])
            at = model.v_index[i]
            order = ORDER.get(joint.type_name, range(joint.nv))
            self.B[range(at.start, at.stop), [at.start + k for k in order]] = 1.0
        self.data = self.pin.createData()
        self.offset = offset

    def position(self, q):
        """Return a position in Pinocchio's coordinates."""
        parts = []
        for i in range(1, self.model.nb + 1):
            joint, x = self.model.joint[i], list(q[self.model.q_index[i]])
            if joint.type_name == 'planar':
                x = [x[1], x[2], np.cos(x[0]), np.sin(x[0])]
            parts += x[::-1] if joint.type_name == 'rollpitchyaw' else x
        return np.array(parts)

    def matrices(self, found):
        """Return matrices over velocity variables in our coordinates."""
        return [self.B.T @ M @ self.B for M in found]


def pinned_loop(model):
    """Return qdd(q, v, tau) of Pinocchio, with the ends of the first loop pinned to each other."""
    tree, loop = PinocchioTree(model), model.loops[0]
    ends = [pin.SE3(np.eye(3), np.array(list(X.r))) for X in (loop.X_P, loop.X_S)]
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, tree.pin, loop.predecessor, ends[0], loop.successor, ends[1],
        pin.ReferenceFrame.LOCAL))
    datas.append(models[0].createData())
    pin.initConstraintDynamics(tree.pin, tree.data, models, datas)
    settings = pin.ProximalSettings(1e-12, 1e-10, 20)
    return lambda q, v, tau: pin.constraintDynamics(
        tree.pin, tree.data, q, v, tau, models, datas, settings).copy()


def _joint(joint):
    """Return Pinocchio's joint of the same kind."""
    kind = joint.type_name
    if kind == 'cylindrical':
        both = pin.JointModelComposite()
        both.addJoint(pin.JointModelRevoluteUnaligned(*joint.axis))
        both.addJoint(pin.JointModelPrismaticUnaligned(*joint.axis))
        return both
    if kind == 'universal':
        return pin.JointModelUniversal(np.array(joint.axis1), np.array(joint.axis2))
    if kind == 'helical':
        return pin.JointModelHelicalUnaligned(*joint.axis, joint.pitch)
    if kind in ('revolute', 'prismatic'):
        return {'revolute': pin.JointModelRevoluteUnaligned,
                'prismatic': pin.JointModelPrismaticUnaligned}[kind](*joint.axis)
    return {'planar': pin.JointModelPlanar, 'spherical': pin.JointModelSpherical,
            'free': pin.JointModelFreeFlyer, 'translation': pin.JointModelTranslation,
            'rollpitchyaw': pin.JointModelSphericalZYX}[kind]()

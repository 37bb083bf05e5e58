# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Gradients for PyTorch: against finite differences, under all of its transformations."""

from __future__ import annotations

import pickle

from gradient_rig import arm, QUANTITIES, ROBOTS, satellite, states, target_of
import numpy as np
import pytest
import rbd_ros
from rbd_ros.errors import RbdError, ShapeError
from rbd_ros.gradients.functions import Function
from rbd_ros.gradients.torch import TorchDynamics
import torch


def tensors(robot, name, *lead, dtype=torch.float64, device='cpu'):
    """Return inputs of a quantity that take part in gradients."""
    return [torch.tensor(x, dtype=dtype, device=device, requires_grad=True)
            for x in states(robot, name, *lead)]


@pytest.mark.parametrize('name', QUANTITIES)
@pytest.mark.parametrize('make', ROBOTS.values(), ids=ROBOTS)
def test_gradcheck(make, name):
    """Backward and forward gradients are those of finite differences, of one state and many."""
    robot = make()
    function = getattr(TorchDynamics(robot), name)
    rest = target_of(robot, name)
    # Central differences with 1e-6 of numbers up to some 100 are good to 1e-7.
    for lead in ((), (2,)):
        assert torch.autograd.gradcheck(
            lambda *x: function(*x, *rest), tensors(robot, name, *lead), atol=1e-5,
            check_forward_ad=True, check_batched_grad=False)


@pytest.mark.parametrize('name', ['inverse_dynamics', 'forward_dynamics'])
@pytest.mark.parametrize('scalar', ['float64', 'float32'])
@pytest.mark.parametrize('device', ['emulation', 'cuda'])
def test_device(name, scalar, device):
    """Kernels of a GPU, there or emulated, give values and gradients of the processor."""
    if device == 'cuda' and not torch.cuda.is_available():
        pytest.skip('this machine has no GPU')
    robot, kind = satellite(), getattr(torch, scalar)
    gpu = TorchDynamics(robot.on(device, scalar=scalar))
    mine = tensors(robot, name, 3, dtype=kind, device='cuda' if device == 'cuda' else 'cpu')
    theirs = tensors(robot, name, 3)
    found, expected = getattr(gpu, name)(*mine), getattr(TorchDynamics(robot), name)(*theirs)
    assert found.dtype == kind and found.device == mine[0].device
    (found * found).sum().backward()
    (expected * expected).sum().backward()
    for a, b in zip([found, *[x.grad for x in mine]], [expected, *[x.grad for x in theirs]],
                    strict=True):
        largest = max(1.0, float(b.detach().abs().max()))
        assert (a.cpu().double() - b).abs().max() < largest * (
            2e-4 if scalar == 'float32' else 2e-11)


def test_shared_inputs_and_axes():
    """Leading axes broadcast; what all states share gets the sum of the gradients."""
    robot = arm()
    torch_robot = TorchDynamics(robot)
    q, *_ = tensors(robot, 'inverse_dynamics', 2, 3)
    single = torch.zeros(7, dtype=torch.float64, requires_grad=True)
    row = torch.zeros(3, 7, dtype=torch.float64, requires_grad=True)
    tau = torch_robot.inverse_dynamics(q, row, single)
    assert tau.shape == (2, 3, 7)
    tau.sum().backward()
    H = robot.mass_matrix(q.detach().numpy().reshape(6, 7))
    np.testing.assert_allclose(single.grad, H.sum(axis=(0, 1)), rtol=1e-12)
    assert row.grad.shape == (3, 7) and q.grad.shape == (2, 3, 7)
    assert torch_robot.gravity(torch.zeros(0, 7, dtype=torch.float64)).shape == (0, 7)


def test_no_copy(monkeypatch):
    """A contiguous tensor of float64 is what the robot computes with."""
    seen, value = [], Function.value
    monkeypatch.setattr(Function, 'value', lambda self, *x: (
        seen.append(x[0].ctypes.data), value(self, *x))[1])
    q = torch.zeros(4, 7, dtype=torch.float64)
    TorchDynamics(arm()).gravity(q)
    assert seen == [q.data_ptr()]


def test_torch_func():
    """Derivatives under ``vmap`` and by ``jacrev`` and ``jacfwd`` are those of the robot."""
    robot = arm()
    functions = TorchDynamics(robot)
    q, qd, qdd = [x.detach() for x in tensors(robot, 'inverse_dynamics', 3)]
    expected = robot.inverse_dynamics_derivatives(*[x.numpy() for x in (q, qd, qdd)])
    for way in (torch.func.jacrev, torch.func.jacfwd):
        found = torch.func.vmap(way(functions.inverse_dynamics, (0, 1, 2)))(q, qd, qdd)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    shared = torch.func.vmap(functions.inverse_dynamics, (0, None, 0))(q, qd[0], qdd)
    np.testing.assert_allclose(
        shared, robot.inverse_dynamics(q.numpy(), qd[0].numpy(), qdd.numpy()), rtol=1e-12)


def test_own_quantity():
    """A quantity of the user is differentiated as it is traced; defined anew, it is another."""
    robot = rbd_ros.Dynamics(arm().model)
    functions = TorchDynamics(robot)
    for factor in (2.0, 3.0):
        robot.define('work', inputs=['q', 'tau'], rule=lambda s: {
            'work': [factor * sum(a * b for a, b in zip(s.inputs['q'], s.inputs['tau']))]})
        q, tau = (torch.rand(5, 7, dtype=torch.float64, requires_grad=True) for _ in range(2))
        functions.work(q, tau).sum().backward()
        np.testing.assert_allclose(q.grad, factor * tau.detach())
        np.testing.assert_allclose(tau.grad, factor * q.detach())


def test_learning():
    """A position is found by its gravity torques, by descent along gradients."""
    robot = arm()
    functions = TorchDynamics(robot)
    wanted = torch.tensor(robot.gravity(np.full(7, 0.3)))
    q = torch.full((16, 7), 0.25, dtype=torch.float64, requires_grad=True)
    start = float(((functions.gravity(q) - wanted) ** 2).sum())
    descent = torch.optim.Adam([q], lr=1e-2)
    for _ in range(100):
        descent.zero_grad()
        loss = ((functions.gravity(q) - wanted) ** 2).sum()
        loss.backward()
        descent.step()
    assert float(loss) < 1e-2 * start


def test_second_derivatives_are_refused():
    """There is no second derivative, and the error says what there is."""
    robot = arm()
    q, = tensors(robot, 'gravity')
    slope, = torch.autograd.grad(TorchDynamics(robot).gravity(q).sum(), q, create_graph=True)
    with pytest.raises(RbdError, match='second derivative of gravity.*second_derivatives has'):
        slope.sum().backward()


def test_refusals():
    """A wrong tensor is named."""
    robot = arm()
    functions = TorchDynamics(robot)
    q = torch.zeros(7, dtype=torch.float64)
    with pytest.raises(ShapeError, match=r'qd has shape \(6,\), expected \(\.\.\., 7\)'):
        functions.bias(q, q[:6])
    with pytest.raises(ShapeError, match='qd is of torch.float32 .* q of torch.float64'):
        functions.bias(q, q.float())
    with pytest.raises(ShapeError, match='q must be a tensor of float64 or float32, got list'):
        functions.gravity([0.0] * 7)
    with pytest.raises(ShapeError, match='do not broadcast'):
        functions.bias(q.expand(2, 7), q.expand(3, 7))
    with pytest.raises(RbdError, match='has 3 results .*dtau_dq.* a gradient is of one'):
        functions.inverse_dynamics_derivatives(q, q, q)
    with pytest.raises(TypeError, match='takes q, frame, and nothing else'):
        functions.pose(q, 'tool0', q)
    with pytest.raises(AttributeError, match='did you mean "gravity"'):
        functions.gravty(q)
    with pytest.raises(TypeError, match='got Model'):
        TorchDynamics(robot.model)


def test_pickle():
    """Another process gets the same functions."""
    robot = arm()
    again = pickle.loads(pickle.dumps(TorchDynamics(robot)))
    q = torch.rand(7, dtype=torch.float64)
    assert torch.equal(again.gravity(q), TorchDynamics(robot).gravity(q))

# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Soft contact: the massless surface, its variants, friction, and surfaces that contacts cross."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rbd_ros.algorithms.contact import soft
from rbd_ros.algorithms.contact.spring_array import SpringArray
from rbd_ros.compiler import compile as compile_graph, trace
from rbd_ros.errors import NonFiniteError, SettingError
from rbd_ros.spatial import Motion, Vec3

FORMULA = {0.05: 0.858758, 0.1: 0.744079, 0.2: 0.571740, 0.5: 0.298436, 0.9: 0.155283}


def bounce(force, h=1e-3, speed=1.0, most=20.0):
    """Return the speed of a unit mass after a bounce, from force(p, v), without gravity."""
    p, v, t = 0.0, -speed, 0.0
    while t < most:
        k1 = force(p, v)
        k2 = force(p + 0.5 * h * v, v + 0.5 * h * k1)
        k3 = force(p + 0.5 * h * v + 0.25 * h * h * k1, v + 0.5 * h * k2)
        k4 = force(p + h * v + 0.5 * h * h * k2, v + h * k3)
        p += h * v + h * h / 6.0 * (k1 + k2 + k3)
        v += h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
        t += h
        if v > 0.0 and force(p, v) == 0.0:
            return v
    raise AssertionError('never left')


@pytest.mark.seed('RBDA 11-20')
@pytest.mark.parametrize('ratio', FORMULA)
def test_bounce_has_the_restitution_of_the_formula(ratio):
    """A mass on the surface comes back with exp(-2 zeta acos zeta / sqrt(1 - zeta^2))."""
    D = 2.0 * ratio
    assert soft.restitution(1.0, D, 1.0) == pytest.approx(FORMULA[ratio], abs=5e-7)
    found = bounce(lambda p, v: soft.normal_force(1.0, D, max(p, -1e9), p, v).force)
    assert found == pytest.approx(FORMULA[ratio], abs=1e-5)
    assert soft.damping_for(FORMULA[ratio], 1.0, 1.0) == pytest.approx(D, rel=1e-5)


def test_restitution_goes_on_beyond_critical_damping():
    """The formula is smooth at a damping ratio of one, and an overdamped bounce follows it."""
    near = [soft.restitution(1.0, 2.0 * (1.0 + s * 1e-6), 1.0) for s in (-1.0, 0.0, 1.0)]
    assert near == pytest.approx([math.exp(-2.0)] * 3, abs=1e-5)
    found = bounce(lambda p, v: soft.normal_force(1.0, 3.0, p, p, v).force)
    assert soft.restitution(1.0, 3.0, 1.0) == pytest.approx(found, abs=1e-4)


@pytest.mark.seed('RBDA 11-20')
def test_surface_never_pulls_and_follows_the_body():
    """In contact z moves with p; before p is back at zero the force ends and the dent recovers."""
    K, D = 100.0, 2.0
    held = soft.normal_force(K, D, -0.01, -0.01, -0.1)
    assert held.force == pytest.approx(1.2) and held.rate == pytest.approx(-0.1)
    left = soft.normal_force(K, D, -0.01, -0.01, 0.6)           # K z + D p' > 0: it would pull
    assert left.force == 0.0 and left.rate == pytest.approx(K / D * 0.01)
    above = soft.normal_force(K, D, -0.01, -0.005, -5.0)        # above the dent, below zero
    assert above.force == 0.0 and above.rate == pytest.approx(0.5)
    touch = soft.normal_force(K, D, 0.0, 0.0, -0.3)             # the jump of a linear damper
    assert touch.force == pytest.approx(D * 0.3)
    deep = soft.normal_force(K, D, 0.0, -0.02, 0.0)             # a step that went too far
    assert deep.force == pytest.approx(2.0)


def dropped(stateless, h=1e-4, K=400.0, D=12.0):
    """Return heights of a bouncing mass, the dent integrated or from its formula."""
    p, v, z, left = 0.02, 0.0, 0.0, (0.0, 0.0)
    heights, dents = [], []
    for i in range(6000):
        t = i * h
        if stateless:
            z = min(soft.recovered(left[1], K, D, t - left[0]), p)
        found = soft.normal_force(K, D, z, p, v)
        if found.force > 0.0:
            left = (t, p)
        before = p
        v += h * (found.force - 9.81)
        p += h * v
        z = soft.height_after(K, D, min(z, before), found.force, p, h)
        heights.append(p)
        dents.append(z)
    return np.array(heights), np.array(dents)


def test_a_surface_never_stands_above_its_rest():
    """A body that leaves within a step takes the surface along no further than to zero."""
    K, D = 2e4, 50.0
    assert soft.height_after(K, D, -1e-3, 5.0, 2e-3, 1e-3) == 0.0
    assert soft.height_after(K, D, -1e-3, 5.0, -4e-4, 1e-3) == -4e-4
    alone = soft.height_after(K, D, -1e-3, 0.0, 2e-3, 1e-3)
    assert alone == pytest.approx(-1e-3 * np.exp(-K * 1e-3 / D), rel=1e-12)


@pytest.mark.seed('RBDA 11-21')
def test_dent_recovers_by_its_formula():
    """Heights are the same whether z is integrated or taken from the last contact."""
    one, two = dropped(False), dropped(True)
    np.testing.assert_allclose(one[0], two[0], atol=2e-5)
    assert one[0][-1] == pytest.approx(-9.81 / 400.0, abs=1e-3)         # at rest: -m g / K
    assert soft.recovered(-0.1, 50.0, 5.0, 0.2) == pytest.approx(-0.1 * math.exp(-2.0))
    assert (one[1] <= 1e-12).all() and (one[1] < -1e-4).sum() > 100


@pytest.mark.seed('RBDA 11-22')
def test_two_surfaces_act_as_one_where_they_recover_alike():
    """Lumped in series; where they do not recover alike, each has its own height."""
    K, D = soft.lumped(300.0, 3.0, 600.0, 6.0)
    assert (K, D) == (pytest.approx(200.0), pytest.approx(2.0))
    z = [-0.004, -0.002]                # in proportion to the compliances
    force, rates = soft.two_surfaces([300.0, 600.0], [3.0, 6.0], z, sum(z), -0.2)
    assert force == pytest.approx(soft.normal_force(K, D, sum(z), sum(z), -0.2).force)
    assert sum(rates) == pytest.approx(-0.2)
    with pytest.raises(SettingError, match='recover at one rate'):
        soft.lumped(300.0, 3.0, 600.0, 3.0)
    with pytest.raises(SettingError, match='stiffness_1 is -300'):
        soft.lumped(-300.0, 3.0, 600.0, 3.0)
    force, rates = soft.two_surfaces([300.0, 600.0], [3.0, 3.0], z, sum(z), -0.2)
    for k, each, rate in zip((300.0, 600.0), z, rates, strict=True):
        assert k * each + 3.0 * rate + force == pytest.approx(0.0)      # 11.73 for each
    assert sum(rates) == pytest.approx(-0.2)
    free, _ = soft.two_surfaces([300.0, 600.0], [3.0, 3.0], z, 0.001, -0.2)
    assert free == 0.0


@pytest.mark.seed('RBDA 11-23')
def test_hunt_crossley_begins_and_ends_at_zero():
    """Beyond the book: no jump, no pull, and the loss grows with the speed of approach."""
    assert soft.hunt_crossley(1e3, 50.0, 0.0, -1.0) == 0.0
    assert soft.hunt_crossley(1e3, 50.0, -0.04, 0.0) == pytest.approx(1e3 * 0.04 ** 1.5)
    assert soft.hunt_crossley(1e3, 50.0, -0.04, -2.0, exponent=1.0) == pytest.approx(
        0.04 * (1e3 + 100.0))
    assert soft.hunt_crossley(1e3, 50.0, -0.04, 21.0) == 0.0
    with pytest.raises(SettingError, match='1.5'):
        soft.hunt_crossley(1e3, 50.0, 0.0, 0.0, exponent=2.0)
    # for small losses e = 1 - (2 / 3) (c / k) v, whatever the exponent
    for speed in (0.5, 1.0):
        e = bounce(lambda p, v: soft.hunt_crossley(1.0, 0.01, p, v), speed=speed) / speed
        assert 1.0 - e == pytest.approx(2.0 / 3.0 * 0.01 * speed, rel=0.02)


@pytest.mark.seed('RBDA 11-24')
def test_forces_in_space_are_opposite_and_do_the_work_of_the_contact():
    """The power of both forces is f . (relative velocity at the point)."""
    rng = np.random.default_rng(0)
    point, u = Vec3(*rng.normal(size=3)), Vec3(0.0, 0.6, 0.8)
    body, surface = (Motion.from_list(rng.normal(size=6).tolist()) for _ in range(2))
    found = soft.approach(point, u, body, surface)
    assert found.sliding.dot(u) == pytest.approx(0.0, abs=1e-15)
    f = soft.wrench(point, u, 7.0, found.sliding * -2.0)
    power = f.dot(body) + (-f).dot(surface)
    slip = found.sliding.dot(found.sliding)
    assert power == pytest.approx(7.0 * found.rate - 2.0 * slip)
    # p-dot is n . v of the material points, as for a rigid contact
    relative = np.array((body - surface).to_list())
    p, n = np.array(list(point)), np.array(list(u))
    assert found.rate == pytest.approx(n @ (relative[3:] + np.cross(relative[:3], p)))


def on_a_slope(angle, mu, seconds=1.5, h=1e-4):
    """Return the motion of a unit mass on a slope: speeds, patch displacements, forces."""
    K, D, normal = 1e4, 60.0, 9.81 * math.cos(angle)
    x, v, speeds, patches, powers = 0.0, 0.0, [], [], []
    for _ in range(round(seconds / h)):
        found = soft.friction_force(K, D, mu, [x], [v], normal)
        v += h * (9.81 * math.sin(angle) + found.force[0])
        x += h * found.rate[0]
        powers.append(found.force[0] * (v - found.rate[0]))
        speeds.append(v)
        patches.append(x)
    return np.array(speeds), np.array(patches), np.array(powers)


@pytest.mark.seed('RBDA 11-26')
def test_friction_holds_on_a_slope_or_slides():
    """Below the friction angle creep ends; above it acceleration is g (sin - mu cos)."""
    speeds, patches, _ = on_a_slope(0.4, 0.5)
    assert abs(speeds[-1]) < 1e-4
    assert patches[-1] == pytest.approx(9.81 * math.sin(0.4) / 1e4, rel=1e-3)
    speeds, _, powers = on_a_slope(0.6, 0.5)
    expected = 9.81 * (math.sin(0.6) - 0.5 * math.cos(0.6))
    assert (speeds[-1] - speeds[-5001]) / 0.5 == pytest.approx(expected, rel=1e-6)
    assert powers.max() < 1e-6                  # sliding only takes energy


@pytest.mark.seed('RBDA 11-26')
def test_friction_stays_in_the_cone_in_every_direction():
    """Two directions share one circle; sticking moves the patch with the body."""
    held = soft.friction_force(1e3, 10.0, 0.5, [0.001, 0.0], [0.01, -0.02], 100.0)
    assert held.force == pytest.approx([-1.1, 0.2]) and held.rate == pytest.approx([0.01, -0.02])
    slid = soft.friction_force(1e3, 10.0, 0.5, [0.003, 0.004], [0.0, 0.0], 2.0)
    assert slid.force == pytest.approx([-0.6, -0.8])            # 5 N shortened to 1 N
    free = soft.friction_force(1e3, 10.0, 0.5, [0.003, 0.0], [1.0, 0.0], 0.0)
    assert free.force == [0.0, 0.0] and free.rate == pytest.approx([-0.3, 0.0])


def test_traced_and_plain_contact_agree():
    """The same functions, compiled: one source for the simulator's kernel and for reading."""
    def rule(x):
        K, D, mu, z, p, rate, *rest = x
        normal = soft.normal_force(K, D, z, p, rate)
        along = soft.friction_force(K, D, mu, rest[:2], rest[2:], normal.force)
        return [normal.force, normal.rate, *along.force, *along.rate]
    kernel = compile_graph(trace(lambda x: rule(x), {'x': (10,)}),
                           backend='python')
    rng = np.random.default_rng(3)
    for _ in range(50):
        x = rng.normal(size=10)
        x[:3] = np.abs(x[:3]) + 0.1
        np.testing.assert_allclose(kernel(x), rule(x.tolist()), rtol=1e-12, atol=1e-12)


# --- contacts that move ---------------------------------------------------------------------


@pytest.mark.seed('RBDA 11-25')
def test_one_node_of_an_array_is_a_single_spring():
    """On a node, force and rate are those of one spring-damper."""
    surface = SpringArray(500.0, 5.0, 0.1, (3, 3))
    found = surface.contact((0.0, 0.0), (0.0, 0.0), -0.01, -0.1)
    assert found.normal == pytest.approx(soft.normal_force(500.0, 5.0, 0.0, -0.01, -0.1).force)
    assert found.rate[1, 1] == pytest.approx(-0.1)
    assert found.rate[0, 0] == 0.0 and found.tangential == pytest.approx([0.0, 0.0])
    assert surface.height((0.05, 0.0)) == pytest.approx(-0.005)
    with pytest.raises(NonFiniteError, match='not finite'):
        surface.contact((float('nan'), 0.0), (0.0, 0.0), -0.01, -0.1)


@pytest.mark.seed('RBDA 11-25')
def test_surface_under_a_moving_body_stays_with_it():
    """While they touch, the height of the surface below the body changes as the body's does."""
    rng = np.random.default_rng(4)
    climbs = []
    for _ in range(20):
        surface = SpringArray(500.0, 5.0, 0.1, (4, 5))
        surface.z[:] = -0.05 * rng.uniform(size=(4, 5))         # dented all over: it has slopes
        position, travel = rng.uniform(-0.14, 0.14, size=2), rng.normal(size=2)
        p, p_rate, h = -0.08, -0.2, 1e-6
        found = surface.contact(position, travel, p, p_rate)
        before = surface.height(position)
        assert found.normal > 0.0 and before == pytest.approx(p, abs=1e-15)
        surface.advance(found.rate, h)
        after = surface.height(position + h * travel)
        assert (after - before) / h == pytest.approx(p_rate, abs=1e-4)
        climbs.append(-found.tangential @ travel / found.normal)
    assert np.abs(climbs).max() > 0.1               # without slopes the test would miss them


@pytest.mark.seed('RBDA 11-25')
def test_moving_a_dent_costs_exactly_what_springs_store_and_dampers_take():
    """A body dragged at constant depth works against the array: no energy from nowhere."""
    surface = SpringArray(500.0, 5.0, 0.05, (9, 3))
    h, speed, work, lost, p = 1e-4, 0.2, 0.0, 0.0, -0.01
    position = np.array([-0.15, 0.02])
    surface.contact(position, (speed, 0.0), p, 0.0)
    start = surface.energy()
    drag = []
    for _ in range(10000):
        found = surface.contact(position, (speed, 0.0), p, 0.0)
        lost += h * 5.0 * float((found.rate ** 2).sum())
        work -= h * found.tangential[0] * speed
        surface.advance(found.rate, h)
        position = position + h * np.array([speed, 0.0])
        drag.append(found.tangential[0])
    assert work == pytest.approx(surface.energy() - start + lost, rel=2e-3)
    assert work > 0.5 * lost > 1e-4 and np.mean(drag) < 0.0
    beyond = surface.contact((5.0, 0.0), (0.0, 0.0), p, 0.0)
    assert beyond.normal == 0.0
    surface.z[:] = -0.01
    rate = surface.contact((0.0, 0.0), (0.0, 0.0), 1.0, 0.0).rate
    np.testing.assert_allclose(rate, 500.0 / 5.0 * 0.01)        # left alone, it recovers
    with pytest.raises(SettingError, match='stiffness is -1'):
        SpringArray(-1.0, 1.0, 0.1, (3, 3))
    with pytest.raises(SettingError, match='two nodes'):
        SpringArray(1.0, 1.0, 0.1, (1, 3))


@pytest.mark.seed('RBDA 11-25')
def test_drag_of_a_dent_is_against_its_travel():
    """The simple form: viscous, and proportional to the force that makes the dent."""
    assert soft.dent_drag(0.1, 20.0, [0.5, -1.0]) == pytest.approx([-1.0, 2.0])
    assert soft.dent_drag(0.1, 0.0, [0.5, -1.0]) == pytest.approx([0.0, 0.0])

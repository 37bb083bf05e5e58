# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
``./run mutants``: plant faults at random and see whether the tests find them.

``faults`` finds the places where a fault can be planted, ``nearness`` which tests come first,
``copies`` runs tests in a copy of the checkout, ``command`` draws, shares out and tells.
"""

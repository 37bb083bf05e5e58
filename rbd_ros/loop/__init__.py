# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The control loop without Python: a thread of machine code between the middleware and the step.

It waits for messages, takes them, lets the step run and sends what it gives. Python hands it
requests, and reads what it has said; it never waits for Python.
"""

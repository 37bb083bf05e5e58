# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the step takes and gives: events, payloads, results, causes of faults, sentences."""

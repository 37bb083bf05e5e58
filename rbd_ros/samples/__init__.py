# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Made-up robots for tests, examples and benchmarks; nothing of the product needs them."""

// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// What the manager is told of every step of the controller.

#ifndef STEP_WATCH_H_
#define STEP_WATCH_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void before_step(const void * u, size_t u_size, const void * p, size_t p_size);

void after_step(const void * y, size_t y_size, double state, double mode);

#ifdef __cplusplus
}
#endif

#endif  // STEP_WATCH_H_

// Copyright 2026 the rbd_ros developers
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

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

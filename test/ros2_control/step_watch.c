// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// The linker lets calls of the step come by here (--wrap).

#include "step_watch.h"

#include STEP_HEADER

void REAL(MEMORY * memory);
void WRAP(MEMORY * memory);

void WRAP(MEMORY * memory)
{
  before_step(&memory->u, sizeof(memory->u), &memory->p, sizeof(memory->p));
  REAL(memory);
  after_step(
    &memory->y, sizeof(memory->y), memory->x.command.supervisor.state, memory->x.mode);
}

// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#ifndef RBD_CONTROLLER__EXCHANGE_HPP_
#define RBD_CONTROLLER__EXCHANGE_HPP_

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "rbd_controller/handover.hpp"
#include "rbd_controller/session.h"

namespace rbd_controller
{

using Numbers = std::vector<double>;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

/// A cause that was latched, with what was seen.
struct Fault
{
  std::size_t cause = 0;
  rbd_word word{};
};

/// Numbers of an update, ns by its clock; see rbd_robot.note and rbd_status.wrench.
struct Stamped
{
  std::int64_t stamp = 0;
  Numbers numbers{};
};

/// All that update() and slower threads hand to each other; each part has one writer at a time.
struct Exchange
{
  explicit Exchange(const rbd_robot & robot)
  : progress(Numbers(3 + 7 * robot.joint_count)), sensed(Stamped{0, Numbers(RBD_SENSED)}),
    notes(Stamped{0, Numbers(2 + 6 * robot.joint_count)}), parameters(Numbers(robot.parameters)) {}

  Ring<rbd_request, 64> requests;
  Ring<rbd_word, 256> words;
  Ring<Fault, 64> faults;
  Ring<rbd_outcome, 64> outcomes;
  Mailbox<Numbers> progress;
  Mailbox<Stamped> sensed;
  Ring<Stamped, 64> notes;  // more than come between two looks
  std::atomic<bool> watched{false};  // whether somebody wants them
  Mailbox<Numbers> parameters;
  Places<RBD_PLACES> places;
};

}  // namespace rbd_controller

#endif  // RBD_CONTROLLER__EXCHANGE_HPP_

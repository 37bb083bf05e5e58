// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#ifndef RBD_CONTROLLER__WORDS_HPP_
#define RBD_CONTROLLER__WORDS_HPP_

#include <string>
#include <vector>

#include "rbd_controller/session.h"

namespace rbd_controller
{

/// Fill the places of a pattern: {joint}, {unit}, {effort}, {faults}, {a:.3g}, {a+1:.0f},
/// {a|one|two}.
std::string filled(
  const std::string & pattern, const std::string & joint, const double * numbers,
  const std::string & unit = "(rad or m)", const std::string & faults = "");

/// A list of names, as every form of the controller writes it.
std::string listed(const std::vector<std::string> & names);

/// Return what a word says; faults: of the causes that are latched.
std::string sentence(const rbd_robot & robot, const rbd_word & word, const std::string & faults);

}  // namespace rbd_controller

#endif  // RBD_CONTROLLER__WORDS_HPP_

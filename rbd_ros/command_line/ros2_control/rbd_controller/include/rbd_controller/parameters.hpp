// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#ifndef RBD_CONTROLLER__PARAMETERS_HPP_
#define RBD_CONTROLLER__PARAMETERS_HPP_

#include <cstddef>
#include <string>

#include "rclcpp/parameter.hpp"

#include "rbd_controller/exchange.hpp"

namespace rbd_controller
{

/// said where another library is needed
constexpr char kGenerate[] = "rbd codegen ROBOT --ros2-control --params FILE --out DIR";

/// Return the value of a parameter that the library was made for.
rclcpp::ParameterValue value_of(const rbd_parameter & row);

/// Return the place of a live parameter by its name; their count: it is none.
std::size_t live_of(const rbd_robot & robot, const std::string & name);

/// Take the value of a live parameter into the numbers of all; return why not.
std::string take_value(
  const rbd_robot & robot, std::size_t live, const rclcpp::Parameter & given, Numbers & values);

}  // namespace rbd_controller

#endif  // RBD_CONTROLLER__PARAMETERS_HPP_

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

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

#include "rbd_controller/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "rbd_controller/words.hpp"

namespace rbd_controller
{

using rclcpp::ParameterType;
using rclcpp::ParameterValue;

rclcpp::ParameterValue value_of(const rbd_parameter & row)
{
  const std::vector<double> numbers(row.numbers, row.numbers + (row.numbers ? row.count : 0));
  std::vector<std::int64_t> integers;
  for (const double each : numbers) {
    integers.push_back(static_cast<std::int64_t>(each));
  }
  switch (row.type) {
    case RBD_BOOL:
      return ParameterValue(numbers[0] != 0.0);
    case RBD_INTEGER:
      return ParameterValue(integers[0]);
    case RBD_DOUBLE:
      return ParameterValue(numbers[0]);
    case RBD_STRING:
      return ParameterValue(std::string(row.texts[0]));
    case RBD_INTEGERS:
      return ParameterValue(integers);
    case RBD_DOUBLES:
      return ParameterValue(numbers);
    default:
      return ParameterValue(
        std::vector<std::string>(row.texts, row.texts + (row.texts ? row.count : 0)));
  }
}

const rbd_live * live_of(const rbd_robot & robot, const std::string & name)
{
  const auto * const end = robot.live + robot.live_count;
  const auto * const found = std::find_if(
    robot.live, end, [&name](const rbd_live & each) {return name == each.name;});
  return found == end ? nullptr : found;
}

std::string take_value(const rbd_live & row, const rclcpp::Parameter & given, Numbers & live)
{
  const std::string name = row.name;
  Numbers numbers;
  if ((row.flag != 0) != (given.get_type() == ParameterType::PARAMETER_BOOL)) {
    return name + (row.flag ? " must be true or false" : " must be a number, or a list of numbers");
  }
  switch (given.get_type()) {
    case ParameterType::PARAMETER_BOOL:
      numbers = {given.as_bool() ? 1.0 : 0.0};
      break;
    case ParameterType::PARAMETER_DOUBLE:
      numbers = {given.as_double()};
      break;
    case ParameterType::PARAMETER_INTEGER:
      numbers = {static_cast<double>(given.as_int())};
      break;
    case ParameterType::PARAMETER_DOUBLE_ARRAY:
      numbers = given.as_double_array();
      break;
    case ParameterType::PARAMETER_INTEGER_ARRAY:
      for (const auto each : given.as_integer_array()) {
        numbers.push_back(static_cast<double>(each));
      }
      break;
    default:
      return name + " must be a number, or a list of numbers";
  }
  if (numbers.size() != row.size && !(row.spread && numbers.size() == 1)) {
    return name + " has " + std::to_string(numbers.size()) + " entries; give " +
           (row.spread ? "one for all, or " : "") + std::to_string(row.size);
  }
  for (const double each : numbers) {
    const double bounds[] = {each, row.lower, row.upper};
    if (!std::isfinite(each) || each < row.lower || each > row.upper) {
      return name + filled(" = {a:g} {joint} is outside [{b:g}, {c:g}]", row.unit, bounds);
    }
    if (row.above && each == row.lower) {
      return name + filled(" = {a:g} {joint} needs another controller: ", row.unit, bounds) +
             kGenerate;
    }
  }
  for (std::size_t k = 0; k < row.size; ++k) {
    live[row.at + k] = numbers[k % numbers.size()];
  }
  return "";
}

}  // namespace rbd_controller

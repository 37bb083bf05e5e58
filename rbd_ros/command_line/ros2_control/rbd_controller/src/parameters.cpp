// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#include "rbd_controller/parameters.hpp"

#include <algorithm>
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
  integers.reserve(numbers.size());
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

std::size_t live_of(const rbd_robot & robot, const std::string & name)
{
  const auto * const end = robot.live + robot.live_count;
  return static_cast<std::size_t>(std::find_if(
           robot.live, end, [&name](const rbd_live & each) {return name == each.name;}) -
         robot.live);
}

namespace
{

/// Take a text, which is one of the choices of a parameter; return why not.
std::string take_text(const rbd_live & row, const rclcpp::Parameter & given, double & number)
{
  const std::vector<std::string> names(row.choices, row.choices + row.choice_count);
  const bool is_text = given.get_type() == ParameterType::PARAMETER_STRING;
  const std::string text = is_text ? given.as_string() : given.value_to_string();
  const auto found = std::find(names.begin(), names.end(), text);
  if (is_text && found != names.end()) {
    number = static_cast<double>(found - names.begin());
  } else if (is_text && text.empty() && row.optional) {
    number = -1.0;
  } else {
    return std::string(row.name) + " must be one of " + listed(names) + ", got " +
           (is_text ? "'" + text + "'" : text);
  }
  return "";
}

}  // namespace

std::string take_value(
  const rbd_robot & robot, std::size_t live, const rclcpp::Parameter & given, Numbers & values)
{
  const rbd_live & row = robot.live[live];
  const std::string name = row.name;
  if (row.type == RBD_STRING) {
    return take_text(row, given, values[row.at]);
  }
  Numbers numbers;
  if ((row.type == RBD_BOOL) != (given.get_type() == ParameterType::PARAMETER_BOOL)) {
    return name + (row.type == RBD_BOOL ? " must be true or false" :
           " must be a number, or a list of numbers");
  }
  switch (given.get_type()) {
    case ParameterType::PARAMETER_BOOL:
      values[row.at] = given.as_bool() ? 1.0 : 0.0;
      return "";
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
  rbd_word wrong;
  return robot.take(live, numbers.data(), numbers.size(), values.data(), &wrong) ? "" :
         sentence(robot, wrong, "");
}

}  // namespace rbd_controller

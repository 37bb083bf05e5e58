// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#include "rbd_controller/words.hpp"

#include <cstdio>
#include <cstdlib>

namespace rbd_controller
{

namespace
{

/// Names of the joints whose bits are set.
std::string joints_of(const rbd_robot & robot, double bits)
{
  std::string names;
  for (std::size_t j = 0; j < robot.model_joint_count && j < 48; ++j) {
    if (static_cast<unsigned long long>(bits) >> j & 1U) {
      names += (names.empty() ? "" : ", ") + std::string(robot.model_joints[j].name);
    }
  }
  return names;
}

/// Return what belongs into a place: a, a:.4g, a+1:.0f, or a|one|two.
std::string number_in(const std::string & place, const double * numbers)
{
  double value = numbers[place[0] - 'a'];
  auto at = place.find('|');
  if (at != std::string::npos) {
    for (int k = 0; k < static_cast<int>(value) && place.find('|', at + 1) != std::string::npos;
      ++k)
    {
      at = place.find('|', at + 1);
    }
    return place.substr(at + 1, place.find('|', at + 1) - at - 1);
  }
  if (place[1] == '+') {
    value += std::strtod(place.c_str() + 2, nullptr);
  } else if (place[1] == '*') {
    value *= std::strtod(place.c_str() + 2, nullptr);
  }
  const auto colon = place.find(':');
  const std::string format =
    "%" + (colon == std::string::npos ? std::string("g") : place.substr(colon + 1));
  char number[64];
  std::snprintf(number, sizeof(number), format.c_str(), value);
  return number;
}

}  // namespace

std::string listed(const std::vector<std::string> & names)
{
  std::string text;
  for (const auto & name : names) {
    text += (text.empty() ? "'" : ", '") + name + "'";
  }
  return "[" + text + "]";
}

std::string filled(
  const std::string & pattern, const std::string & joint, const double * numbers,
  const std::string & unit, const std::string & faults)
{
  std::string text;
  for (std::size_t at = 0; at < pattern.size(); ) {
    const auto end = pattern[at] == '{' ? pattern.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      text += pattern[at++];
      continue;
    }
    const std::string place = pattern.substr(at + 1, end - at - 1);
    text += place == "joint" ? joint : place == "unit" ? unit : place == "faults" ? faults :
      place != "effort" ? number_in(place, numbers) :
      unit == "rad" ? "N.m" : unit == "m" ? "N" : "(N.m or N)";
    at = end + 1;
  }
  return text;
}

std::string sentence(const rbd_robot & robot, const rbd_word & word, const std::string & faults)
{
  const double numbers[] = {word.a, word.b, word.c};
  for (std::size_t k = 0; k < robot.sentence_count; ++k) {
    const auto & each = robot.sentences[k];
    if (each.word != static_cast<int>(word.code)) {
      continue;
    }
    std::string about, unit = "(rad or m)";
    if (each.about == RBD_STATE) {
      about = robot.states[static_cast<int>(word.a)];
    } else if (each.about == RBD_MODE) {
      about = robot.modes[static_cast<int>(word.a)].name;
    } else if (each.about == RBD_BITS) {
      about = joints_of(robot, word.a);
    } else if (each.about == RBD_LIVE) {
      about = robot.live[static_cast<std::size_t>(word.joint)].name;
      unit = robot.live[static_cast<std::size_t>(word.joint)].unit;
    } else {
      const bool of_model = each.about == RBD_MODEL_JOINT;
      const auto * const joints = of_model ? robot.model_joints : robot.joints;
      const auto count = of_model ? robot.model_joint_count : robot.joint_count;
      if (word.joint >= 0.0 && word.joint < static_cast<double>(count)) {
        const auto & joint = joints[static_cast<std::size_t>(word.joint)];
        about = joint.name;
        unit = joint.unit;
      }
    }
    return filled(each.pattern, about, numbers, unit, faults);
  }
  return "word " + std::to_string(static_cast<int>(word.code));
}

}  // namespace rbd_controller

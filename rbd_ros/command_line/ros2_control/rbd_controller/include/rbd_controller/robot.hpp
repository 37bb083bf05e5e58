// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#ifndef RBD_CONTROLLER__ROBOT_HPP_
#define RBD_CONTROLLER__ROBOT_HPP_

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "rbd_controller/session.h"

namespace rbd_controller
{

/// The table of a robot, from a library that stays loaded meanwhile.
class Robot
{
public:
  /// Load a library; without a name, take the one that is linked in. Throws std::runtime_error.
  explicit Robot(const std::string & library);

  const rbd_robot & table() const {return *table_;}

private:
  std::shared_ptr<void> library_;
  const rbd_robot * table_;
};

/// Memory of a session.
class Session
{
public:
  explicit Session(const rbd_robot & robot)
  : memory_(std::calloc(1, robot.session_bytes)) {}
  ~Session() {std::free(memory_);}
  Session(const Session &) = delete;
  Session & operator=(const Session &) = delete;

  rbd_session * get() const {return static_cast<rbd_session *>(memory_);}

private:
  void * memory_;
};

/// Names of things in a table.
template<typename Row>
std::vector<std::string> names_of(const Row * rows, std::size_t count)
{
  std::vector<std::string> names;
  for (std::size_t k = 0; k < count; ++k) {
    names.emplace_back(rows[k].name);
  }
  return names;
}

}  // namespace rbd_controller

#endif  // RBD_CONTROLLER__ROBOT_HPP_

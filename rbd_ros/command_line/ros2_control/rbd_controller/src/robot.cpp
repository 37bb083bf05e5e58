// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

#include "rbd_controller/robot.hpp"

#include <dlfcn.h>

#include <stdexcept>

extern "C" __attribute__((weak)) const rbd_robot * rbd_robot_library(void);

namespace rbd_controller
{

Robot::Robot(const std::string & library)
{
  using Table = const rbd_robot * (*)();
  Table found = rbd_robot_library;
  if (!library.empty()) {
    void * const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
      throw std::runtime_error("robot_library: " + std::string(dlerror()));
    }
    library_ = std::shared_ptr<void>(opened, dlclose);
    found = reinterpret_cast<Table>(dlsym(opened, "rbd_robot_library"));
    if (found == nullptr) {
      throw std::runtime_error(
              "robot_library: " + library + " is no library of \"rbd codegen --ros2-control\"");
    }
  }
  if (found == nullptr) {
    throw std::runtime_error(
            "robot_library is not set: give it the library of the robot, such as "
            "libmy_arm_rbd_robot.so, that \"rbd codegen --ros2-control\" writes");
  }
  table_ = found();
  if (table_->version != RBD_SESSION_VERSION || table_->size != sizeof(rbd_robot)) {
    throw std::runtime_error(
            "robot_library: " + library + " has version " + std::to_string(table_->version) +
            " (" + std::to_string(table_->size) + " bytes) of the interface, this controller " +
            std::to_string(RBD_SESSION_VERSION) + " (" + std::to_string(sizeof(rbd_robot)) +
            " bytes). Generate both with one rbd_ros and build them again");
  }
}

}  // namespace rbd_controller

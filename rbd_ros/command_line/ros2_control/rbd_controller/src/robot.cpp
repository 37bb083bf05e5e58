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

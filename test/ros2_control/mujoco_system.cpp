// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// A robot with physics for the tests: MuJoCo as a hardware component of ros2_control.
//
// The parameter "model" is a file of mj_saveModel. Brakes hold the robot until the first torque;
// from then on efforts are applied as they are. Each write advances the simulation by the period of
// the update, in steps of the model. What a sensor shows may be disturbed by the program, see
// `disturbed`, and so may a joint: "JOINT/push" is a torque from outside. A sensor of the description
// is the one of MuJoCo with noise and a bias, both parameters of it; "SENSOR/stuck" lets it show the
// same numbers for ever, and with "SENSOR/busy" another thread holds one of its interfaces. The file
// of the parameter "log" gets, at each write, positions, velocities and commanded efforts of all joints, then the
// force of all contacts upon what the world is made of.

#include <mujoco/mujoco.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <vector>

#include "hardware_interface/system_interface.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"

/// What the sensor of an interface shows instead of the truth; the program says it.
extern "C" double disturbed(const char * interface, double truth);

namespace mujoco_system
{

using hardware_interface::CallbackReturn;
using hardware_interface::return_type;

class MujocoSystem : public hardware_interface::SystemInterface
{
public:
  CallbackReturn on_init(
    const hardware_interface::HardwareComponentInterfaceParams & params) override
  {
    if (SystemInterface::on_init(params) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    model_.reset(mj_loadModel(info_.hardware_parameters.at("model").c_str(), nullptr));
    if (!model_) {
      return CallbackReturn::ERROR;
    }
    data_.reset(mj_makeData(model_.get()));
    for (const auto & joint : info_.joints) {
      const int id = mj_name2id(model_.get(), mjOBJ_JOINT, joint.name.c_str());
      if (id < 0) {
        RCLCPP_ERROR(get_logger(), "no joint %s", joint.name.c_str());
        return CallbackReturn::ERROR;
      }
      const auto start = joint.parameters.find("start");
      data_->qpos[model_->jnt_qposadr[id]] =
        start == joint.parameters.end() ? 0.0 : std::stod(start->second);
      joints_.push_back({joint.name, model_->jnt_qposadr[id], model_->jnt_dofadr[id], 0.0});
    }
    for (const auto & sensor : info_.sensors) {
      sensor_ = sensor.name;
      noise_ = std::stod(sensor.parameters.at("noise"));
      bias_ = std::stod(sensor.parameters.at("bias"));
    }
    plate_ = mj_name2id(model_.get(), mjOBJ_GEOM, "plate");
    mj_forward(model_.get(), data_.get());
    const auto log = info_.hardware_parameters.find("log");
    if (log != info_.hardware_parameters.end()) {
      log_.reset(std::fopen(log->second.c_str(), "wb"));
    }
    return CallbackReturn::SUCCESS;
  }

  return_type read(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    for (const auto & joint : joints_) {
      show(joint.name + "/position", data_->qpos[joint.position]);
      show(joint.name + "/velocity", data_->qvel[joint.velocity]);
      show(joint.name + "/effort", joint.effort);
    }
    if (!sensor_.empty()) {
      read_sensor();
    }
    return return_type::OK;
  }

  return_type write(const rclcpp::Time &, const rclcpp::Duration & period) override
  {
    row_.clear();
    for (auto & joint : joints_) {
      const double effort = get_command(joint.name + "/effort");
      joint.effort = std::isfinite(effort) ? effort : 0.0;
      data_->qfrc_applied[joint.velocity] =
        joint.effort + disturbed((joint.name + "/push").c_str(), 0.0);
      braked_ = braked_ && !(std::abs(effort) > 0.0);
      row_.insert(
        row_.end(), {data_->qpos[joint.position], data_->qvel[joint.velocity], effort});
    }
    if (log_) {
      const auto force = pressure();
      row_.insert(row_.end(), force.begin(), force.end());
      std::fwrite(row_.data(), sizeof(double), row_.size(), log_.get());
    }
    const int steps = static_cast<int>(
      std::lround(period.seconds() / model_->opt.timestep));
    for (int k = 0; k < steps && !braked_; ++k) {
      mj_step(model_.get(), data_.get());
    }
    return return_type::OK;
  }

private:
  struct Joint
  {
    std::string name;
    int position, velocity;
    double effort = 0.0;
  };
  struct Delete
  {
    void operator()(mjModel * model) const {mj_deleteModel(model);}
    void operator()(mjData * data) const {mj_deleteData(data);}
    void operator()(std::FILE * file) const {std::fclose(file);}
  };

  void show(const std::string & interface, double truth)
  {
    set_state(interface, disturbed(interface.c_str(), truth));
  }

  /// Show what carries the tool, in the axes of the sensor.
  void read_sensor()
  {
    mj_forward(model_.get(), data_.get());  // of the present state
    if (braked_) {
      mju_zero(data_->qacc, model_->nv);
      mj_rnePostConstraint(model_.get(), data_.get());
      mj_sensorAcc(model_.get(), data_.get());
    }
    const bool busy = is_disturbed("/busy");
    if (!busy && holder_.valid()) {
      release_.set_value();
      holder_.get();
    } else if (busy && !holder_.valid()) {
      hold(get_state_interface_handle(sensor_ + "/force.y")->get_mutex());
    }
    if (busy || is_disturbed("/stuck")) {
      return;
    }
    for (const std::string kind : {"force", "torque"}) {  // the latter is called moment there
      const int id = mj_name2id(
        model_.get(), mjOBJ_SENSOR, kind == "force" ? "force" : "moment");
      for (int i = 0; i < 3; ++i) {
        show(
          sensor_ + "/" + kind + "." + "xyz"[i],
          data_->sensordata[model_->sensor_adr[id] + i] + bias_ + noise_ * normal_(random_));
      }
    }
  }

  bool is_disturbed(const char * how) const
  {
    return disturbed((sensor_ + how).c_str(), 0.0) > 0.0;
  }

  /// Let another thread hold the mutex until it is released.
  void hold(std::shared_mutex & mutex)
  {
    std::promise<void> held;
    release_ = std::promise<void>();
    holder_ = std::async(
      std::launch::async, [&mutex, &held, released = release_.get_future()]() {
        const std::unique_lock<std::shared_mutex> lock(mutex);
        held.set_value();
        released.wait();
      });
    held.get_future().wait();
  }

  /// The force upon what the world is made of, N.
  std::array<double, 3> pressure() const
  {
    std::array<double, 3> sum{};
    for (int k = 0; k < data_->ncon; ++k) {
      const auto & contact = data_->contact[k];
      const bool second = contact.geom[1] == plate_;
      mjtNum wrench[6];
      mj_contactForce(model_.get(), data_.get(), k, wrench);
      for (int i = 0; i < 3; ++i) {  // axes of the contact are rows; it acts on the second one
        for (int row = 0; row < 3; ++row) {
          sum[i] += (second ? 1.0 : -1.0) * contact.frame[3 * row + i] * wrench[row];
        }
      }
    }
    return sum;
  }

  std::unique_ptr<mjModel, Delete> model_;
  std::unique_ptr<mjData, Delete> data_;
  std::unique_ptr<std::FILE, Delete> log_;
  std::vector<Joint> joints_;
  std::vector<double> row_;
  bool braked_ = true;
  int plate_ = -1;
  std::string sensor_;
  double noise_ = 0.0, bias_ = 0.0;
  std::mt19937 random_{1};
  std::normal_distribution<double> normal_;
  std::future<void> holder_;
  std::promise<void> release_;  // is destroyed first, which releases
};

}  // namespace mujoco_system

PLUGINLIB_EXPORT_CLASS(mujoco_system::MujocoSystem, hardware_interface::SystemInterface)

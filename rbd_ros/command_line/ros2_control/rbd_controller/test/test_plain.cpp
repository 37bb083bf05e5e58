// SPDX-FileCopyrightText: 2026 the rbd_ros developers
// SPDX-License-Identifier: Apache-2.0

// What the controller has that needs no ROS: hand-over between threads, words, loading.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "rbd_controller/handover.hpp"
#include "rbd_controller/robot.hpp"
#include "rbd_controller/words.hpp"

using rbd_controller::filled;
using rbd_controller::Mailbox;
using rbd_controller::Places;
using rbd_controller::Ring;
using rbd_controller::Robot;

TEST(Ring, HandsOverAllInOrderOrCountsThem)
{
  Ring<int, 8> ring;
  constexpr int kCount = 100000;
  std::size_t lost = 0;
  std::thread writer([&ring]() {
      for (int k = 0; k < kCount; ++k) {
        (void)ring.push(k);
      }
    });
  int last = -1, taken = 0, item = 0;
  const auto take = [&]() {
      while (ring.pop(item)) {
        EXPECT_GT(item, last);
        last = item;
        ++taken;
      }
    };
  for (int k = 0; k < kCount; ++k) {
    take();
    lost += ring.lost();
  }
  writer.join();
  take();
  lost += ring.lost();
  EXPECT_EQ(static_cast<std::size_t>(taken) + lost, static_cast<std::size_t>(kCount));
}

TEST(Mailbox, GivesTheNewestWhole)
{
  Mailbox<std::array<long, 16>> box;
  constexpr long kCount = 100000;
  std::thread writer([&box]() {
      for (long k = 1; k <= kCount; ++k) {
        box.draft().fill(k);
        box.send();
      }
    });
  long last = 0;
  while (last < kCount) {
    if (box.receive()) {
      const auto & found = box.received();
      EXPECT_GT(found[0], last);
      for (const long each : found) {
        EXPECT_EQ(each, found[0]);
      }
      last = found[0];
    }
  }
  writer.join();
  EXPECT_FALSE(box.receive());
}

TEST(Places, AreGivenOnce)
{
  Places<2> places;
  const int first = places.reserve(), second = places.reserve();
  EXPECT_NE(first, second);
  EXPECT_EQ(places.reserve(), -1);
  places.release(first);
  EXPECT_EQ(places.reserve(), first);
  places.release(-1);
}

TEST(Words, FillTheirPlaces)
{
  const double numbers[] = {1.0, 2.345678, 3.0};
  EXPECT_EQ(filled("{joint} {b:.2f} {a+1:.0f} {a*1000:g}", "j", numbers), "j 2.35 2 1000");
  EXPECT_EQ(filled("{a|no|yes} {c|no|yes}", "", numbers), "yes yes");
  EXPECT_EQ(filled("{a:g} {unit}, {effort}", "", numbers, "m"), "1 m, N");
  EXPECT_EQ(filled("{effort} of {joint", "", numbers, "rad"), "N.m of {joint");
}

TEST(Robot, IsRefusedWithItsReason)
{
  for (const std::string name : {"", "libno_such_robot.so", "libm.so.6"}) {
    try {
      const Robot robot(name);
      FAIL() << name;
    } catch (const std::runtime_error & error) {
      EXPECT_EQ(std::string(error.what()).rfind("robot_library", 0), 0U) << error.what();
    }
  }
}

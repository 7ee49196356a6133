#include "qtx/bench/machine.h"

#include <gtest/gtest.h>
#include <pthread.h>

namespace qtx::bench {
namespace {

TEST(Machine, MeasuresEachNumberOfThreads) {
  const Machine machine = MeasureMachine({1, 2}, 1e-4);
  EXPECT_FALSE(machine.processor.empty());
  EXPECT_EQ(machine.bandwidths.size(), 8U);
  for (const Bandwidth& bandwidth : machine.bandwidths) {
    EXPECT_GT(bandwidth.gbps, 0.01) << bandwidth.level;
  }
  for (const Peak& peak : machine.peaks) EXPECT_GT(peak.gops, 0.1) << peak.name;
#if defined(__x86_64__) || defined(__aarch64__)
  EXPECT_NE(HighestPeak(machine, true, 1), nullptr);
#endif
}

// Stacks that no address space has space for.
TEST(Machine, IsMeasuredByFewerThreadsWhereTheSystemRefusesMore) {
  pthread_attr_t before, huge;
  pthread_getattr_default_np(&before);
  pthread_attr_init(&huge);
  pthread_attr_setstacksize(&huge, std::size_t{1} << 62);
  pthread_setattr_default_np(&huge);
  const Machine machine = MeasureMachine({4}, 1e-4);
  pthread_setattr_default_np(&before);
  for (const Bandwidth& bandwidth : machine.bandwidths) EXPECT_GT(bandwidth.gbps, 0.01);
}

TEST(HighestPeak, IsOfTheKindAndTheThreads) {
  Machine machine;
  machine.peaks = {{"a", false, 1, 5}, {"b", false, 1, 7}, {"c", true, 1, 9}, {"d", false, 2, 11}};
  EXPECT_EQ(HighestPeak(machine, false, 1)->name, "b");
  EXPECT_EQ(HighestPeak(machine, true, 1)->name, "c");
  EXPECT_EQ(HighestPeak(machine, true, 2), nullptr);
}

}  // namespace
}  // namespace qtx::bench

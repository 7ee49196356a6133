#include "qtx/bench/machine.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <functional>
#include <memory>

#include "clock.h"
#include "loops.h"
#include "qtx/conformance/provenance.h"
#include "qtx/format/threads.h"

namespace qtx::bench {
namespace {

// The most runs of `work` in a second, over repetitions for `seconds`. In each repetition every
// thread runs it once: at most `threads`, fewer where the system refuses more.
double BestRate(int threads, double seconds, const std::function<void(int thread)>& work) {
  double best = 0;
  std::barrier gate(threads);
  std::atomic<bool> go_on = true;
  const auto each = [&](int thread) {
    const Clock::time_point begin = Clock::now();
    while (true) {
      gate.arrive_and_wait();
      if (!go_on) return;
      const Clock::time_point start = Clock::now();
      work(thread);
      gate.arrive_and_wait();
      if (thread != 0) continue;
      const double taken = SecondsSince(start);
      best = best == 0 ? taken : std::min(best, taken);
      go_on = SecondsSince(begin) < seconds;
    }
  };
  std::atomic<int> last = 0;
  const auto others = format::StartThreads(threads - 1, [&] { each(++last); });
  const auto started = static_cast<int>(others.size()) + 1;
  for (int missing = started; missing < threads; ++missing) gate.arrive_and_drop();
  each(0);
  return started / best;
}

// Target duration of a measurement: much longer than thread start, much shorter than a time slice.
constexpr double kOneTime = 5e-4;

template <typename Workload>
long CountFor(double seconds, const Workload& work) {
  long count = 1;
  for (double taken = 0; taken < seconds / 4 && count < (1L << 40); count *= 2) {
    const Clock::time_point start = Clock::now();
    work(count);
    taken = SecondsSince(start);
  }
  return std::max(count, 2L);
}

Peak MeasurePeak(const PeakLoop& loop, int threads, double seconds) {
  const long count = CountFor(kOneTime, loop.run);
  const double rate = BestRate(threads, seconds, [&](int) { loop.run(count); });
  const double operations = loop.operations * static_cast<double>(count);
  return {loop.name, loop.floats, threads, operations * rate / 1e9};
}

struct Level {
  const char* name;
  std::int64_t bytes;
};

// Sizes well within each cache, and beyond all. Defaults if the system does not report cache sizes.
std::vector<Level> Levels() {
  constexpr std::int64_t kKilo = 1024, kMega = 1024 * kKilo;
  const auto size = [](int name, std::int64_t usual) {
    const std::int64_t said = sysconf(name);
    return said > 0 ? said : usual;
  };
  const std::int64_t l1 = size(_SC_LEVEL1_DCACHE_SIZE, 32 * kKilo);
  const std::int64_t l2 = std::max(size(_SC_LEVEL2_CACHE_SIZE, kMega), 4 * l1);
  const std::int64_t l3 = std::max(size(_SC_LEVEL3_CACHE_SIZE, 8 * kMega), 4 * l2);
  return {{"L1", l1 / 2},
          {"L2", l2 / 2},
          {"L3", std::max(2 * l2, std::min(l3 / 4, 16 * kMega))},
          {"DRAM", std::clamp(2 * l3, 64 * kMega, 256 * kMega)}};
}

constexpr std::size_t kUnit = 1024;  // of what ReadAll reads

Bandwidth MeasureBandwidth(const Level& level, int threads, double seconds) {
  const std::size_t bytes = static_cast<std::size_t>(level.bytes) / kUnit * kUnit;
  constexpr std::align_val_t kAlignment{64};
  const auto release = [](std::byte* data) { operator delete[](data, kAlignment); };
  using Buffer = std::unique_ptr<std::byte[], decltype(release)>;
  std::vector<Buffer> buffers;
  for (int i = 0; i < threads; ++i) {
    buffers.emplace_back(new (kAlignment) std::byte[bytes], release);
    std::fill_n(buffers.back().get(), bytes, std::byte{1});  // pages of its own
  }
  const auto read = [&](std::byte* data, long count) {
    for (long i = 0; i < count; ++i) ReadAll(data, bytes);
  };
  const long count = CountFor(kOneTime, [&](long n) { read(buffers[0].get(), n); });
  const double rate = BestRate(threads, seconds, [&](int thread) {
    read(buffers[static_cast<std::size_t>(thread)].get(), count);
  });
  const double run = static_cast<double>(bytes) * static_cast<double>(count);
  return {level.name, static_cast<std::int64_t>(bytes), threads, run * rate / 1e9};
}

}  // namespace

Machine MeasureMachine(const std::vector<int>& threads, double seconds) {
  Machine machine;
  machine.processor = conformance::ThisProcessor().name;
  for (const int count : threads) {
    for (const PeakLoop& loop : PeakLoops()) {
      machine.peaks.push_back(MeasurePeak(loop, count, seconds));
    }
    for (const Level& level : Levels()) {
      machine.bandwidths.push_back(MeasureBandwidth(level, count, seconds));
    }
  }
  return machine;
}

const Peak* HighestPeak(const Machine& machine, bool floats, int threads) {
  const Peak* highest = nullptr;
  for (const Peak& peak : machine.peaks) {
    if (peak.floats != floats || peak.threads != threads) continue;
    if (highest == nullptr || peak.gops > highest->gops) highest = &peak;
  }
  return highest;
}

}  // namespace qtx::bench

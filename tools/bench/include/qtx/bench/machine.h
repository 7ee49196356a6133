// What this machine can do at most, measured: multiply-adds per instruction, bytes per cache.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace qtx::bench {

struct Peak {
  std::string name;     // "vpdpbusd 512"
  bool floats = false;  // of binary32, else of bytes
  int threads = 1;
  double gops = 0;  // 10^9 operations a second, two a multiply-add
};

struct Bandwidth {
  std::string level;       // "L1", "L2", "L3", "DRAM"
  std::int64_t bytes = 0;  // that each thread reads over and over
  int threads = 1;
  double gbps = 0;  // 10^9 bytes a second
};

struct Machine {
  std::string processor;  // as the system calls it
  std::vector<Peak> peaks;
  std::vector<Bandwidth> bandwidths;
};

/// Measures with each number of threads, each figure the best of runs that take `seconds` together.
Machine MeasureMachine(const std::vector<int>& threads, double seconds);

/// The highest peak of that kind and number of threads; nullptr when none was measured.
const Peak* HighestPeak(const Machine& machine, bool floats, int threads);

}  // namespace qtx::bench

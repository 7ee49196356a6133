// Measures the machine's peaks: multiply-adds per second, and bandwidth of each cache level.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace qtx::bench {

struct Peak {
  std::string name;     // "vpdpbusd 512"
  bool floats = false;  // binary32; else int8
  int threads = 1;
  double gops = 0;  // 10^9 operations per second; a multiply-add is two
};

struct Bandwidth {
  std::string level;       // "L1", "L2", "L3", "DRAM"
  std::int64_t bytes = 0;  // that each thread reads repeatedly
  int threads = 1;
  double gbps = 0;  // 10^9 bytes per second
};

struct Machine {
  std::string processor;  // its name in the operating system
  std::vector<Peak> peaks;
  std::vector<Bandwidth> bandwidths;
};

/// Measures with each number of threads, or where the system refuses so many, with fewer; each
/// figure is the best of repeated runs over `seconds`.
Machine MeasureMachine(const std::vector<int>& threads, double seconds);

/// The highest peak for that kind and number of threads; nullptr when none was measured.
const Peak* HighestPeak(const Machine& machine, bool floats, int threads);

}  // namespace qtx::bench

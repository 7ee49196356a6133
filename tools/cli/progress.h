// One line on a terminal that says how far a run is; nothing where stderr is a file.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

#include "qtx/conformance/runner.h"

namespace qtx::cli {

/// Results there are of those planned, failures among them, results per second, and the case that
/// was begun last: the one that hangs, if any does. Redrawn ten times a second while it lives.
class ProgressLine {
 public:
  /// Sets the callbacks of `run`, which must not outlive this.
  explicit ProgressLine(conformance::RunOptions& run);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  void Draw(const std::stop_token& stop);
  std::string Text() const;

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::size_t planned_ = 0;
  std::size_t done_ = 0;
  std::size_t failed_ = 0;
  std::string current_;
  Clock::time_point start_ = Clock::now();
  std::jthread drawer_;  // the last member: it uses the others
};

}  // namespace qtx::cli

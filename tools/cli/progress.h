// A progress line on a terminal; none if stderr is a file.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "qtx/conformance/runner.h"

namespace qtx::cli {

/// Shows the result of `text` ten times a second, starting after `delay`.
class ProgressLine {
 public:
  explicit ProgressLine(std::function<std::string()> text, std::chrono::milliseconds delay = {});
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  void Draw(const std::stop_token& stop);

  std::function<std::string()> text_;
  std::chrono::milliseconds delay_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread drawer_;  // last, because it uses the other members
};

/// Shows results done and planned, failures, results per second, and the case begun last, which may
/// hang.
class RunProgress {
 public:
  /// Sets the callbacks of `run`, which must not outlive this.
  explicit RunProgress(conformance::RunOptions& run);

 private:
  using Clock = std::chrono::steady_clock;
  std::string Text();

  std::mutex mutex_;
  std::size_t planned_ = 0;
  std::size_t done_ = 0;
  std::size_t failed_ = 0;
  std::string current_;
  Clock::time_point start_ = Clock::now();
  ProgressLine line_;
};

}  // namespace qtx::cli

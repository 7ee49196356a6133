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

/// Shows the result of `text` ten times a second, starting after `delay`; nothing if `quiet`.
class ProgressLine {
 public:
  ProgressLine(std::function<std::string()> text, bool quiet, std::chrono::milliseconds delay = {});
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

/// "9 s", "3 min 4 s", "1 h 2 min".
std::string Duration(double seconds);

/// Shows how far counted work is, from one second on: "12/40  3.1/s  9 s left  conv/x", and until
/// it is counted how long it takes: "reading, 3 s".
class WorkProgress {
 public:
  WorkProgress(bool quiet, std::string what);
  /// `now` is what is done at present. Another `all` than the last begins to count anew.
  /// Thread-safe.
  void Set(std::size_t done, std::size_t all, std::string now = "");

 private:
  using Clock = std::chrono::steady_clock;
  std::string Text();

  std::mutex mutex_;
  std::string what_, now_;
  std::size_t first_ = 0, done_ = 0, all_ = 0;  // `first_` were done at `start_`
  Clock::time_point start_ = Clock::now();
  ProgressLine line_;
};

/// Shows results done and planned, failures, and the case begun last, which may hang.
class RunProgress {
 public:
  /// Sets the callbacks of `run`, which must not outlive this.
  RunProgress(conformance::RunOptions& run, bool quiet);

 private:
  void Show();

  std::mutex mutex_;
  std::size_t planned_ = 0, done_ = 0, failed_ = 0;
  std::string current_;
  WorkProgress work_;
};

}  // namespace qtx::cli

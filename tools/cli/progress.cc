#include "progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "qtx/conformance/report.h"
#include "qtx/format/print.h"

namespace qtx::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kRedraw = 100ms;

std::size_t Columns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace

ProgressLine::ProgressLine(std::function<std::string()> text, std::chrono::milliseconds delay)
    : text_(std::move(text)), delay_(delay) {
  if (isatty(STDERR_FILENO) == 0) return;
  drawer_ = std::jthread([this](const std::stop_token& stop) { Draw(stop); });
}

ProgressLine::~ProgressLine() {
  if (!drawer_.joinable()) return;
  drawer_.request_stop();
  drawer_.join();
}

void ProgressLine::Draw(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  bool drawn = false;
  for (auto wait = delay_; !wake_.wait_for(lock, stop, wait, [&] { return stop.stop_requested(); });
       wait = kRedraw) {
    // The last column stays free: some terminals wrap when it is written.
    const std::string line = format::Printable(text_(), Columns() - 1);
    format::Print(stderr, "\r{}\x1b[K", line);
    std::fflush(stderr);
    drawn = true;
  }
  if (drawn) format::Print(stderr, "\r\x1b[K");
}

RunProgress::RunProgress(conformance::RunOptions& run) : line_([this] { return Text(); }) {
  if (isatty(STDERR_FILENO) == 0) return;
  run.planned = [this](std::size_t cases) {
    const std::scoped_lock lock(mutex_);
    planned_ = cases;
    start_ = Clock::now();
  };
  run.started = [this](const std::string& id) {
    const std::scoped_lock lock(mutex_);
    current_ = id;
  };
  run.progress = [this](const conformance::CaseResult& result) {
    const std::scoped_lock lock(mutex_);
    ++done_;
    if (conformance::Fails(result.outcome)) ++failed_;
  };
}

std::string RunProgress::Text() {
  const std::scoped_lock lock(mutex_);
  if (planned_ == 0) return "starting the backends";
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const double rate = static_cast<double>(done_) / std::max(seconds, 1e-3);
  return fmt::format("{}/{}  {} failed  {:.0f}/s  {}", done_, planned_, failed_, rate, current_);
}

}  // namespace qtx::cli

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

ProgressLine::ProgressLine(std::function<std::string()> text, bool quiet,
                           std::chrono::milliseconds delay)
    : text_(std::move(text)), delay_(delay) {
  if (quiet || isatty(STDERR_FILENO) == 0) return;
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

std::string Duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

WorkProgress::WorkProgress(bool quiet, std::string what)
    : what_(std::move(what)), line_([this] { return Text(); }, quiet, 1s) {}

void WorkProgress::Set(std::size_t done, std::size_t all, std::string now) {
  const std::scoped_lock lock(mutex_);
  if (all != all_ || done < done_) {
    first_ = done;
    start_ = Clock::now();
  }
  done_ = done;
  all_ = all;
  now_ = std::move(now);
}

std::string WorkProgress::Text() {
  const std::scoped_lock lock(mutex_);
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (all_ == 0) return fmt::format("{}, {}", what_, Duration(seconds));
  const double rate = static_cast<double>(done_ - first_) / std::max(seconds, 1e-3);
  const double left = rate > 0 ? static_cast<double>(all_ - done_) / rate : 0;
  return fmt::format("{}/{}  {:.1f}/s  {} left  {}", done_, all_, rate,
                     rate > 0 ? Duration(left) : "?", now_);
}

RunProgress::RunProgress(conformance::RunOptions& run, bool quiet)
    : work_(quiet, "starting the backends") {
  run.planned = [this](std::size_t cases) {
    const std::scoped_lock lock(mutex_);
    planned_ = cases;
    done_ = failed_ = 0;
    Show();
  };
  run.started = [this](const std::string& id) {
    const std::scoped_lock lock(mutex_);
    current_ = id;
    Show();
  };
  run.progress = [this](const conformance::CaseResult& result) {
    const std::scoped_lock lock(mutex_);
    ++done_;
    if (conformance::Fails(result.outcome)) ++failed_;
    Show();
  };
}

void RunProgress::Show() {
  work_.Set(done_, planned_, fmt::format("{} failed  {}", failed_, current_));
}

}  // namespace qtx::cli

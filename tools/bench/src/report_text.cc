#include <fmt/core.h>

#include <algorithm>

#include "qtx/bench/report.h"
#include "qtx/conformance/report.h"

namespace qtx::bench {
namespace {

constexpr std::size_t kMaxName = 36, kMaxReason = 200;

std::string Seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string Text(const std::optional<Ratio>& ratio) {
  if (!ratio) return "-";
  const Spread& s = ratio->spread;
  return fmt::format("{:.2f} ({:.2f}-{:.2f})", s.median, s.low, s.high);
}

std::string Exactness(const Row& row) {
  if (!row.comparison) return "unchecked";
  if (row.exact()) return "exact";
  const Comparison& c = *row.comparison;
  if (row.floats) return fmt::format("max {:.1e}", c.largest_difference);
  const double share = 100.0 * static_cast<double>(c.differing) / static_cast<double>(c.elements);
  const std::string off = fmt::format("{:.2g}% off by {:g}", share, c.largest_difference);
  return row.right() ? off + ", as " + conformance::Printable(row.arithmetic, kMaxName) : off;
}

// Half the interquartile range, in percent of the median.
double SpreadPercent(const Spread& spread) {
  return 50 * (spread.high - spread.low) / spread.median;
}

std::string Line(const Machine& machine, const Row& row) {
  const std::string name = conformance::Printable(row.label, kMaxName);
  const std::string begin = fmt::format("  {:<6} {:>2}  {:<16}", row.types, row.threads, name);
  if (!row.measured()) {
    return fmt::format("{} {}: {}\n", begin, row.outcome,
                       conformance::Printable(row.reason, kMaxReason));
  }
  const Spread seconds = row.seconds();
  const Peak* peak = PeakOf(machine, row);
  const std::string fraction =
      peak == nullptr ? "-" : fmt::format("{:.0f}%", 100 * row.gops() / peak->gops);
  return fmt::format("{} {:>8.1f} {:>10} {:>5.1f}% {:>5}  {:<26} {:<17} {:<17} {:<17} {}\n", begin,
                     row.gops(), Seconds(seconds.median), SpreadPercent(seconds), fraction,
                     Exactness(row), Text(row.to_best_exact_peer),
                     Text(row.to_best_conforming_peer), Text(row.to_best_peer),
                     Text(row.to_best_float_peer));
}

}  // namespace

const Peak* PeakOf(const Machine& machine, const Row& row) {
  return HighestPeak(machine, row.floats, row.threads);
}

std::string ToText(const Machine& machine) {
  std::string text = machine.processor + "\n";
  for (const Peak& peak : machine.peaks) {
    text += fmt::format("  {:>2} threads  {:<16} {:>8.1f} GOP/s ({})\n", peak.threads, peak.name,
                        peak.gops, peak.floats ? "float" : "integer");
  }
  for (const Bandwidth& bandwidth : machine.bandwidths) {
    text += fmt::format("  {:>2} threads  {:<16} {:>8.1f} GB/s ({} KiB each)\n", bandwidth.threads,
                        "read " + bandwidth.level, bandwidth.gbps, bandwidth.bytes / 1024);
  }
  text += fmt::format(
      "\nRatios: how many times as fast as the fastest other backend that is exact, conforms to "
      "its own\n"
      "arithmetic, is there at all, computes the float twin: the median of rounds and its "
      "quartiles.\n"
      "+-: half of what lies between the quartiles of times, in percent of their median.\n"
      "  {:<6} {:>2}  {:<16} {:>8} {:>10} {:>6} {:>5}  {:<26} {:<17} {:<17} {:<17} {}\n",
      "types", "th", "backend", "GOP/s", "time", "+-", "peak", "result", "to exact",
      "to conforming", "to any", "to float");
  return text;
}

std::string ToText(const Machine& machine, const Results& results) {
  std::string text;
  for (const Skipped& skipped : results.skipped) {
    text += fmt::format("{} {} is left out: {}\n", conformance::Printable(skipped.work, kMaxReason),
                        skipped.types, conformance::Printable(skipped.reason, kMaxReason));
  }
  if (results.rows.empty()) return text;
  const Row& first = results.rows.front();
  text += fmt::format("{}  {}{}\n", first.work, first.shape,
                      first.count > 1 ? fmt::format("  ({} times)", first.count) : "");
  for (const Row& row : results.rows) text += Line(machine, row);
  return text;
}

}  // namespace qtx::bench

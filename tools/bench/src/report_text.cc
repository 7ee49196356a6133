#include <algorithm>

#include "qtx/bench/report.h"
#include "qtx/format/print.h"

namespace qtx::bench {
namespace {

using format::Format;
using format::Printable;

constexpr std::size_t kMaxName = 36, kMaxReason = 200;

Printable Seconds(double seconds) {
  if (seconds < 1e-3) return Format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return Format("{:.2f} ms", seconds * 1e3);
  return Format("{:.2f} s", seconds);
}

Printable Text(const std::optional<Ratio>& ratio) {
  if (!ratio) return Printable("-");
  const Spread& s = ratio->spread;
  return Format("{:.2f} ({:.2f}-{:.2f})", s.median, s.low, s.high);
}

Printable Exactness(const Row& row) {
  if (!row.comparison) return Printable("unchecked");
  if (row.exact()) return Printable("exact");
  const Comparison& c = *row.comparison;
  if (row.floats) return Format("max {:.1e}", c.largest_difference);
  const double share = 100.0 * static_cast<double>(c.differing) / static_cast<double>(c.elements);
  const Printable off = Format("{:.2g}% off by {:g}", share, c.largest_difference);
  return row.right() ? Format("{}, as {}", off, Printable(row.arithmetic, kMaxName)) : off;
}

// Half the interquartile range, in percent of the median.
double SpreadPercent(const Spread& spread) {
  return 50 * (spread.high - spread.low) / spread.median;
}

Printable Line(const Machine& machine, const Row& row) {
  const Printable name(row.label, kMaxName);
  const Printable begin = Format("  {:<6} {:>2}  {:<16}", row.types, row.threads, name);
  if (!row.measured()) {
    return Format("{} {}: {}\n", begin, row.outcome, Printable(row.reason, kMaxReason));
  }
  const Spread seconds = row.seconds();
  const Peak* peak = PeakOf(machine, row);
  const std::string fraction =
      peak == nullptr ? Printable("-") : Format("{:.0f}%", 100 * row.gops() / peak->gops);
  return Format("{} {:>8.1f} {:>10} {:>5.1f}% {:>5}  {:<26} {:<17} {:<17} {:<17} {}\n", begin,
                row.gops(), Seconds(seconds.median), SpreadPercent(seconds), fraction,
                Exactness(row), Text(row.to_best_exact_peer), Text(row.to_best_conforming_peer),
                Text(row.to_best_peer), Text(row.to_best_float_peer));
}

}  // namespace

const Peak* PeakOf(const Machine& machine, const Row& row) {
  return HighestPeak(machine, row.floats, row.threads);
}

Printable ToText(const Machine& machine) {
  Printable text = Format("{}\n", machine.processor);
  for (const Peak& peak : machine.peaks) {
    text += Format("  {:>2} threads  {:<16} {:>8.1f} GOP/s ({})\n", peak.threads, peak.name,
                   peak.gops, peak.floats ? "float" : "integer");
  }
  for (const Bandwidth& bandwidth : machine.bandwidths) {
    text += Format("  {:>2} threads  {:<16} {:>8.1f} GB/s ({} KiB each)\n", bandwidth.threads,
                   "read " + bandwidth.level, bandwidth.gbps, bandwidth.bytes / 1024);
  }
  text += Format(
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

Printable ToText(const Machine& machine, const Results& results) {
  Printable text;
  for (const Skipped& skipped : results.skipped) {
    text += Format("{} {} is left out: {}\n", Printable(skipped.work, kMaxReason), skipped.types,
                   Printable(skipped.reason, kMaxReason));
  }
  if (results.rows.empty()) return text;
  const Row& first = results.rows.front();
  text += Format("{}  {}{}\n", first.work, first.shape,
                 first.count > 1 ? Format("  ({} times)", first.count) : Printable());
  for (const Row& row : results.rows) text += Line(machine, row);
  return text;
}

}  // namespace qtx::bench

// Rooflines: one panel for each number of threads and kind of numbers. Both axes are logarithmic.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "label_places.h"
#include "qtx/bench/report.h"
#include "qtx/format/text.h"

namespace qtx::bench {
namespace {

constexpr double kPanelWidth = 900, kPanelHeight = 520;  // with the labels around the plot
constexpr double kLeft = 70, kRight = 150, kTop = 50, kBottom = 60;
constexpr double kLegendHeight = 26;
constexpr std::size_t kMaxLabel = 40;
// Of a name at a point; no letter that a workload is named with is wider in the usual fonts.
constexpr double kNameWidth = 6.5, kNameHeight = 11;
constexpr double kDiagonalName = 75;  // the longest name of a memory's line
constexpr double kMarkerReach = 5.5;  // of a marker, from its centre

// Shapes differ as well as colours, for colour-blind readers.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#000000", "#8c564b"};
constexpr std::size_t kStyles = std::size(kColours);

// A marker's outline around 0, 0.
constexpr const char* kMarkers[kStyles] = {"M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
                                           "M-4,-4h8v8h-8z",
                                           "M0,-5l5,9h-10z",
                                           "M0,-5.5l5,5.5l-5,5.5l-5,-5.5z",
                                           "M0,5l5,-9h-10z",
                                           "M-5,-2h10v4h-10z",
                                           "M-2,-5h4v10h-4z",
                                           "M-5,-4h10l-5,8z"};

std::string Escaped(std::string_view text, std::size_t limit = kMaxLabel) {
  return format::EscapeXml(format::Printable(text, limit).text());
}

double Intensity(const Row& row) {
  return 2.0 * static_cast<double>(row.multiply_adds) / static_cast<double>(row.bytes);
}

bool HasPoint(const Row& row) { return row.measured() && row.multiply_adds > 0 && row.bytes > 0; }

// Maps a logarithmic range, widened to powers of two, to pixels.
class Axis {
 public:
  Axis(double low, double high, double from, double to)
      : low_(std::floor(std::log2(low))),
        high_(std::max(std::ceil(std::log2(high)), low_ + 1)),
        from_(from),
        to_(to) {}
  double operator()(double value) const {
    return from_ + (std::log2(value) - low_) / (high_ - low_) * (to_ - from_);
  }
  double low() const { return std::exp2(low_); }
  double high() const { return std::exp2(high_); }
  /// Tick positions: about ten at most, evenly spaced.
  std::vector<double> Ticks() const {
    const int low = static_cast<int>(low_), high = static_cast<int>(high_);
    const int step = std::max(1, (high - low + 9) / 10);
    std::vector<double> ticks;
    for (int exponent = low; exponent <= high; exponent += step) {
      ticks.push_back(std::ldexp(1, exponent));
    }
    return ticks;
  }

 private:
  double low_, high_, from_, to_;
};

std::string TickLabel(double value) {
  return value >= 1 ? fmt::format("{:.0f}", value) : fmt::format("1/{:.0f}", 1 / value);
}

std::string Line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2,
      y2, style);
}

std::string Label(double x, double y, const char* style, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, style, text);
}

// The contents of one panel.
struct Panel {
  int threads;
  bool floats;
  std::vector<const Row*> rows;
  std::vector<const Peak*> peaks;
  std::vector<const Bandwidth*> bandwidths;
};

class Plot {
 public:
  explicit Plot(const Panel& panel) : panel_(panel), x_(XAxis(panel)), y_(YAxis(panel)) {}

  std::string Svg(const std::vector<std::string>& backends) const {
    return Frame() + Roofs() + Names() + Points(backends);
  }

 private:
  static Axis XAxis(const Panel& panel) {
    double low = 1, high = 64;
    for (const Row* row : panel.rows) {
      low = std::min(low, Intensity(*row));
      high = std::max(high, Intensity(*row));
    }
    // Room on the left for the diagonals and their names.
    return {low / 4, high * 1.1, kLeft, kPanelWidth - kRight};
  }
  static Axis YAxis(const Panel& panel) {
    double low = 1e300, high = 1;
    for (const Row* row : panel.rows) {
      low = std::min(low, row->gops());
      high = std::max(high, row->gops());
    }
    for (const Peak* peak : panel.peaks) high = std::max(high, peak->gops);
    return {std::min(low, high / 64), high * 1.1, kPanelHeight - kBottom, kTop};
  }

  std::string Frame() const {
    const double bottom = kPanelHeight - kBottom, right = kPanelWidth - kRight;
    std::string svg =
        Label(kLeft, kTop - 18, "title",
              fmt::format("{}, {} thread{}", panel_.floats ? "fp32" : "8-bit integers",
                          panel_.threads, panel_.threads == 1 ? "" : "s"));
    for (const double tick : x_.Ticks()) {
      svg += Line(x_(tick), kTop, x_(tick), bottom, "grid");
      svg += Label(x_(tick), bottom + 18, "middle", TickLabel(tick));
    }
    for (const double tick : y_.Ticks()) {
      svg += Line(kLeft, y_(tick), right, y_(tick), "grid");
      svg += Label(kLeft - 8, y_(tick) + 4, "end", TickLabel(tick));
    }
    svg += Label((kLeft + right) / 2, bottom + 42, "middle",
                 "operations per byte of weights, inputs and outputs");
    svg += fmt::format(
        "<text transform=\"translate(18 {:.1f}) rotate(-90)\" class=\"middle\">GOP/s</text>\n",
        (kTop + bottom) / 2);
    return svg;
  }

  // Peaks are horizontal lines, from where the fastest memory can feed them; memories are diagonals
  // up to the highest peak.
  std::string Roofs() const {
    std::string svg;
    double highest = y_.high(), fastest = 0;
    if (!panel_.peaks.empty()) {
      highest = (*std::ranges::max_element(panel_.peaks, {}, &Peak::gops))->gops;
    }
    for (const Bandwidth* memory : panel_.bandwidths) fastest = std::max(fastest, memory->gbps);
    double above = -1e9;
    std::vector<const Peak*> peaks = panel_.peaks;
    std::ranges::sort(peaks, std::ranges::greater(), &Peak::gops);
    for (const Peak* peak : peaks) {
      const double start = fastest > 0 ? std::max(x_.low(), peak->gops / fastest) : x_.low();
      const double y = y_(peak->gops);
      if (start < x_.high()) svg += Line(x_(start), y, x_(x_.high()), y, "roof");
      above = std::max(y + 4, above + 13);  // labels do not overlap
      svg += Label(kPanelWidth - kRight + 6, above, "small",
                   fmt::format("{}: {:.0f}", Escaped(peak->name), peak->gops));
    }
    // Names of lines that lie close together follow each other.
    double last = 1e300, along = 0;
    for (const Bandwidth* memory : panel_.bandwidths) {
      const double height = std::log2(memory->gbps);
      along = std::abs(height - last) < 0.5 ? along + kDiagonalName : 0;
      last = height;
      svg += Diagonal(*memory, highest, along);
    }
    return svg;
  }

  std::string Diagonal(const Bandwidth& memory, double highest, double along) const {
    const double left = std::max(x_.low(), y_.low() / memory.gbps);
    const double right = std::min(x_.high(), highest / memory.gbps);
    if (left >= right) return "";
    const double x1 = x_(left), y1 = y_(left * memory.gbps);
    const double x2 = x_(right), y2 = y_(right * memory.gbps);
    const double angle = std::atan2(y2 - y1, x2 - x1) * 180 / std::acos(-1.0);
    const double length = std::hypot(x2 - x1, y2 - y1);
    const bool roomy = length > along + kDiagonalName;
    std::string svg = Line(x1, y1, x2, y2, "roof");
    if (roomy) {
      svg += fmt::format(
          "<text transform=\"translate({:.1f} {:.1f}) rotate({:.1f})\" class=\"small\">{} {:.0f} "
          "GB/s</text>\n",
          x1 + 5 + along * (x2 - x1) / length, y1 - 9 + along * (y2 - y1) / length, angle,
          Escaped(memory.level), memory.gbps);
    }
    return svg;
  }

  // The points of a workload, which all have its intensity, share one name, at the fastest.
  std::string Names() const {
    const double bottom = kPanelHeight - kBottom, right = kPanelWidth - kRight;
    LabelPlaces places({kLeft, kTop, right, bottom});
    std::vector<const Row*> fastest = panel_.rows;
    std::ranges::stable_sort(fastest, std::ranges::greater(), &Row::gops);
    for (const Row* row : fastest) {
      const double x = x_(Intensity(*row)), y = y_(row->gops());
      places.Block({x - kMarkerReach, y - kMarkerReach, x + kMarkerReach, y + kMarkerReach});
    }
    std::string svg;
    std::set<std::string_view> named;
    int left_out = 0;
    for (const Row* row : fastest) {
      if (!named.insert(row->work).second) continue;
      const double x = x_(Intensity(*row)), y = y_(row->gops());
      const auto text = format::Printable(row->work, kMaxLabel).text();
      const auto box =
          places.Place(x, y, kNameWidth * static_cast<double>(text.size()), kNameHeight);
      if (!box) {
        ++left_out;
        continue;
      }
      const bool before = box->right <= x, after = box->left >= x;
      const double at = before ? box->right : after ? box->left : (box->left + box->right) / 2;
      const double near = std::clamp(y, box->top, box->bottom);
      if (std::hypot(at - x, near - y) > 2 * kMarkerReach) svg += Line(x, y, at, near, "lead");
      svg += Label(at, box->bottom - 2,
                   before  ? "name end"
                   : after ? "name"
                           : "name middle",
                   format::EscapeXml(text));
    }
    if (left_out > 0) {
      svg += Label(right, kTop - 18, "small end",
                   fmt::format("{} names have no room: point at a mark to see its name", left_out));
    }
    return svg;
  }

  std::string Points(const std::vector<std::string>& backends) const {
    std::string svg;
    for (const Row* row : panel_.rows) {
      const auto found = std::ranges::find(backends, row->label);
      const auto style = static_cast<std::size_t>(found - backends.begin()) % kStyles;
      const bool filled = row->exact() || (panel_.floats && row->comparison.has_value());
      svg += fmt::format(
          "<path transform=\"translate({:.1f} {:.1f})\" d=\"{}\" stroke=\"{}\" fill=\"{}\" "
          "fill-opacity=\"0.55\"><title>{} {} {}: {:.1f} GOP/s</title></path>\n",
          x_(Intensity(*row)), y_(row->gops()), kMarkers[style], kColours[style],
          filled ? kColours[style] : "white", Escaped(row->label), Escaped(row->work),
          Escaped(row->types), row->gops());
    }
    return svg;
  }

  const Panel& panel_;
  Axis x_, y_;
};

Panel MakePanel(const Report& report, bool floats, int threads) {
  Panel panel{threads, floats, {}, {}, {}};
  for (const Row& row : report.results.rows) {
    const bool here = row.threads == threads && row.floats == floats;
    if (here && HasPoint(row)) panel.rows.push_back(&row);
  }
  for (const Peak& peak : report.machine.peaks) {
    if (peak.threads == threads && peak.floats == floats) panel.peaks.push_back(&peak);
  }
  for (const Bandwidth& memory : report.machine.bandwidths) {
    if (memory.threads == threads) panel.bandwidths.push_back(&memory);
  }
  return panel;
}

std::vector<Panel> Panels(const Report& report) {
  std::set<std::pair<bool, int>> kinds;
  for (const Row& row : report.results.rows) {
    if (HasPoint(row)) kinds.insert({row.floats, row.threads});
  }
  std::vector<Panel> panels;
  panels.reserve(kinds.size());
  for (const auto& [floats, threads] : kinds) panels.push_back(MakePanel(report, floats, threads));
  return panels;
}

std::string Legend(const std::vector<std::string>& backends) {
  std::string svg;
  double x = kLeft;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    const std::string name = Escaped(backends[i]);
    svg += fmt::format(
        "<path transform=\"translate({:.1f} 38)\" d=\"{}\" stroke=\"{}\" fill=\"{}\"/>\n", x,
        kMarkers[i % kStyles], kColours[i % kStyles], kColours[i % kStyles]);
    svg += Label(x + 10, 42, "plain", name);
    x += 30 + 7.5 * static_cast<double>(name.size());
  }
  return svg + Label(kLeft, 56, "small", "hollow: not the exact result, or not checked");
}

constexpr const char* kStyle =
    "<style>text{font:12px sans-serif;fill:#222}.title{font-weight:bold;font-size:14px}"
    ".middle{text-anchor:middle}.end{text-anchor:end}.small{font-size:11px;fill:#444;paint-order:"
    "stroke;stroke:white;stroke-width:3px}"
    ".name{font-size:10px;fill:#333;paint-order:stroke;stroke:white;stroke-width:2.5px}"
    ".lead{stroke:#999;stroke-width:.6}"
    ".grid{stroke:#e4e4e4}.roof{stroke:#777;stroke-width:1.2;stroke-dasharray:6 3}</style>\n";

}  // namespace

std::string ToSvg(const Report& report) {
  const std::vector<Panel> panels = Panels(report);
  std::vector<std::string> backends;
  for (const Row& row : report.results.rows) {
    if (std::ranges::find(backends, row.label) == backends.end()) backends.push_back(row.label);
  }
  const double head = kLegendHeight + 26;
  const double foot = 24;
  const double height = head + kPanelHeight * static_cast<double>(panels.size()) + foot;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n{2}<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n",
      kPanelWidth, height, kStyle);
  svg += Label(kLeft, 20, "title", Escaped(report.machine.processor));
  svg += Legend(backends);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    svg += fmt::format("<g transform=\"translate(0 {:.0f})\">\n",
                       head + kPanelHeight * static_cast<double>(i));
    svg += Plot(panels[i]).Svg(backends) + "</g>\n";
  }
  const std::string summary = conformance::Summary(report.provenance);
  svg += Label(kLeft, height - 8, "small", Escaped(summary, summary.size()));
  return svg + "</svg>\n";
}

}  // namespace qtx::bench

#include "qtx/quantize/range.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "distribution.h"
#include "qtx/format/tensor_type.h"
#include "searches.h"

namespace qtx::quantize {
namespace {

using Kind = RangeMethod::Kind;

struct MethodRow {
  Kind kind;
  std::string_view name;
  double least, most;  // range of the parameter, (least, most]; 0, 0: none
};
constexpr std::array<MethodRow, 6> kMethods = {{
    {Kind::kMinMax, "minmax", 0, 0},
    {Kind::kPercentile, "percentile", 50, 100},
    {Kind::kStd, "std", 0, 1e6},
    {Kind::kEntropy, "entropy", 0, 0},
    {Kind::kMse, "mse", 0, 0},
    {Kind::kLp, "lp", 0, 16},
}};

const MethodRow& RowOf(Kind kind) { return *std::ranges::find(kMethods, kind, &MethodRow::kind); }

Result<RangeMethod> ParseOne(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const auto row = std::ranges::find(kMethods, name, &MethodRow::name);
  if (row == kMethods.end()) {
    return Error{ErrorCode::kInvalid, "",
                 "found '" + std::string(text) +
                     "', expected minmax, percentile=P, std=K, entropy, mse or lp=P"};
  }
  const bool takes = row->most > 0;
  if (takes != (equals != std::string_view::npos)) {
    return Error{ErrorCode::kInvalid, "",
                 "found '" + std::string(text) + "', expected " + std::string(name) +
                     (takes ? "=NUMBER" : " without a number")};
  }
  RangeMethod method{row->kind, 0};
  if (!takes) return method;
  const auto number = format::ParseFloat(text.substr(equals + 1));
  if (!number.has_value() || !(*number > row->least && *number <= row->most)) {
    return Error{ErrorCode::kInvalid, "",
                 "found '" + std::string(text) + "', expected a number above " +
                     std::to_string(static_cast<int>(row->least)) + ", at most " +
                     std::to_string(static_cast<int>(row->most))};
  }
  method.parameter = *number;
  return method;
}

bool IsAsymmetric(const TypeSpec& spec) {
  return spec.scheme == format::Scheme::kAsymmetric ||
         spec.scheme == format::Scheme::kAsymmetricPow2;
}

// The quantile: the point below which `wanted` of the values lie.
double Quantile(const std::vector<Mass>& masses, double wanted) {
  double seen = 0;
  for (const Mass& mass : masses) {
    if (seen + mass.count >= wanted && mass.count > 0)
      return mass.lower + (mass.upper - mass.lower) * std::max(0.0, (wanted - seen) / mass.count);
    seen += mass.count;
  }
  return masses.back().upper;
}

Range Percentile(const Distribution& data, double percent, const TypeSpec& spec) {
  const double outside = (100 - percent) / 100 * data.count;
  if (IsAsymmetric(spec)) {
    return {Quantile(data.masses, outside / 2), Quantile(data.masses, data.count - outside / 2)};
  }
  const double t = Quantile(Magnitudes(data), data.count - outside);
  return {std::max(-t, data.extremes->min), std::min(t, data.extremes->max)};
}

// The statistics that `data` lacks for the method; empty: none.
std::string_view Lacking(const Distribution& data, Kind kind) {
  if (!data.extremes) return "min and max";
  if (kind == Kind::kMinMax) return "";
  if (kind == Kind::kStd) return data.mean && data.std ? "" : "mean and std";
  return data.masses.empty() ? "a histogram" : "";
}

Range Apply(const Distribution& data, const RangeMethod& method, const TypeSpec& spec) {
  const Range all = *data.extremes;
  switch (method.kind) {
    case Kind::kMinMax:
      return all;
    case Kind::kPercentile:
      return Percentile(data, method.parameter, spec);
    case Kind::kStd:
      return {std::clamp(*data.mean - method.parameter * *data.std, all.min, all.max),
              std::clamp(*data.mean + method.parameter * *data.std, all.min, all.max)};
    case Kind::kEntropy:
      return LeastDivergence(data, spec);
    case Kind::kMse:
      return LeastError(data, 2, spec);
    case Kind::kLp:
      return LeastError(data, method.parameter, spec);
  }
  return all;
}

Result<ChosenRange> Choose(const Distribution& data, const RangeMethods& methods,
                           const TypeSpec& spec) {
  std::string lacking;
  for (const RangeMethod& method : methods) {
    const std::string_view lacks = Lacking(data, method.kind);
    if (lacks.empty()) return ChosenRange{Apply(data, method, spec), method};
    lacking += (lacking.empty() ? "" : ", ") + ToText(method) + " needs " + std::string(lacks);
  }
  return Error{ErrorCode::kInvalid, "", "found none of what is needed: " + lacking};
}

}  // namespace

std::string ToText(const RangeMethod& method) {
  const MethodRow& row = RowOf(method.kind);
  std::string text(row.name);
  if (row.most == 0) return text;
  std::array<char, 32> number{};
  const int size = std::snprintf(number.data(), number.size(), "%.15g", method.parameter);
  return text + "=" + std::string(number.data(), static_cast<std::size_t>(size));
}

Result<RangeMethods> ParseRangeMethods(std::string_view text) {
  RangeMethods methods;
  while (true) {
    const std::size_t comma = text.find(',');
    QTX_ASSIGN_OR_RETURN(const RangeMethod method, ParseOne(text.substr(0, comma)));
    methods.push_back(method);
    if (comma == std::string_view::npos) return methods;
    text.remove_prefix(comma + 1);
  }
}

Result<ChosenRange> RangeOf(const format::Statistics& statistics, const RangeMethods& methods,
                            const TypeSpec& spec) {
  return Choose(DistributionOf(statistics), methods, spec);
}

Result<ChosenRange> RangeOf(std::span<const float> values, const RangeMethods& methods,
                            const TypeSpec& spec) {
  return Choose(DistributionOf(values), methods, spec);
}

}  // namespace qtx::quantize

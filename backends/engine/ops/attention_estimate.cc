#include "engine/ops/attention_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/double_double.h"
#include "engine/ops/reals.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

constexpr double kUnit = 0x1p-53;

/// sum of a * b within `error`.
Estimate Dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
  double magnitude = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum += a[i] * b[i];
    magnitude += std::fabs(a[i] * b[i]);
  }
  return {sum, magnitude * static_cast<double>(n + 2) * kUnit};
}

// Keys or values as [batch, heads, total, width].
std::optional<std::vector<double>> Joined(const AttentionPlan& p, const Value* past,
                                          const Value* now, std::int64_t width) {
  const auto fresh = ExactDoubles(now->tensor);
  const auto old = past != nullptr ? ExactDoubles(past->tensor) : std::vector<double>();
  if (!fresh.has_value() || !old.has_value()) return std::nullopt;
  std::vector<double> all;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      const std::int64_t first = (b * p.heads + h) * p.past * width;
      all.insert(all.end(), old->begin() + first, old->begin() + first + p.past * width);
      for (std::int64_t j = 0; j < p.keys; ++j) {
        const auto row = fresh->begin() + p.At(b, h, j, 0, p.heads, p.keys, width);
        all.insert(all.end(), row, row + width);
      }
    }
  }
  return all;
}

}  // namespace

std::optional<std::vector<double>> ExactDoubles(const format::Tensor& tensor) {
  if (!IsRealOutput(tensor.elem_type)) return std::nullopt;
  std::vector<double> values;
  for (const Term& term : RealsOf(tensor)) {
    const DoubleDouble value = ValueOf(term);
    // Products of larger or smaller ones might leave the range where bounds are relative.
    const double magnitude = std::fabs(value.high);
    const bool regular = magnitude == 0 || (magnitude > 0x1p-200 && magnitude < 0x1p200);
    if (value.low != 0 || !regular) return std::nullopt;
    values.push_back(value.high);
  }
  return values;
}

std::optional<AttentionEstimates> AttentionEstimates::Read(const AttentionPlan& plan) {
  if (sgn(plan.softcap) != 0) return std::nullopt;
  AttentionEstimates result;
  const auto queries = ExactDoubles(plan.q->tensor);
  auto keys = Joined(plan, plan.past_key, plan.k, plan.size);
  auto values = Joined(plan, plan.past_value, plan.v, plan.value_size);
  if (!queries.has_value() || !keys.has_value() || !values.has_value()) return std::nullopt;
  for (std::int64_t b = 0; b < plan.batch; ++b) {
    for (std::int64_t h = 0; h < plan.query_heads; ++h) {
      for (std::int64_t i = 0; i < plan.queries; ++i) {
        const auto row =
            queries->begin() + plan.At(b, h, i, 0, plan.query_heads, plan.queries, plan.size);
        result.queries_.insert(result.queries_.end(), row, row + plan.size);
      }
    }
  }
  result.keys_ = *std::move(keys);
  result.values_ = *std::move(values);
  result.scale_ =
      plan.scale.has_value() ? plan.scale->get_d() : std::sqrt(plan.scale_square.get_d());
  return result;
}

// A score is scale * dot + bias, each operation within u: it errs by at most the dot's error times
// scale, 4 u of the product and 2 u of the bias. With E the largest such error, an exponential of a
// difference of scores errs by 2 E + |difference| u in its argument, so by less than 4 E + 2^-42 of
// itself (differences are below 600, E below 2^-20); the sums of n such by n u more, and so does
// the quotient of two, twice.
std::vector<Estimate> AttentionEstimates::Row(const AttentionPlan& plan, std::int64_t b,
                                              std::int64_t h, std::int64_t i,
                                              std::span<const double> bias) const {
  const std::int64_t total = plan.total();
  const std::int64_t head = b * plan.heads + h / (plan.query_heads / plan.heads);
  const double* q = queries_.data() + ((b * plan.query_heads + h) * plan.queries + i) * plan.size;
  std::vector<double> scores;
  double error = 0;
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < total; ++j) {
    const Estimate dot = Dot(q, keys_.data() + (head * total + j) * plan.size, plan.size);
    const double added = bias[static_cast<std::size_t>(j)];
    scores.push_back(scale_ * dot.value + added);
    if (!std::isfinite(scores.back())) continue;
    error = std::max(error, scale_ * dot.error * 2 +
                                (std::fabs(scale_ * dot.value) + std::fabs(added)) * 8 * kUnit);
    largest = std::max(largest, scores.back());
  }
  if (!std::isfinite(largest) || !(error < 0x1p-20)) return {};
  double sum = 0;
  for (double& score : scores) {
    score = std::isfinite(score) ? ExpOfNegative(largest - score).high : 0;
    sum += score;
  }
  const double relative = 8 * error + 0x1p-40 + static_cast<double>(total) * 4 * kUnit;
  std::vector<Estimate> row(static_cast<std::size_t>(plan.value_size));
  for (std::int64_t j = 0; j < total; ++j) {
    const double share = scores[static_cast<std::size_t>(j)] / sum;
    const double* v = values_.data() + (head * total + j) * plan.value_size;
    for (std::size_t d = 0; d < row.size(); ++d) {
      row[d].value += share * v[d];
      row[d].error += std::fabs(share * v[d]);
    }
  }
  // What ExpOfNegative leaves out is below 2^-800 of the sum, times a value below 2^200.
  for (Estimate& element : row) element.error = element.error * relative + 0x1p-500;
  return row;
}

}  // namespace qtx::backend::engine

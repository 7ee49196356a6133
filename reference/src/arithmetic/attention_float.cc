#include <algorithm>
#include <cmath>
#include <limits>

#include "arithmetic/attention.h"

namespace qtx::reference {
namespace {

constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();

}  // namespace

// Source: attention.S10.
FloatAttention::FloatAttention(const ScoreRule& rule, const QueryRow<float>& row) {
  const std::size_t size = row.query.size();
  float maximum = -kFloatInfinity;
  bool blind = true, silent = true;  // all biases, all scores are minus infinity (attention.S7)
  bool defined = true;
  for (std::size_t j = 0; j < row.visible.size(); ++j) {
    float sum = 0;
    for (std::size_t d = 0; d < size; ++d) {
      sum += (row.query[d] * rule.root()) * (row.keys[j * size + d] * rule.root());
    }
    const Visibility& visible = row.visible[j];
    float bias = visible.bias < 0 ? 0 : row.mask->binary32(visible.bias);
    if (visible.masked) bias = -kFloatInfinity;
    products_.push_back(sum);
    capped_.push_back(rule.Capped(sum));
    scores_.push_back(capped_.back() + bias);
    blind = blind && bias == -kFloatInfinity;
    silent = silent && scores_.back() == -kFloatInfinity;
    defined = defined && scores_.back() < kFloatInfinity;  // NaN is not
    maximum = std::max(maximum, scores_.back());
  }
  if (blind || silent) return;
  if (!defined) maximum = std::nanf("");
  float total = 0;
  for (const float score : scores_) {
    shares_.push_back(Exp32(score - maximum));
    total += shares_.back();
  }
  for (float& share : shares_) share /= total;
}

void FloatAttention::PutScore(std::int64_t element, std::size_t key, ScoreStage stage,
                              Output* output) const {
  output->PutFloat(element, stage == ScoreStage::kProduct  ? products_[key]
                            : stage == ScoreStage::kCapped ? capped_[key]
                                                           : scores_[key]);
}

void FloatAttention::Put(std::int64_t element, const Column<float>& values, Output* output) const {
  float sum = 0;
  for (std::size_t j = 0; j < shares_.size(); ++j) sum += shares_[j] * values[j];
  output->PutFloat(element, sum);
}

}  // namespace qtx::reference

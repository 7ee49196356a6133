// Attention, one query after the other.  Source: spec/ops/attention.md.
#include "engine/ops/attention.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "engine/ops/attention_estimate.h"
#include "engine/ops/enclosed.h"
#include "engine/ops/operators.h"
#include "engine/ops/select.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::ElementType;

/// The parts of a key's score: cap(scale * dot) + bias.
struct Key {
  Number dot, bias;
  std::int64_t at = 0;  // of the keys, the past first
};

/// Keys or values: first the past, then the present.
class Cache {
 public:
  Cache(const AttentionPlan& plan, const Value* past, const Value* now, std::int64_t width)
      : p_(plan), past_((past != nullptr ? past : now)->tensor), now_(now->tensor), width_(width) {}

  Number At(std::int64_t b, std::int64_t head, std::int64_t key, std::int64_t d) const {
    if (key < p_.past) return past_(((b * p_.heads + head) * p_.past + key) * width_ + d);
    return now_(p_.At(b, head, key - p_.past, d, p_.heads, p_.keys, width_));
  }

 private:
  const AttentionShape& p_;
  NumberReader past_, now_;
  std::int64_t width_;
};

class Attention : public Step {
 public:
  Attention(AttentionPlan plan, Error bad_length)
      : p_(std::move(plan)),
        queries_(p_.q->tensor),
        mask_((p_.mask != nullptr ? p_.mask : p_.q)->tensor),
        keys_(p_, p_.past_key, p_.k, p_.size),
        values_(p_, p_.past_value, p_.v, p_.value_size),
        bad_length_(std::move(bad_length)) {}

  Result<void> Run() override {
    QTX_RETURN_IF_ERROR(CheckLengths());
    estimates_ = AttentionEstimates::Read(p_);
    for (std::int64_t b = 0; b < p_.batch; ++b) {
      for (std::int64_t h = 0; h < p_.query_heads; ++h) {
        for (std::int64_t i = 0; i < p_.queries; ++i) RunQuery(b, h, i);
      }
    }
    return {};
  }

 private:
  Result<void> CheckLengths() const {
    if (p_.lengths == nullptr) return {};
    for (const std::int64_t length : p_.lengths->tensor.As<std::int64_t>()) {
      if (length < 0 || length > p_.keys) return bad_length_;
    }
    return {};
  }

  bool IsHidden(std::int64_t b, std::int64_t i, std::int64_t key) const {
    std::int64_t ahead = p_.past;
    if (p_.lengths != nullptr) {
      const std::int64_t length =
          p_.lengths->tensor.As<std::int64_t>()[static_cast<std::size_t>(b)];
      if (key >= length) return true;
      ahead = length - p_.queries;
    }
    return p_.causal && key > i + ahead;
  }

  Number BiasAt(std::int64_t b, std::int64_t i, std::int64_t key, std::int64_t score) const {
    Number hidden = Number::Infinity(-1);
    if (IsHidden(b, i, key)) return hidden;
    if (p_.mask == nullptr) return {};
    const std::int64_t at = p_.mask_index[static_cast<std::size_t>(score)];
    if (at < 0) return hidden;
    Number bias = mask_(at);
    if (p_.mask->tensor.elem_type != ElementType::kBool) return bias;
    return bias.Sign() == 0 ? hidden : Number();
  }

  std::vector<Key> KeysOf(std::int64_t b, std::int64_t h, std::int64_t i) const {
    std::vector<Number> query;
    for (std::int64_t d = 0; d < p_.size; ++d) {
      query.push_back(queries_(p_.At(b, h, i, d, p_.query_heads, p_.queries, p_.size)));
    }
    const std::int64_t head = h / (p_.query_heads / p_.heads);
    std::vector<Key> keys;
    for (std::int64_t j = 0; j < p_.total(); ++j) {
      Key key{{}, BiasAt(b, i, j, ScoreIndex(b, h, i) + j), j};
      for (std::int64_t d = 0; d < p_.size; ++d) {
        key.dot = key.dot + query[static_cast<std::size_t>(d)] * keys_.At(b, head, j, d);
      }
      keys.push_back(std::move(key));
    }
    return keys;
  }

  std::int64_t ScoreIndex(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return ((b * p_.query_heads + h) * p_.queries + i) * p_.total();
  }

  Enclosed Scaled(const Number& dot, mpfr_prec_t bits) const {
    if (p_.scale.has_value()) return Enclosed(Number(*p_.scale) * dot, bits);
    const Enclosed root(Sqrt(Interval(p_.scale_square, bits)));
    return Enclosed(dot, bits) * root;
  }
  Enclosed Capped(const Number& dot, mpfr_prec_t bits) const {
    Enclosed x = Scaled(dot, bits);
    if (sgn(p_.softcap) == 0) return x;
    const Enclosed inverse(Interval(1, bits) / Interval(p_.softcap, bits));
    // Where nothing is rounded, nor is the quotient.
    const Enclosed quotient =
        x.finite() ? Enclosed(x.interval() / Interval(p_.softcap, bits)) : x * inverse;
    return Enclosed(Number(p_.softcap), bits) * TanhOf(quotient);
  }
  Enclosed Score(const Key& key, mpfr_prec_t bits) const {
    return Capped(key.dot, bits) + Enclosed(key.bias, bits);
  }

  /// A row's shares before they are divided by their sum; empty where all are 0, or NaN.
  struct Shares {
    std::vector<Enclosed> exponentials;
    Enclosed sum;
    bool nan = false, none = true;
  };
  Shares SharesOf(const std::vector<Key>& keys, mpfr_prec_t bits) const {
    Shares shares{{}, Enclosed(Number(), bits)};
    // Biases that are all minus infinity decide, whatever the scores are (attention.S7).
    const bool blind = std::ranges::all_of(
        keys, [](const Key& key) { return !key.bias.finite() && key.bias.Sign() < 0; });
    if (blind) return shares;
    std::vector<Enclosed> scores;
    std::size_t largest = keys.size();
    for (const Key& key : keys) {
      scores.push_back(Score(key, bits));
      const Enclosed& score = scores.back();
      const bool less = !score.finite() && !score.nan() && score.special().Sign() < 0;
      shares.nan = shares.nan || (!score.finite() && !less);
      if (!score.finite()) continue;
      // By the difference: scores may lie beyond binary64, and then have one middle.
      if (largest == keys.size() || (score.interval() - scores[largest].interval()).Middle() > 0) {
        largest = scores.size() - 1;
      }
    }
    shares.none = largest == keys.size();
    if (shares.nan || shares.none) return shares;
    for (std::size_t j = 0; j < keys.size(); ++j) {
      shares.exponentials.push_back(
          Exponential(keys[j], scores[j], keys[largest], scores[largest]));
      shares.sum = shares.sum + shares.exponentials.back();
    }
    return shares;
  }
  // Of a score less the largest one: equal ones are known to be, however they are enclosed.
  static Enclosed Exponential(const Key& key, const Enclosed& score, const Key& top,
                              const Enclosed& top_score) {
    const mpfr_prec_t bits = top_score.interval().bits();
    if (!score.finite()) return Enclosed(Number(), bits);
    if (key.dot == top.dot && key.bias == top.bias) return Enclosed(Number::Of(1), bits);
    return Enclosed(Exp(score.interval() - top_score.interval()));
  }

  // Elements of a query that binary64 settles; true when these are all.
  bool PutEstimates(std::int64_t b, std::int64_t h, std::int64_t i) {
    if (!estimates_.has_value() || p_.scores != nullptr) return false;
    std::vector<double> bias;
    for (std::int64_t j = 0; j < p_.total(); ++j) {
      const Number number = BiasAt(b, i, j, ScoreIndex(b, h, i) + j);
      const bool hidden = !number.finite() && number.Sign() < 0;
      // Not finite otherwise, or more than a double: not for estimates.
      if (!hidden && (!number.finite() || mpq_class(number.value().get_d()) != number.value())) {
        return false;
      }
      bias.push_back(hidden ? -std::numeric_limits<double>::infinity() : number.value().get_d());
    }
    const std::vector<Estimate> row = estimates_->Row(p_, b, h, i, bias);
    const std::int64_t first = p_.At(b, h, i, 0, p_.query_heads, p_.queries, p_.value_size);
    NumberWriter writer(p_.y->tensor);
    for (std::size_t d = 0; d < row.size(); ++d) {
      const std::int64_t element = first + static_cast<std::int64_t>(d);
      const auto code = writer.EstimatedCode(element, row[d].value, row[d].error);
      if (!code.has_value()) return false;
      writer.PutCode(element, *code);
    }
    return !row.empty();
  }

  void RunQuery(std::int64_t b, std::int64_t h, std::int64_t i) {
    if (PutEstimates(b, h, i)) return;
    const std::vector<Key> keys = KeysOf(b, h, i);
    if (p_.scores != nullptr) PutScores(keys, ScoreIndex(b, h, i));
    const std::int64_t head = h / (p_.query_heads / p_.heads);
    const std::int64_t first = p_.At(b, h, i, 0, p_.query_heads, p_.queries, p_.value_size);
    std::vector<std::vector<Number>> values;  // of each element of y
    for (std::int64_t d = 0; d < p_.value_size; ++d) {
      values.emplace_back();
      for (const Key& key : keys) {
        values.back().push_back(values_.At(b, head, key.at, d));
      }
    }
    Put(*p_.y, first, [&](mpfr_prec_t bits) {
      const Shares shares = SharesOf(keys, bits);
      std::vector<Enclosed> row;
      row.reserve(values.size());
      for (const std::vector<Number>& column : values) row.push_back(Mean(shares, column, bits));
      return row;
    });
  }

  static Enclosed Mean(const Shares& shares, const std::vector<Number>& values, mpfr_prec_t bits) {
    if (shares.nan) return Enclosed(Number::Nan(), bits);
    if (shares.none) return Enclosed(Number(), bits);
    Enclosed sum(Number(), bits);
    const Number* one = nullptr;  // the only value that has a share
    bool several = false;
    for (std::size_t j = 0; j < values.size(); ++j) {
      const Enclosed& share = shares.exponentials[j];
      sum = sum + share * Enclosed(values[j], bits);
      if (share.interval().IsZero()) continue;
      several = several || (one != nullptr && !(*one == values[j]));
      one = &values[j];
    }
    if (!sum.finite()) return sum;
    if (!several) return Enclosed(*one, bits);
    return Enclosed(sum.interval() / shares.sum.interval());
  }

  void PutScores(const std::vector<Key>& keys, std::int64_t first) {
    Put(*p_.scores, first, [&](mpfr_prec_t bits) {
      std::vector<Enclosed> row;
      if (p_.mode == 3) {
        const Shares shares = SharesOf(keys, bits);
        for (std::size_t j = 0; j < keys.size(); ++j) row.push_back(ShareAt(shares, j, bits));
        return row;
      }
      for (const Key& key : keys) {
        row.push_back(p_.mode == 0   ? Scaled(key.dot, bits)
                      : p_.mode == 1 ? Capped(key.dot, bits)
                                     : Score(key, bits));
      }
      return row;
    });
  }

  static Enclosed ShareAt(const Shares& shares, std::size_t j, mpfr_prec_t bits) {
    if (shares.nan) return Enclosed(Number::Nan(), bits);
    if (shares.none) return Enclosed(Number(), bits);
    return Enclosed(shares.exponentials[j].interval() / shares.sum.interval());
  }

  // Elements from `first` on, with as many bits as they need.
  template <typename Values>
  static void Put(Value& to, std::int64_t first, Values values) {
    NumberWriter writer(to.tensor);
    std::vector<bool> settled;
    for (mpfr_prec_t bits = kFirstBits;; bits = std::min(2 * bits, kMostBits)) {
      if (Settle(values(bits), bits, writer, settled, first) || bits == kMostBits) return;
    }
  }

  AttentionPlan p_;
  NumberReader queries_, mask_;
  Cache keys_, values_;
  std::optional<AttentionEstimates> estimates_;  // of the inputs now
  Error bad_length_;
};

// present_key or present_value: the past, then the present.
StepResult MakePresent(const NodePlan& node, std::size_t output, const Value* past,
                       const Value* now, const AttentionPlan& p, std::int64_t width) {
  const Dims dims{p.batch, p.heads, p.total(), width};
  QTX_ASSIGN_OR_RETURN(Value * present, node.OutputAt(output, dims, now->tensor));
  std::vector<const Value*> inputs;
  if (past != nullptr) inputs.push_back(past);
  inputs.push_back(now);
  QTX_RETURN_IF_ERROR(CheckTypes(node, inputs, present, Plain::kDouble));
  const std::int64_t old = past != nullptr ? format::ElementCount(past->tensor) : 0;
  Sources sources;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.heads; ++h) {
      for (std::int64_t j = 0; j < p.total(); ++j) {
        for (std::int64_t d = 0; d < width; ++d) {
          const bool is_old = j < p.past;
          sources.push_back(is_old ? ((b * p.heads + h) * p.past + j) * width + d
                                   : old + p.At(b, h, j - p.past, d, p.heads, p.keys, width));
        }
      }
    }
  }
  return MakeSelection(inputs, present, std::move(sources));
}

Result<void> CheckAll(const NodePlan& node, const AttentionPlan& plan) {
  std::vector<const Value*> inputs{plan.q, plan.k, plan.v};
  const bool flags = plan.mask != nullptr && plan.mask->tensor.elem_type == ElementType::kBool;
  for (const Value* value : {flags ? nullptr : plan.mask, plan.past_key, plan.past_value}) {
    if (value != nullptr) inputs.push_back(value);
  }
  std::vector<const Value*> outputs{plan.y};
  if (plan.scores != nullptr) outputs.push_back(plan.scores);
  return CheckTypes(node, inputs, outputs, Plain::kDouble);
}

}  // namespace

StepResult PrepareAttention(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(AttentionPlan plan, ReadAttention(node));
  QTX_ASSIGN_OR_RETURN(Dims dims, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(plan.y, node.OutputAt(0, dims, plan.q->tensor));
  std::vector<std::unique_ptr<Step>> steps;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (!node.HasOutput(i)) continue;
    QTX_ASSIGN_OR_RETURN(
        auto step, i == 1 ? MakePresent(node, i, plan.past_key, plan.k, plan, plan.size)
                          : MakePresent(node, i, plan.past_value, plan.v, plan, plan.value_size));
    steps.push_back(std::move(step));
  }
  if (node.HasOutput(3)) {
    QTX_ASSIGN_OR_RETURN(
        plan.scores, node.OutputAt(3, {plan.batch, plan.query_heads, plan.queries, plan.total()},
                                   plan.q->tensor));
  }
  QTX_RETURN_IF_ERROR(CheckAll(node, plan));
  steps.push_back(std::make_unique<Attention>(
      std::move(plan), node.Breaks("C7", "nonpad_kv_seqlen is out of range")));
  return MakeSequence(std::move(steps));
}

}  // namespace qtx::backend::engine

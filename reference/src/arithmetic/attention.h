// Rows of attention: means of values, weighted by the softmax of scores.
// Source: spec/ops/attention.md attention.S1 to attention.S9.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "arithmetic/output.h"
#include "interval.h"
#include "operand.h"

namespace qtx::reference {

/// Over the reals: scale * (query . key), capped, plus bias. A score that is not settled is finite:
/// (logit / sqrt(head_size) where rooted, softcap * tanh(that / softcap) where capped) + bias.
struct Score {
  Real logit;
  Rational bias;  // of a score that is not settled
  bool rooted = false, capped = false;

  bool settled() const { return !rooted && !capped; }
  bool IsMinusInfinity() const { return !logit.finite && logit.special < 0; }
};

/// How the product of a query and a key becomes a score.
class ScoreRule {
 public:
  /// `scale` absent: 1 / sqrt(head_size).  REQUIRES: head_size > 0, scale and softcap >= 0, finite.
  ScoreRule(std::optional<float> scale, std::int64_t head_size, float softcap);

  Score Of(const Real& product, const Real& bias, bool cap = true) const;
  /// REQUIRES: `score` is finite.
  Interval Enclose(const Score& score, int bits) const;
  Approximation Approximate(const Score& score) const;
  /// False where kLastBits do not tell them apart.  REQUIRES: both are finite.
  bool IsLess(const Score& a, const Score& b) const;

  /// float32: the root of the scale, a factor of queries and of keys.
  float root() const { return root_; }
  float Capped(float logit) const;

 private:
  std::optional<Rational> scale_;  // absent: irrational
  std::int64_t head_size_;
  float softcap_;
  float root_;
};

/// What a query sees of a key: nothing, or a bias, an element of the mask (-1: none).
struct Visibility {
  bool masked = false;
  std::int64_t bias = -1;
};

/// A query, the keys that it meets, one after the other, and what it sees of each.
template <typename Number>
struct QueryRow {
  std::span<const Number> query, keys;
  std::span<const Visibility> visible;
  const Operand* mask = nullptr;
};

/// One value per key, `stride` apart.
template <typename Number>
struct Column {
  const Number* first;
  std::int64_t stride = 1;
  const Number& operator[](std::size_t i) const {
    return first[static_cast<std::int64_t>(i) * stride];
  }
};

/// What the operator's last output holds of a score: attention.S9.
enum class ScoreStage { kProduct, kCapped, kBiased };

/// A row over the reals. Borrows the rule.
class ExactAttention {
 public:
  using Number = Dyadic;
  static Number From(const Operand& x, std::int64_t i) { return x.exact(i); }
  static Number Unit(bool one) { return {one ? 1 : 0, 0}; }

  ExactAttention(const ScoreRule& rule, const QueryRow<Dyadic>& row);
  void PutScore(std::int64_t element, std::size_t key, ScoreStage stage, Output* output) const;
  /// Puts the sum of the keys' shares times their values, of which there are as many as keys.
  void Put(std::int64_t element, const Column<Dyadic>& values, Output* output);

 private:
  struct Group {  // keys of one score
    std::vector<std::size_t> keys;
  };
  struct GroupSum {
    Rational sum, mean;
  };
  void Weigh();
  void MakeGroups();
  void Exponentiate(int bits);
  bool PutSpecial(std::int64_t element, const Column<Dyadic>& values, Output* output) const;
  bool PutFast(std::int64_t element, const Column<Dyadic>& values, Output* output) const;
  void PutCertain(std::int64_t element, const Column<Dyadic>& values, Output* output);
  std::vector<GroupSum> SumGroups(const Column<Dyadic>& values) const;
  Interval Excess(const std::vector<GroupSum>& sums, int bits);

  const ScoreRule* rule_;
  std::vector<Real> products_, biases_;
  std::vector<Score> scores_;
  bool empty_ = true;            // no key is seen: zeros, whatever the values
  bool undefined_ = false;       // a score is NaN or infinity
  std::vector<double> weights_;  // e^(score - maximum), 0 for minus infinity
  double sum_ = 0;
  double relative_ = 0;                 // bound of a weight's relative error, in units of 2^-53
  std::vector<Group> groups_;           // the greatest score first, as far as binary64 tells
  int bits_ = 0;                        // of exponentials_
  std::vector<Interval> exponentials_;  // of groups_: e^(score - that of the first)
  Interval total_{0, 96};               // of exponentials_, over all keys
};

/// A row in binary32: attention.S10.
class FloatAttention {
 public:
  using Number = float;
  static Number From(const Operand& x, std::int64_t i) { return x.binary32(i); }
  static Number Unit(bool one) { return one ? 1.0F : 0.0F; }

  FloatAttention(const ScoreRule& rule, const QueryRow<float>& row);
  void PutScore(std::int64_t element, std::size_t key, ScoreStage stage, Output* output) const;
  void Put(std::int64_t element, const Column<float>& values, Output* output) const;

 private:
  std::vector<float> products_, capped_, scores_;
  std::vector<float> shares_;  // empty where no key is seen
};

}  // namespace qtx::reference

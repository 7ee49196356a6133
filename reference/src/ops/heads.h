// Shapes of attention, and which keys a query sees.  Source: spec/ops/attention.md.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "arithmetic/attention.h"
#include "ops/common.h"

namespace qtx::reference {

// Inputs and outputs of Attention after the first three and the first.
inline constexpr std::size_t kMask = 3, kPastKey = 4, kPastValue = 5, kNonpad = 6;
inline constexpr std::size_t kPresentKey = 1, kPresentValue = 2, kScores = 3;

/// The heads of a tensor: [batch, count, length, size], or flat [batch, length, count * size].
struct Heads {
  std::int64_t batch = 0, count = 0, length = 0, size = 0;
  bool flat = false;

  /// The first element of a row of `size`.
  std::int64_t Row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return (flat ? (b * length + i) * count + h : (b * count + h) * length + i) * size;
  }
};

/// Queries, keys and values of one call.
struct Geometry {
  Heads q, k, v, past_k, past_v;
  std::int64_t past() const { return past_k.length; }
  std::int64_t total() const { return past_k.length + k.length; }
  Heads Present(Heads heads) const {
    heads.length = total();
    heads.flat = false;
    return heads;
  }
  Heads Y() const { return {q.batch, q.count, q.length, v.size, q.flat}; }
  format::Dims ScoreDims() const { return {q.batch, q.count, q.length, total()}; }
};

/// Errors: kTooLarge past 2^24 products.  Source: attention.S1.
Result<Geometry> GeometryOf(const Call& call);

/// What each query sees of each key.  Source: attention.S4 to attention.S7.
class Masks {
 public:
  /// Errors: those of OperandAt.
  static Result<Masks> Make(const Call& call, const Geometry& g);
  /// For query `i` of head h in batch b: one for each key.
  std::vector<Visibility> Row(std::int64_t b, std::int64_t h, std::int64_t i) const;
  const Operand* bias() const { return PointerTo(bias_); }

 private:
  Result<void> SetMask(const Call& call);
  Geometry g_;
  bool causal_ = false;
  std::vector<std::int64_t> lengths_;   // of the batches, empty: all keys
  std::int64_t width_ = 0;              // keys that the mask knows of
  std::vector<std::int64_t> elements_;  // of the mask, for [batch, head, query, width]; or empty
  std::vector<std::int64_t> allowed_;   // elements of a BOOL mask
  std::optional<Operand> bias_;         // or a mask that is added
};

}  // namespace qtx::reference

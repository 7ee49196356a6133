// Attention: sizes, positions of elements, and the keys that each query attends to.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/number.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// Q, K and V seen as [batch, heads, length, size], whatever their rank.
struct AttentionShape {
  std::int64_t batch = 0, query_heads = 0, heads = 0;
  std::int64_t queries = 0, past = 0, keys = 0;  // keys without the past
  std::int64_t size = 0, value_size = 0;
  bool packed = false;  // rank 3: heads are parts of the last axis

  std::int64_t total() const { return past + keys; }
  /// Element d of row `row` of a head, in a tensor of `all` heads with `length` rows of `width`.
  std::int64_t At(std::int64_t b, std::int64_t h, std::int64_t row, std::int64_t d,
                  std::int64_t all, std::int64_t length, std::int64_t width) const {
    return packed ? (b * length + row) * all * width + h * width + d
                  : ((b * all + h) * length + row) * width + d;
  }
};

struct AttentionPlan : AttentionShape {
  const Value* q = nullptr;
  const Value* k = nullptr;
  const Value* v = nullptr;
  const Value* mask = nullptr;  // nullptr: absent, as the next three
  const Value* past_key = nullptr;
  const Value* past_value = nullptr;
  const Value* lengths = nullptr;        // nonpad_kv_seqlen
  std::vector<std::int64_t> mask_index;  // the mask's element for each score; -1: masked out
  bool causal = false;
  std::optional<mpq_class> scale;  // nullopt: the square root of scale_square
  mpq_class scale_square;
  mpq_class softcap;
  std::int64_t mode = 0;
  Value* y = nullptr;
  Value* scores = nullptr;  // qk_matmul_output; nullptr: omitted
};

/// Inputs and attributes.  Errors: kUnsupported.
Result<AttentionPlan> ReadAttention(const NodePlan& node);

}  // namespace qtx::backend::engine

// Resize: sizes and coordinates.  Source: spec/ops/resize.md, S1 to S4.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/plan.h"

namespace qtx::backend::engine {

struct ResizeModes {
  std::string coordinates, rounding, policy;
  bool linear = false;
  bool crops = false;  // tf_crop_and_resize
};
ResizeModes ResizeModesOf(const NodePlan& node);

/// An axis of `from` elements, resized to `to`; `length` is the exact product of size and scale.
struct ResizeAxis {
  bool resized = false;
  std::int64_t from = 0, to = 0;
  mpq_class scale, length;
  mpq_class start, end;  // of the region, for crops
};
/// Every axis of `dims`.  Errors: kUnsupported for sizes that the model computes.
Result<std::vector<ResizeAxis>> ResizeAxesOf(const NodePlan& node, const format::Dims& dims,
                                             const ResizeModes& modes);

/// The coordinate on x's axis of position `i` on y's.
mpq_class CoordinateOf(std::int64_t i, const ResizeAxis& axis, const std::string& mode);

mpz_class FloorOf(const mpq_class& x);
/// `at`, clamped to 0..size - 1.
std::int64_t Within(const mpz_class& at, std::int64_t size);

}  // namespace qtx::backend::engine

// One element at a time from one type to another, over the reals: requantize, quantize, dequantize,
// with the bounds of Relu and Clip on the way.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/exact.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// Stored byte of the input to stored byte of the output.
using ByteTable = std::array<std::uint8_t, 256>;

/// Bounds on the real value between the two types.
struct RealBounds {
  std::optional<Term> low, high;
};

/// The table from one 8-bit per-tensor type to another.
/// Errors: kUnsupported for other types.
Result<ByteTable> MakeByteTable(const format::Tensor& from, const format::Tensor& to,
                                const RealBounds& bounds = {});

/// Input 0 to output 0 by a table.  Errors: as MakeByteTable.
StepResult PrepareByteMap(const NodePlan& node, const RealBounds& bounds);

/// Converts elements of any type that holds reals; equal types of any kind are copied. Rounds once,
/// exactly, as RealWriter does.
class Converter {
 public:
  /// `from` and `to` give types and shapes (equal), not data.
  /// Errors: kUnsupported for other types.
  static Result<Converter> Make(const format::Tensor& from, const format::Tensor& to,
                                const RealBounds& bounds = {});
  /// True when stored values need no change.
  bool copies() const { return copies_; }
  /// `from` and `to` hold all elements, packed as their types say.
  void Run(std::span<const std::byte> from, std::span<std::byte> to) const;

 private:
  Converter() = default;
  void RunGeneral(std::span<const std::byte> from, std::span<std::byte> to) const;

  bool copies_ = false;
  std::optional<ByteTable> table_;
  RealBounds bounds_;
  format::Tensor from_, to_;  // types and dims
};

}  // namespace qtx::backend::engine

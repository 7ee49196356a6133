// Conversion of single elements from one type to another through their reals: requantize, quantize,
// dequantize, with the clamp of Relu and Clip.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/exact.h"
#include "engine/fixed_point.h"
#include "engine/plan.h"

namespace qtx::backend::engine {

/// For each byte of the input's buffer the byte of the output's.
using ByteTable = std::array<std::uint8_t, 256>;

/// Bounds to which the real value is clamped.
struct RealBounds {
  std::optional<Term> low, high;
};

/// The purpose of a conversion, on which its rule depends in arithmetics other than exact.
enum class Purpose {
  kMove,      // data movement: equal parameters copy (float32.S7)
  kSelect,    // the greatest of MaxPool: between equal parameters exact in every arithmetic
  kQuantize,  // Cast, QuantizeLinear, ...
  kActivate   // Relu, Clip
};

/// The rule by which an element is converted to another type.
struct ChangeRule {
  enum class Kind {
    kExact,            // exact.S1
    kCopy,             // stored values are copied, not clamped to the range; bounds are exact
    kFloat32,          // float32.S1, float32.S2
    kFloat32HalfAway,  // QUANTIZE of FLOAT: tflite.S9
    kOnce,             // stored - offset times a multiplier: tflite.S9, tflite_single.S1
    kTwice
  };
  Kind kind = Kind::kExact;
  Multiplier multiplier;

  bool copies() const { return kind == Kind::kCopy; }
  bool in_binary32() const { return kind == Kind::kFloat32 || kind == Kind::kFloat32HalfAway; }
  bool in_integers() const { return kind == Kind::kOnce || kind == Kind::kTwice; }
};
/// The rule for a conversion of type `from` to type `to`.
ChangeRule RuleFor(Arithmetic arithmetic, Purpose purpose, const format::Tensor& from,
                   const format::Tensor& to);
/// True where data movement by `rule` may change elements with equal parameters, which it must copy
/// (definitions.S2): parameters per axis are not compared element by element.
bool OverlooksEqual(const ChangeRule& rule, const format::Tensor& from, const format::Tensor& to);
/// Converts stored - offset to the output's stored integer by an integer rule.
std::int64_t Rescaled(const ChangeRule& rule, std::int64_t integer, const PerTensor& to);

/// The table from one 8-bit per-tensor type to another.
/// Errors: kUnsupported for other types.
Result<ByteTable> MakeByteTable(const format::Tensor& from, const format::Tensor& to,
                                const RealBounds& bounds = {}, const ChangeRule& rule = {});

/// Input 0 to output 0 by a table.  Errors: as MakeByteTable.
StepResult PrepareByteMap(const NodePlan& node, const RealBounds& bounds, Purpose purpose);

/// Input `i`, which is 8-bit quantized, to output 0, of the same dims, by a table of buffers'
/// bytes.
StepResult MakeByteMap(const NodePlan& node, std::size_t i, const ByteTable& table);

/// Converts elements of all types of reals, and copies those of equal types of any kind. Rounds
/// once, as RealWriter does, or by the rule.
class Converter {
 public:
  /// Reads types and dims (equal ones) of `from` and `to`, no elements.
  /// Errors: kUnsupported for other types.
  static Result<Converter> Make(const format::Tensor& from, const format::Tensor& to,
                                const RealBounds& bounds = {}, const ChangeRule& rule = {});
  /// The kernels to convert with; those of any machine until then.
  void Use(const Kernels& kernels) { kernels_ = &kernels; }
  /// True if stored values are copied.
  bool copies() const { return copies_; }
  /// `from` and `to` are all elements, packed as their types prescribe.
  void Run(std::span<const std::byte> from, std::span<std::byte> to) const;

 private:
  Converter() = default;
  bool QuantizesFloats() const;
  void QuantizeFloats(std::span<const float> from, std::span<std::byte> to) const;
  void RunGeneral(std::span<const std::byte> from, std::span<std::byte> to) const;
  void RunRescaled(std::span<const Term> reals, format::Tensor& target) const;

  const Kernels* kernels_ = &PortableKernels();
  bool copies_ = false;
  std::optional<ByteTable> table_;
  std::optional<std::array<float, 256>> reals_;  // of each byte, for FLOAT
  RealBounds bounds_;
  ChangeRule rule_;
  format::Tensor from_, to_;  // types and dims
};

/// Rounds element i, the real reals[i], to `to`'s type, exactly or in binary32.
/// REQUIRES: a rule that is not in integers; else as StoreReals.
void StoreChanged(const ChangeRule& rule, std::span<const Term> reals, format::Tensor& to);

}  // namespace qtx::backend::engine

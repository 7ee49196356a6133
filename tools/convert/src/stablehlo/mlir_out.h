// Text of MLIR: types, strings, names and elements of constants, as `parse_type.cc`, `text.cc` and
// `dense.cc` read them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "qtx/format/tensor.h"

namespace qtx::convert {

/// The type of a value in a program: fixed sizes, and negative ones for those that are unknown; two
/// equal ones are one symbol.
struct HloType {
  format::ElementType elem_type = format::ElementType::kUndefined;
  format::Dims dims;
  std::optional<format::Quantization> quantization;  // resolved
  bool operator==(const HloType&) const = default;
};

/// The type of the reals, or of plain values their own.
HloType RealsOf(HloType type);
/// Per tensor, or along one axis in blocks of 1: what StableHLO's operators take.
bool IsPerTensorOrAxis(const HloType& type);

/// "tensor<2x?x!quant.uniform<i8<-127:127>:f32:0, {0.5,0.25:3}>>"
/// Errors: kUnsupported for an element type that MLIR or StableHLO does not have.
Result<std::string> MlirType(const HloType& type);

/// In quotes; nothing in `text` ends them or the line.
std::string MlirString(std::string_view text);
/// `dense<...> : tensor<...>` of the stored elements.
/// Errors: those of MlirType.
Result<std::string> MlirDense(const format::Tensor& tensor);

/// Names behind % of one function, each once.
class MlirNames {
 public:
  /// `wanted`, with other characters than MLIR's replaced, and a suffix where it is taken.
  std::string Unique(std::string_view wanted);

 private:
  std::map<std::string, int> next_;  // by name: the suffix to try next
};

}  // namespace qtx::convert

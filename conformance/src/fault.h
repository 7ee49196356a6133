// Known faults of real backends, each computed by the reference from a changed copy of a case.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

using Outputs = std::vector<format::Tensor>;

/// What the reference makes of `c` in `arithmetic`.  Errors: those of the builders and of the
/// reference.
Result<Outputs> RunReference(const Case& c, const std::string& arithmetic);

/// A fault of the inputs' reading: offset ignored, wrong axis, ... `change` returns false when the
/// case gives the fault nothing to act on.
struct InputFault {
  std::string_view name;
  bool (*change)(Case& c);
};
std::span<const InputFault> InputFaults();

/// A fault of the last step, real to stored. `store` maps the real, in LSB of the output (so before
/// the offset), to the stored value before it is clamped; `wraps` faults then wrap to the storage
/// type instead of clamping, `ignores_range` ones clamp to the storage's range.
struct StoreFault {
  std::string_view name;
  double (*store)(double lsb, double offset);
  bool wraps = false;
  bool ignores_range = false;
};
std::span<const StoreFault> StoreFaults();

/// Outputs of quantized types from `reals`, the FLOAT outputs of the same case (RealOutputs).
/// REQUIRES: integer storage, parameters that fit the dims.
format::Tensor StoreWith(const StoreFault& fault, const format::Tensor& reals,
                         const format::TensorType& type);

/// The case's outputs as correctly rounded binary32 reals: its model with FLOAT outputs, run in
/// `exact`.  Errors: as RunReference; kUnsupported when an output is not of a quantized integer
/// type.
Result<Outputs> RealOutputs(const Case& c);

}  // namespace qtx::conformance

// NumPy's .npy files. Source: NEP 1 and numpy.lib.format, versions 1.0 to 3.0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::format {

/// The header of a .npy file; the elements begin after `size` bytes.
struct NpyHeader {
  ElementType elem_type = ElementType::kUndefined;
  Dims dims;
  std::int64_t size = 0;
  bool fortran = false;  // the first axis is the fastest, of rank above 1
};

/// Parses the header; `bytes` are the beginning of a file, or all of it.
/// Errors: as ParseNpy; kInvalid when the header is longer than `bytes`. Does not check that the
/// elements are present or fit in memory.
Result<NpyHeader> ParseNpyHeader(std::string_view bytes);

/// A tensor of the storage type the header names.
/// Errors: kInvalid for a malformed header, big-endian elements or a size that differs from the
/// header's; kUnsupported for element types ONNX lacks; kTooLarge.
Result<Tensor> ParseNpy(std::string_view bytes);

/// The tensor in C order whose elements `fortran` has in Fortran order.
/// REQUIRES: elements of whole bytes, as all of NumPy are.
Tensor FromFortranOrder(const Tensor& fortran);

/// A version 1.0 file, C order, little-endian. Types NumPy lacks are widened: 4-, 2- and 1-bit
/// integers to int8 or uint8, bfloat16, float8 and float4 to float32 (exactly). Errors:
/// kUnsupported for STRING and complex types.
Result<std::string> ToNpy(const Tensor& tensor);

}  // namespace qtx::format

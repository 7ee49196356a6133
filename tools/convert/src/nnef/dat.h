// Tensor binaries of NNEF: a header of 128 bytes, then the items.
// Source: NNEF-Tools' nnef/common/binary.h, and tract's tensors.rs.
#pragma once

#include <string>
#include <string_view>

#include "qtx/format/tensor.h"

namespace qtx::convert::nnef {

enum class ItemType : std::uint32_t { kFloat, kUint, kQuint, kQint, kInt, kBool };

/// A tensor binary: FLOAT16, FLOAT, DOUBLE, BOOL, or integers of any width up to 64 bits.
struct Dat {
  ItemType item = ItemType::kFloat;
  int bits = 32;
  format::Dims dims;
  std::string_view items;  // of the file: little-endian; below 8 bits the first is the highest
};

/// Errors: kInvalid, naming the byte of the header, found and expected; kUnsupported for item types
/// of vendors and of versions before 1.0.3.
Result<Dat> ParseDat(std::string_view bytes);

/// The integers.  Errors: kUnsupported beyond 63 bits unsigned.  REQUIRES: item is no kFloat.
Result<std::vector<std::int64_t>> IntegersOf(const Dat& dat);

/// The reals as binary32; `rounded` is set where one is not exact.
/// REQUIRES: item is kFloat.
format::Tensor FloatsOf(const Dat& dat, bool& rounded);

/// The header and items of `tensor`: of FLOAT types, BOOL or integers; those of a quantized type
/// are kQint or kQuint.  Errors: kUnsupported for other types, rank above 8, sizes past 32 bits.
Result<std::string> DatOf(const format::Tensor& tensor);

}  // namespace qtx::convert::nnef

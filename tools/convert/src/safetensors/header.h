// The container of safetensors: the length of a JSON header (u64), the header, the tensors' bytes.
//
//   {"__metadata__": {"format": "pt"}, "w": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0,
//   12]}}
//
// Offsets count from the end of the header. The tensors lie one after another, without gaps.
// Source: docs of safetensors 0.8.0, "Format", and what its readers refuse.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/element_type.h"
#include "qtx/format/result.h"
#include "qtx/format/shape.h"

namespace qtx::convert::safetensors {

inline constexpr std::int64_t kLengthBytes = 8;
inline constexpr std::int64_t kMaxHeaderBytes = 100'000'000;  // as in safetensors itself

/// A type of elements as safetensors names it.
struct Dtype {
  std::string_view name;
  format::ElementType type;  // kUndefined: ONNX has none, and the tensor is one of bytes
  int bits;                  // of an element
};
/// nullptr for a name that no row has.
const Dtype* FindDtype(std::string_view name);

struct HeaderEntry {
  std::string name;
  const Dtype* dtype = nullptr;
  format::Dims dims;
  std::int64_t begin = 0, end = 0;  // of its bytes, from the end of the header
};

/// The length that a file of `file_bytes` gives its header.  REQUIRES: `first` are its first 8
/// bytes.  Errors: kInvalid past the file's end, kTooLarge past kMaxHeaderBytes.
Result<std::int64_t> HeaderLength(std::string_view first, std::int64_t file_bytes);

/// True if `bytes` may begin a file of safetensors: a length within bounds, and a brace.
bool LooksLikeHeader(std::string_view bytes);

/// The tensors in the order of their bytes, which are `data_bytes` in all, where that is known.
/// Errors: kInvalid at the tensor: another form, dtype, a length that is not that of the shape, a
/// name that is given twice, tensors that overlap, leave a gap or end elsewhere than the file;
/// kTooLarge past the bounds of JSON and of tensors.
Result<std::vector<HeaderEntry>> ParseHeader(std::string_view json,
                                             std::optional<std::int64_t> data_bytes);

}  // namespace qtx::convert::safetensors

// Type and shape of a model input, and conversion of arrays to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "qtx/calibrate/samples.h"
#include "qtx/format/tensor.h"

namespace qtx::calibrate {

struct Preprocessing;

struct Input {
  std::string name;
  format::ElementType elem_type = format::ElementType::kUndefined;  // storage type, as in files
  std::optional<format::Shape> shape;  // declared, or by --shape; nullopt: any
  bool split = true;                   // a leading dimension without a size counts samples
};

/// How an array divides into samples of one input: `count` consecutive ones of shape `dims`.
struct Fit {
  format::Dims dims;
  std::int64_t count = 1;
};
/// An array must have the input's shape, or lack a leading dimension that may be 1, or have a
/// larger leading dimension, which is split into samples. A leading dimension without a size is 1
/// per sample.
/// Errors: kInvalid.
Result<Fit> FitDims(const format::Dims& found, const Input& input);

/// Converts `array` to the input's element type: FLOAT16 exactly, DOUBLE rounded half to even,
/// integers by `preprocessing` if given.
Sample OneInput(format::Tensor array, const Input& input, const Preprocessing* preprocessing);

inline tl::unexpected<BadSample> Bad(Reason reason, Error error) {
  return tl::unexpected(BadSample{reason, std::move(error)});
}
/// kUnreadable for I/O errors, else `reason`.
inline tl::unexpected<BadSample> BadFile(Error error, Reason reason = Reason::kMalformed) {
  return Bad(error.code == ErrorCode::kUnreadable ? Reason::kUnreadable : reason, std::move(error));
}

}  // namespace qtx::calibrate

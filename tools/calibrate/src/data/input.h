// What a sample must be for one input of a model, and arrays brought to it.
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
  format::ElementType elem_type = format::ElementType::kUndefined;  // storage, as files have it
  std::optional<format::Shape> shape;  // declared, or by --shape; nullopt: any
  bool split = true;                   // whether a leading dimension without a size counts samples
};

/// An array as samples of one input: `count` of them, each of shape `dims`, one after the other.
struct Fit {
  format::Dims dims;
  std::int64_t count = 1;
};
/// An array has the shape of the input; or lacks its leading dimension, if that may be 1; or has a
/// larger one, which is split. A leading dimension without a size is 1 for each sample.
/// Errors: kInvalid.
Result<Fit> FitDims(const format::Dims& found, const Input& input);

/// `array` as the input's element type: FLOAT16 exactly, DOUBLE rounded half even, integers by
/// scale, mean and std where `preprocessing` is there.
Sample OneInput(format::Tensor array, const Input& input, const Preprocessing* preprocessing);

inline tl::unexpected<BadSample> Bad(Reason reason, Error error) {
  return tl::unexpected(BadSample{reason, std::move(error)});
}
/// kUnreadable for what the system refused, else `reason`.
inline tl::unexpected<BadSample> BadFile(Error error, Reason reason = Reason::kMalformed) {
  return Bad(error.code == ErrorCode::kIo ? Reason::kUnreadable : reason, std::move(error));
}

}  // namespace qtx::calibrate

// Readers of the file formats. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/input.h"
#include "data/preprocessing.h"
#include "qtx/calibrate/samples.h"

namespace qtx::calibrate {

/// What readers need; must outlive them.
struct Target {
  std::vector<Input> inputs;
  std::optional<Preprocessing> preprocessing;

  const Preprocessing* preprocess() const { return preprocessing ? &*preprocessing : nullptr; }
};

class Reader {
 public:
  virtual ~Reader() = default;
  /// The number of samples in a file, from its header.
  /// Errors: those of Read.
  virtual Result<std::int64_t> Count(const std::string& path) const = 0;
  virtual Sample Read(const std::string& path, std::int64_t index) const = 0;
};

std::unique_ptr<Reader> NpyReader(const Target& target);  // REQUIRES: one input
std::unique_ptr<Reader> NpzReader(const Target& target);
std::unique_ptr<Reader> TensorReader(const Target& target);    // .pb; REQUIRES: one input
std::unique_ptr<Reader> TestDataReader(const Target& target);  // a folder with input_N.pb
std::unique_ptr<Reader> RawReader(const Target& target);       // REQUIRES: one input
std::unique_ptr<Reader> ImageReader(const Target& target);     // REQUIRES: one input

/// An array of `header`'s type that holds `fit.count` samples. REQUIRES: 0 <= index.
/// Errors: kTooLarge for samples beyond limits.h.
struct Slice {
  std::int64_t offset = 0;  // in bytes, of the sample at an index
  std::int64_t bytes = 0;
};
Result<Slice> SliceOf(format::ElementType type, const Fit& fit, std::int64_t index);

/// The bytes of `slice` of an array in C order, as a sample of shape `dims`.
/// Errors: kInvalid where the array has fewer.
Result<format::Tensor> SampleOf(const format::Tensor& array, const Slice& slice,
                                const format::Dims& dims);

}  // namespace qtx::calibrate

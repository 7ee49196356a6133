// Samples: the inputs of a calibration, from files or supplied by a program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::calibrate {

/// Why a sample cannot be used.
enum class Reason {
  kUnreadable,     // the file is missing or cannot be read
  kMalformed,      // the contents do not match the file's extension
  kShape,          // the shape does not fit the input
  kType,           // the element type does not fit the input
  kNothingFinite,  // an input has only NaN and infinities
  kExecution,      // the model failed on it
};
std::string_view Name(Reason reason);

struct BadSample {
  Reason reason = Reason::kMalformed;
  Error error;
};
/// One tensor for each input of the model that is not an initializer, in order.
using Sample = tl::expected<std::vector<format::Tensor>, BadSample>;

/// A fixed sequence of samples. Name, Read and Digest may be called from several threads at once.
class Samples {
 public:
  virtual ~Samples() = default;
  virtual std::int64_t size() const = 0;
  /// Without the folder of the data, so that moved data keep their names.
  virtual std::string Name(std::int64_t index) const = 0;
  virtual Sample Read(std::int64_t index) const = 0;
  /// A digest of names and sizes that identifies the collection.
  virtual std::string Digest() const = 0;
};

struct DataOptions {
  /// DIMS, or NAME=DIMS where the model has several inputs; DIMS are numbers with commas between,
  /// '?' for any size. They replace the declared shape.
  std::vector<std::string> shapes;
  std::string preprocess;  // path of a YAML file; empty: none
};

/// The samples in files and folders (formats: tools/calibrate/README.md). Files are opened on
/// demand.
/// Errors: kUnreadable for a missing path; kInvalid for a malformed option or file name, a repeated
/// file, or no samples; kUnsupported for an input that is not a tensor.
Result<std::unique_ptr<Samples>> OpenFiles(const format::Model& model,
                                           std::span<const std::string> paths,
                                           const DataOptions& options);

}  // namespace qtx::calibrate

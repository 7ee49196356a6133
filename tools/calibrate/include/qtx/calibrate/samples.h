// Where the inputs of a calibration come from: files of many forms, or whatever a program has.
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

/// Why a sample cannot be taken.
enum class Reason {
  kUnreadable,     // the file is missing, or the system refused
  kMalformed,      // it is not what its name says
  kShape,          // it does not fit the input's shape
  kType,           // nor its element type
  kNothingFinite,  // an input of nothing but NaN and infinities
  kExecution,      // the model failed on it
};
std::string_view Name(Reason reason);

struct BadSample {
  Reason reason = Reason::kMalformed;
  Error error;
};
/// One tensor for each input of the model that is no initializer, in their order.
using Sample = tl::expected<std::vector<format::Tensor>, BadSample>;

/// Samples in an order that does not change while they are read. Name, Read and Digest may be
/// called from several threads at once.
class Samples {
 public:
  virtual ~Samples() = default;
  virtual std::int64_t size() const = 0;
  /// Without the place where the data lie today: the same data have the same names.
  virtual std::string Name(std::int64_t index) const = 0;
  virtual Sample Read(std::int64_t index) const = 0;
  /// Of names and sizes: tells one collection of samples from another.
  virtual std::string Digest() const = 0;
};

struct DataOptions {
  /// DIMS, or NAME=DIMS where the model has several inputs; DIMS are numbers with commas between,
  /// '?' for any. They take the place of the declared shape.
  std::vector<std::string> shapes;
  std::string preprocess;  // path of a YAML file; empty: none
};

/// The samples in files and folders: README.md of tools/calibrate says in which forms. They are
/// opened when their turn comes.
/// Errors: kIo for a path that is not there; kInvalid for an option or file name that says nothing,
/// a file given twice, or no sample at all; kUnsupported for an input that is not a tensor.
Result<std::unique_ptr<Samples>> OpenFiles(const format::Model& model,
                                           std::span<const std::string> paths,
                                           const DataOptions& options);

}  // namespace qtx::calibrate

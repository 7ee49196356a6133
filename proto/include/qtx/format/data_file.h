// Large tensors that are made for a model, in a file beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "qtx/format/file.h"
#include "qtx/format/model.h"
#include "qtx/format/new_file.h"

namespace qtx::format {

/// The file MODEL.data for large tensors that a conversion makes, so that they are neither in
/// memory nor in a protobuf of at most 2 GiB. Until the model is saved they are in a temporary
/// file.
class DataFile {
 public:
  /// Of tensors that have this many bytes together, the model itself has them.
  static constexpr std::int64_t kInline = FileBytes::kMapped;

  /// For the model at `path`. A pipe, a device and "-" have no file beside them: their tensors stay
  /// in memory. `folder`, if any, is one to be made for it.
  explicit DataFile(std::string path, std::string folder = "", std::int64_t most_inline = kInline);

  /// As ToTensorData, but of 64 KiB and more, and not in a body, the elements are in the file
  /// (TensorData::raw_data), which must exist as long as they are read.  Errors: kIo.
  Result<TensorData> Add(std::string name, const Tensor& tensor);

  /// Saves `model`, which may have tensors of Add: as external data at MODEL.data, or in it.
  /// Errors: those of Model::Save; kIo where MODEL.data is in use, or is of no model at `path`.
  Result<void> Save(const Model& model, const WriteProgress& progress = {});

 private:
  Result<void> CheckName(const Model& model) const;

  std::string path_, folder_;
  std::int64_t most_inline_;
  bool beside_;  // whether there can be a file
  std::int64_t size_ = 0;
  std::optional<OutputFolder> made_;
  std::optional<NewFile> file_;
};

/// Add, or ToTensorData where `file` is nullptr.
Result<TensorData> MakeTensorData(std::string name, const Tensor& tensor, DataFile* file);

}  // namespace qtx::format

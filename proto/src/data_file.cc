#include "qtx/format/data_file.h"

#include <filesystem>
#include <utility>

#include "external_data.h"
#include "qtx/format/external_elements.h"
#include "qtx/format/scopes.h"
#include "save.h"
#include "wire.h"

namespace qtx::format {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSmall = std::size_t{64} << 10;  // bytes of a tensor that stays in the model
constexpr std::int64_t kAlignment = 64;  // of a tensor in the file: a line of the cache

// A file that is not there, or a regular one.
bool HasFilesBeside(const std::string& path) {
  std::error_code code;
  return path != "-" && (!fs::exists(path, code) || fs::is_regular_file(path, code));
}

}  // namespace

DataFile::DataFile(std::string path, std::string folder, std::int64_t most_inline)
    : path_(std::move(path)),
      folder_(std::move(folder)),
      most_inline_(most_inline),
      beside_(HasFilesBeside(path_)) {}

Result<TensorData> DataFile::Add(std::string name, const Tensor& tensor) {
  if (!beside_ || tensor.bytes.size() < kSmall || IsOfBody(name))
    return ToTensorData(std::move(name), tensor);
  if (!file_) {
    QTX_ASSIGN_OR_RETURN(OutputFolder folder, OutputFolder::Make(folder_));
    made_.emplace(std::move(folder));
    QTX_ASSIGN_OR_RETURN(NewFile file, NewFile::Create(path_ + ".data"));
    file_.emplace(std::move(file));
  }
  const std::vector<std::byte> gap(static_cast<std::size_t>(-size_ & (kAlignment - 1)));
  QTX_RETURN_IF_ERROR(file_->Append(gap));
  QTX_RETURN_IF_ERROR(file_->Append(tensor.bytes));
  size_ += std::ssize(gap);
  // What has the same type and shape, without elements.
  const bool bipolar = StorageOf(tensor.elem_type) == ElementType::kBipolar1;
  const ElementType storage = bipolar ? ElementType::kUint8 : StorageOf(tensor.elem_type);
  const auto bytes = std::ssize(tensor.bytes);
  TensorData data{.name = std::move(name),
                  .data_type = storage,
                  .dims = bipolar ? Dims{bytes} : tensor.dims,
                  .wire = {},
                  .raw_data = FileRange{file_->temporary(), size_, bytes}};
  data.wire = wire::SerializeTensor(data.name, data.dims, data.data_type, "");
  size_ += bytes;
  return data;
}

// A file of that name is replaced together with the model that it belongs to; what is read while
// the new one is written is not.
Result<void> DataFile::CheckName(const Model& model) const {
  const std::string data = path_ + ".data";
  std::error_code code;
  const auto refuse = [&](const char* why) {
    return Error{ErrorCode::kIo, path_,
                 "the tensors of this model would go to '" + data + "', which " + why +
                     "; write to another name"};
  };
  if (fs::exists(data, code) && !fs::exists(path_, code)) return refuse("exists without a model");
  QTX_ASSIGN_OR_RETURN(const bool needed, UsesFile(model, path_, data));
  if (needed) return refuse("has other external data of the model");
  return {};
}

Result<void> DataFile::Save(const Model& model, const WriteProgress& progress) {
  if (!file_ || size_ <= most_inline_) return model.Save(path_, progress);
  QTX_RETURN_IF_ERROR(CheckName(model));
  const std::string location = fs::path(path_ + ".data").filename().string();
  Model external = model;
  for (TensorData& data : external.graph.initializers) {
    if (!data.raw_data || data.raw_data->path != file_->temporary()) continue;
    data = ToExternalData(data.name, data.data_type, data.dims, location, data.raw_data->offset,
                          data.raw_data->size);
  }
  return SaveWith(external, path_, {&*file_, location}, progress);
}

Result<TensorData> MakeTensorData(std::string name, const Tensor& tensor, DataFile* file) {
  return file != nullptr ? file->Add(std::move(name), tensor)
                         : ToTensorData(std::move(name), tensor);
}

}  // namespace qtx::format

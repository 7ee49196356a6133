// The files of one model: shards of safetensors, their index, and config.json beside them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "qtx/convert/convert.h"
#include "qtx/format/file.h"
#include "safetensors/header.h"

namespace qtx::convert::safetensors {

struct Tensor {
  std::string name;
  const Dtype* dtype = nullptr;
  format::Dims dims;
  format::Piece bytes;  // the path of a range is that of the file
  std::size_t shard = 0;
  std::int64_t size = 0;  // in bytes

  bool Is(std::string_view dtype_name) const { return dtype->name == dtype_name; }
};

/// A file by its name, in the folder of the model.
struct NamedText {
  std::string file;
  std::string text;  // JSON as it is: the header of a shard, the whole of an index
};

class Container {
 public:
  std::vector<NamedText> shards;
  NamedText index;     // model.safetensors.index.json and its text; empty: one file
  std::string config;  // config.json; empty: none

  const std::vector<Tensor>& tensors() const { return tensors_; }  // by shard and place
  /// nullptr: there is none.
  const Tensor* Find(std::string_view name) const;
  /// Errors: kInvalid for a name that another shard has.
  Result<void> Add(Tensor tensor);

 private:
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

/// True for a file of safetensors, or an index of shards.
bool LooksLikeContainer(std::string_view bytes);

/// The file that stands for a folder: its index, its model.safetensors, or its one file of
/// safetensors.  nullopt: there is none, or several without an index.
std::optional<std::string> FileOfFolder(const std::string& folder);

/// Reads headers, index and config. The bytes of tensors stay in their files, unless the source is
/// no file.  Errors: kInvalid (headers, an index that names another folder, a tensor that is not
/// where the index says), kUnreadable, kTooLarge; `where` begins with the file, if it is another.
Result<Container> OpenContainer(const Source& source);

/// The bytes of a tensor.  Errors: kTooLarge past `limit`; those of ReadRange.
Result<std::string> ReadTensor(const Tensor& tensor, std::int64_t limit);

}  // namespace qtx::convert::safetensors

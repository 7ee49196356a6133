// Models whose weights stay in the file: everything but large raw_data is parsed, and written back
// around it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/file.h"
#include "qtx/format/model.h"

namespace qtx::format::wire {

struct Skeleton {
  std::string bytes;                          // a ModelProto; an empty raw_data for each left out
  std::vector<std::optional<FileRange>> raw;  // of each initializer
};
/// `bytes` are the file at `path`. What is malformed below the model is left to the parser.
/// Errors: kInvalid.
Result<Skeleton> LeaveOutLargeData(std::string_view bytes, const std::string& path);

/// Errors: kInvalid where no ModelProto begins so.
Result<void> CheckModelHead(std::string_view head);

/// The bytes of a model of which `skeleton` is the serialised form and `graph` has the ranges.
/// Errors: kTooLarge past kMaxModelBytes.
Result<std::vector<Piece>> PutBackLargeData(std::string skeleton, const Graph& graph);

/// True when the serialised TensorProto says that its data is in another file.
bool IsExternal(std::string_view tensor);

/// Messages that have tensors below them.
enum class Message { kModel, kFunction, kTraining, kGraph, kNode, kAttribute, kSparse, kTensor };

/// The serialised TensorProtos below `message`, however deep, whose data is in another file.
std::vector<std::string_view> ExternalTensors(Message kind, std::string_view message);

}  // namespace qtx::format::wire

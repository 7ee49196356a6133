#include "wire_large.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

#include "qtx/format/limits.h"

namespace qtx::format::wire {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr std::size_t kLarge = std::size_t{64} << 10;  // bytes of raw_data worth leaving out

constexpr std::uint32_t Tag(int field, WireFormatLite::WireType type) {
  return static_cast<std::uint32_t>(field) << 3U | static_cast<std::uint32_t>(type);
}
// Field numbers: onnx.proto.
constexpr std::uint32_t kGraph = Tag(7, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr std::uint32_t kInitializer = Tag(5, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr std::uint32_t kRawData = Tag(9, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr std::uint32_t kDataLocation = Tag(14, WireFormatLite::WIRETYPE_VARINT);

Error NoModel() {
  return {ErrorCode::kInvalid, "", "expected an ONNX model (a serialised ModelProto)"};
}

struct Field {
  std::uint32_t tag = 0;
  std::string_view whole, payload;  // with tag and length, without
};

// False where `message` is no sequence of fields.
template <typename Visit>
bool ForEachField(std::string_view message, Visit visit) {
  CodedInputStream input(reinterpret_cast<const std::uint8_t*>(message.data()),
                         static_cast<int>(message.size()));
  for (;;) {
    const auto begin = static_cast<std::size_t>(input.CurrentPosition());
    Field field{.tag = input.ReadTag()};
    if (field.tag == 0) return begin == message.size();
    std::size_t payload = 0;
    if (WireFormatLite::GetTagWireType(field.tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      std::uint32_t size = 0;
      if (!input.ReadVarint32(&size) || size > message.size()) return false;
      payload = static_cast<std::size_t>(input.CurrentPosition());
      if (!input.Skip(static_cast<int>(size))) return false;
    } else {
      payload = static_cast<std::size_t>(input.CurrentPosition());
      if (!WireFormatLite::SkipField(&input, field.tag)) return false;
    }
    const auto end = static_cast<std::size_t>(input.CurrentPosition());
    field.whole = message.substr(begin, end - begin);
    field.payload = message.substr(payload, end - payload);
    visit(field);
  }
}

std::string Header(std::uint32_t tag, std::size_t size) {
  std::uint8_t buffer[16];
  std::uint8_t* end = CodedOutputStream::WriteVarint32ToArray(tag, buffer);
  end = CodedOutputStream::WriteVarint64ToArray(size, end);
  return {reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(end - buffer)};
}

// The raw_data of a tensor that has one; parsers take the last of several, so those stay.
std::optional<Field> RawData(std::string_view tensor) {
  std::optional<Field> found;
  int count = 0;
  const bool sound = ForEachField(tensor, [&](const Field& field) {
    if (field.tag != kRawData) return;
    found = field;
    ++count;
  });
  return sound && count == 1 ? found : std::nullopt;
}

class Extraction {
 public:
  Extraction(std::string_view file, const std::string& path) : file_(file), path_(path) {}

  bool Run(Skeleton& skeleton) {
    return ForEachField(file_, [&](const Field& field) {
      if (field.tag != kGraph) {
        skeleton.bytes += field.whole;
        return;
      }
      const std::string graph = Graph(field.payload, skeleton.raw);
      skeleton.bytes += Header(kGraph, graph.size()) + graph;
    });
  }

 private:
  std::string Graph(std::string_view message, std::vector<std::optional<FileRange>>& raw) const {
    std::string bytes;
    const bool sound = ForEachField(message, [&](const Field& field) {
      if (field.tag != kInitializer) {
        bytes += field.whole;
        return;
      }
      const auto data = RawData(field.payload);
      if (!data || data->payload.size() < kLarge) {
        raw.emplace_back();
        bytes += field.whole;
        return;
      }
      raw.push_back(FileRange{path_, data->payload.data() - file_.data(),
                              static_cast<std::int64_t>(data->payload.size())});
      bytes += Without(field.payload, *data);
    });
    return sound ? bytes : std::string(message);
  }

  static std::string Without(std::string_view tensor, const Field& data) {
    const auto begin = static_cast<std::size_t>(data.whole.data() - tensor.data());
    const std::string empty = Header(kRawData, 0);
    const std::string_view rest = tensor.substr(begin + data.whole.size());
    std::string bytes = Header(kInitializer, begin + empty.size() + rest.size());
    bytes += tensor.substr(0, begin);
    bytes += empty;
    return bytes += rest;
  }

  std::string_view file_;
  const std::string& path_;
};

// Pieces, joined where they are text.
class Pieces {
 public:
  void Add(std::string_view bytes) {
    size_ += bytes.size();
    if (list_.empty() || !std::holds_alternative<std::string>(list_.back()))
      list_.emplace_back(std::string());
    std::get<std::string>(list_.back()) += bytes;
  }
  void Add(const FileRange& range) {
    size_ += static_cast<std::size_t>(range.size);
    list_.emplace_back(range);
  }
  void Add(const Pieces& others) {
    for (const Piece& piece : others.list_) {
      const auto* range = std::get_if<FileRange>(&piece);
      range != nullptr ? Add(*range) : Add(std::get<std::string>(piece));
    }
  }
  std::size_t size() const { return size_; }
  std::vector<Piece> Take() { return std::move(list_); }

 private:
  std::vector<Piece> list_;
  std::size_t size_ = 0;
};

Pieces TensorPieces(const Field& field, const FileRange& raw) {
  Pieces pieces;
  const std::string_view tensor = field.payload;
  const std::string_view place =
      RawData(tensor).value_or(Field{.whole = tensor.substr(tensor.size())}).whole;
  const auto begin = static_cast<std::size_t>(place.data() - tensor.data());
  pieces.Add(tensor.substr(0, begin));
  pieces.Add(Header(kRawData, static_cast<std::size_t>(raw.size)));
  pieces.Add(raw);
  pieces.Add(tensor.substr(begin + place.size()));
  return pieces;
}

Pieces GraphPieces(std::string_view message, const std::vector<TensorData>& initializers) {
  Pieces pieces;
  std::size_t next = 0;
  ForEachField(message, [&](const Field& field) {
    const TensorData* data = field.tag == kInitializer ? &initializers[next++] : nullptr;
    if (data == nullptr || !data->raw_data) {
      pieces.Add(field.whole);
      return;
    }
    const Pieces tensor = TensorPieces(field, *data->raw_data);
    pieces.Add(Header(kInitializer, tensor.size()));
    pieces.Add(tensor);
  });
  return pieces;
}

// Field numbers: onnx.proto.
struct Child {
  Message parent;
  int field;
  Message kind;
};
constexpr Child kChildren[] = {
    {Message::kModel, 7, Message::kGraph},         {Message::kModel, 20, Message::kTraining},
    {Message::kModel, 25, Message::kFunction},     {Message::kTraining, 1, Message::kGraph},
    {Message::kTraining, 2, Message::kGraph},      {Message::kFunction, 7, Message::kNode},
    {Message::kFunction, 11, Message::kAttribute}, {Message::kGraph, 1, Message::kNode},
    {Message::kGraph, 5, Message::kTensor},        {Message::kGraph, 15, Message::kSparse},
    {Message::kNode, 5, Message::kAttribute},      {Message::kAttribute, 5, Message::kTensor},
    {Message::kAttribute, 6, Message::kGraph},     {Message::kAttribute, 10, Message::kTensor},
    {Message::kAttribute, 11, Message::kGraph},    {Message::kAttribute, 22, Message::kSparse},
    {Message::kAttribute, 23, Message::kSparse},   {Message::kSparse, 1, Message::kTensor},
    {Message::kSparse, 2, Message::kTensor},
};
constexpr int kMaxDepth = 100;  // of messages; ONNX's parsers refuse more

void AddExternal(Message kind, std::string_view message, int depth,
                 std::vector<std::string_view>& found) {
  if (kind == Message::kTensor && IsExternal(message)) found.push_back(message);
  if (depth == kMaxDepth) return;
  ForEachField(message, [&](const Field& field) {
    for (const Child& child : kChildren) {
      const std::uint32_t tag = Tag(child.field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
      if (child.parent == kind && tag == field.tag)
        AddExternal(child.kind, field.payload, depth + 1, found);
    }
  });
}

}  // namespace

Result<Skeleton> LeaveOutLargeData(std::string_view bytes, const std::string& path) {
  Skeleton skeleton;
  if (Extraction(bytes, path).Run(skeleton)) return skeleton;
  return NoModel();
}

Result<void> CheckModelHead(std::string_view head) {
  CodedInputStream input(reinterpret_cast<const std::uint8_t*>(head.data()),
                         static_cast<int>(head.size()));
  const std::uint32_t tag = input.ReadTag();
  const std::uint32_t type = tag & 7U;
  if (tag >> 3U != 0 && (type <= WireFormatLite::WIRETYPE_LENGTH_DELIMITED ||
                         type == WireFormatLite::WIRETYPE_FIXED32))
    return {};
  return NoModel();
}

Result<std::vector<Piece>> PutBackLargeData(std::string skeleton, const Graph& graph) {
  Pieces pieces;
  if (std::ranges::none_of(graph.initializers,
                           [](const TensorData& data) { return data.raw_data.has_value(); })) {
    pieces.Add(skeleton);
    return pieces.Take();
  }
  ForEachField(skeleton, [&](const Field& field) {
    if (field.tag != kGraph) {
      pieces.Add(field.whole);
      return;
    }
    const Pieces inner = GraphPieces(field.payload, graph.initializers);
    pieces.Add(Header(kGraph, inner.size()));
    pieces.Add(inner);
  });
  if (pieces.size() < static_cast<std::size_t>(kMaxModelBytes)) return pieces.Take();
  return Error{ErrorCode::kTooLarge, "", "expected at most 2 GiB; keep weights as external data"};
}

bool IsExternal(std::string_view tensor) {
  bool external = false;
  ForEachField(tensor, [&](const Field& field) {
    if (field.tag == kDataLocation) external = !field.payload.empty() && field.payload[0] == 1;
  });
  return external;
}

std::vector<std::string_view> ExternalTensors(Message kind, std::string_view message) {
  std::vector<std::string_view> found;
  AddExternal(kind, message, 0, found);
  return found;
}

}  // namespace qtx::format::wire

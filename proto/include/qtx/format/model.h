// A model in memory: plain values over ONNX's messages plus the fields QTX adds. Unknown fields are
// kept as wire bytes in `unknown_fields`, so that reading and writing a file preserves it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "qtx/format/file.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"
#include "qtx/format/tensor_type.h"

namespace qtx::format {

using Metadata = std::vector<std::pair<std::string, std::string>>;

/// A TensorProto, kept as its wire bytes and decoded only on demand.
struct TensorData {
  std::string name;
  ElementType data_type = ElementType::kUndefined;  // storage type as written
  Dims dims;
  std::string wire;  // the whole serialised TensorProto, name included
  /// In a large model, the range of the file that holds raw_data; raw_data is then empty in `wire`.
  std::optional<FileRange> raw_data;
  bool operator==(const TensorData&) const = default;
};

/// `tensor`'s storage as a stock TensorProto (raw_data) named `name`. A BIPOLAR1Q tensor becomes a
/// UINT8 tensor of its packed bytes (spec/format/element_types.md).
TensorData ToTensorData(std::string name, const Tensor& tensor);

/// Decodes every ONNX encoding (raw_data, float_data, int32_data, int64_data, double_data,
/// uint64_data, external data under `folder`).  The result has the storage type and no
/// quantization.
/// Errors: kInvalid when sizes disagree, kUnsupported for STRING/complex, kMemory; of external data
/// kUnreadable, and kInvalid for a path that leaves `folder`.
Result<Tensor> Decode(const TensorData& data, const std::string& folder = "");

/// Checks that Decode would succeed, without reading the elements.  Errors: as Decode.
Result<void> CheckCarrier(const TensorData& data, const std::string& folder = "");

/// `bytes` is one serialised TensorProto (a .pb file).
Result<TensorData> ParseTensorData(std::string_view bytes);

enum class AttributeType : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};

struct Graph;

struct Attribute {
  std::string name;
  AttributeType type = AttributeType::kUndefined;
  float f = 0;
  std::int64_t i = 0;
  std::string s;
  std::optional<TensorData> t;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string> strings;
  std::vector<Graph> graphs;   // bodies: the one of a kGraph, those of a kGraphs
  std::string unknown_fields;  // sparse tensors, doc strings, ...
  bool operator==(const Attribute&) const;

  static Attribute Int(std::string name, std::int64_t value);
  static Attribute Float(std::string name, float value);
  static Attribute String(std::string name, std::string value);
  static Attribute Ints(std::string name, std::vector<std::int64_t> value);
  static Attribute Floats(std::string name, std::vector<float> value);
};

/// What a node was before a converter decomposed or translated it.
struct Origin {
  std::string group;  // shared by the nodes of one decomposition
  std::string framework, domain, op_type, name;
  std::vector<Attribute> attributes;
  std::string unknown_fields;
  bool operator==(const Origin&) const = default;
};

/// ONNX's own domain has two names.
inline bool IsOnnxDomain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

struct Node {
  std::string name, op_type, domain, doc_string;
  std::vector<std::string> inputs, outputs;  // "" is an absent optional input or output
  std::vector<Attribute> attributes;
  std::optional<Origin> origin;
  Metadata metadata;
  std::string unknown_fields;
  bool operator==(const Node&) const = default;

  const Attribute* Find(std::string_view attribute) const;  // nullptr when absent
  std::int64_t IntOr(std::string_view attribute, std::int64_t fallback) const;
  float FloatOr(std::string_view attribute, float fallback) const;
  std::string StringOr(std::string_view attribute, std::string fallback) const;
  std::vector<std::int64_t> IntsOr(std::string_view attribute,
                                   std::vector<std::int64_t> fallback) const;
};

/// Whether the node's operator is ONNX's of that name.
inline bool IsStock(const Node& node, std::string_view op_type) {
  return node.op_type == op_type && IsOnnxDomain(node.domain);
}

struct ValueInfo {
  std::string name, doc_string;
  std::optional<TensorType>
      type;  // nullopt: no type, or one that is not a tensor (in unknown_fields)
  std::string type_unknown_fields;  // of the TypeProto: sequence, map, denotation, ...
  Metadata metadata;
  std::string unknown_fields;
  bool operator==(const ValueInfo&) const = default;
};

/// What ONNX itself says of a quantized tensor: the initializers that hold its parameters, by keys
/// such as SCALE_TENSOR and ZERO_POINT_TENSOR.
struct TensorAnnotation {
  std::string tensor;
  Metadata parameters;  // key and name
  std::string unknown_fields;
  bool operator==(const TensorAnnotation&) const = default;
};

struct Graph {
  std::string name, doc_string;
  std::vector<Node> nodes;  // topologically ordered
  std::vector<TensorData> initializers;
  std::vector<ValueInfo> inputs, outputs, values;
  std::vector<TensorAnnotation> quantization_annotations;
  Metadata metadata;
  std::string unknown_fields;
  bool operator==(const Graph&) const = default;

  const ValueInfo* FindValue(std::string_view name) const;  // inputs, outputs, then values
  const TensorData* FindInitializer(std::string_view name) const;
};

struct OpsetImport {
  std::string domain;  // "" is ai.onnx
  std::int64_t version = 0;
  std::string unknown_fields;
  bool operator==(const OpsetImport&) const = default;
};

inline constexpr std::string_view kDomain = "qtx";
inline constexpr std::int64_t kVersion = 1;  // version that a model without later features imports

struct Model {
  std::int64_t ir_version = 0;
  std::vector<OpsetImport> opset_imports;
  std::string producer_name, producer_version, domain, doc_string;
  std::int64_t model_version = 0;
  Graph graph;
  Metadata metadata;
  std::string unknown_fields;  // functions, training info, ...
  std::string folder;  // folder of the file, where external data is looked up; not serialized
  bool operator==(const Model&) const = default;

  /// Large initializers of a large file are read on demand (TensorData::raw_data). "-" is stdin.
  /// Errors: those of FileBytes::Open, kTooLarge, kInvalid (empty, truncated, not a ModelProto).
  /// `where` names the file.
  static Result<Model> Load(const std::string& path);
  static Result<Model> Load(const FileBytes& bytes, const std::string& path);
  static Result<Model> Parse(std::string_view bytes, const std::string& where = "model");
  /// Deterministic: fields in number order, the same bytes everywhere.
  /// Errors: kTooLarge past kMaxModelBytes.
  Result<std::string> Serialize() const;
  /// Writes a temporary file beside `path`, flushes, renames. If `path` is in another folder, first
  /// copies the files of external data there. "-" is stdout.
  /// Errors: kIo of `path` (also if a different file of such a name exists there, or `path` is one
  /// of these), kTooLarge; kUnreadable and kInvalid of files that are copied.
  Result<void> Save(const std::string& path, const WriteProgress& progress = {}) const;

  std::int64_t OpsetVersion(std::string_view op_domain) const;  // 0 when not imported
};

/// A model whose values and initializers are found by name: by a search of the graph's lists or, in
/// constant time, in an index. Borrows the model, whose lists must not change.
class ModelView {
 public:
  ModelView(const Model& model)  // NOLINT(google-explicit-constructor): a view, as string_view is
      : model_(&model) {}
  /// With an index, for whoever looks up many names.
  static ModelView Indexed(const Model& model);

  const Model& model() const { return *model_; }
  const ValueInfo* FindValue(std::string_view name) const;  // inputs, outputs, then values
  const TensorData* FindInitializer(std::string_view name) const;

 private:
  const Model* model_;
  bool indexed_ = false;
  std::unordered_map<std::string_view, const ValueInfo*> values_;
  std::unordered_map<std::string_view, const TensorData*> initializers_;
};

/// The tensor of initializer `name` with the quantized type that its ValueInfo declares (named
/// parameter tensors resolved into the inline vectors).  Errors: those of Decode, kInvalid when the
/// storage, shape or parameters disagree with the ValueInfo.
Result<Tensor> LoadInitializer(const ModelView& view, std::string_view name);

/// Checks that LoadInitializer would succeed, without reading external data.
Result<void> CheckInitializer(const ModelView& view, std::string_view name);

/// Checks that all external data, of subgraphs and functions too, is there, within the model's
/// folder and as long as its tensors, without reading it. Errors: kInvalid and kUnreadable, at the
/// initializer or attribute.
Result<void> CheckExternalData(const Model& model);

/// `q` with scale_tensor and offset_tensor replaced by the inline vectors they name.
Result<Quantization> Resolve(const ModelView& view, const Quantization& q);

}  // namespace qtx::format

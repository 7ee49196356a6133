#include "qtx/convert/diff.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "qtx/format/levels.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;
using format::TensorData;
using format::ValueInfo;

constexpr std::size_t kMaxText = 200;  // of a value that is shown

std::string Text(const std::string& text) {
  if (text.size() <= kMaxText) return text;
  return text.substr(0, kMaxText) + "... (" + std::to_string(text.size()) + " bytes)";
}
std::string Text(std::int64_t value) { return std::to_string(value); }
std::string Text(std::uint64_t value) { return std::to_string(value); }
std::string Text(std::int32_t value) { return std::to_string(value); }
std::string Text(float value) { return format::HexFloat(value); }
std::string Text(double value) { return format::HexFloat(value); }
std::string Decimal(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}
std::string Text(ElementType type) { return std::string(format::Name(type)); }
std::string Text(format::Scheme scheme) { return std::string(format::Name(scheme)); }
std::string Text(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "none";
}

std::string Text(const format::BlockFactors& level);

template <typename T>
std::string Text(const std::vector<T>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size() && text.size() < kMaxText; ++i)
    text += (i == 0 ? "" : ", ") + Text(values[i]);
  if (text.size() >= kMaxText) text += ", ... (" + std::to_string(values.size()) + " values)";
  return text + "]";
}

std::string Text(const format::BlockFactors& level) {
  return "{" + (level.tensor.empty() ? Text(level.value) : level.tensor) +
         (level.block_shape.empty() ? "" : " per " + Text(level.block_shape)) + "}";
}

// "[1,32] in 18 bytes: code UINT8, scale[0] FLOAT16".
std::string Text(const std::optional<format::Encoding>& encoding) {
  using enum format::EncodedRole;
  if (!encoding) return "none";
  std::string text = format::ToString(std::span<const std::int64_t>(encoding->record_shape)) +
                     " in " + std::to_string(encoding->record_bytes) + " bytes";
  for (const format::EncodedField& field : encoding->fields) {
    const std::string level = "[" + std::to_string(field.level) + "] ";
    text += (&field == &encoding->fields[0] ? ": " : ", ") +
            (field.role == kCode ? "code " : (field.role == kScale ? "scale" : "base") + level) +
            Text(field.elem_type);
  }
  return Text(text);
}

std::string Text(const format::Metadata& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata) text += (text.empty() ? "" : ", ") + key + "=" + value;
  return Text(text);
}

std::string Text(const format::Attribute& attribute) {
  using enum format::AttributeType;
  switch (attribute.type) {
    case kFloat:
      return Text(attribute.f);
    case kInt:
      return Text(attribute.i);
    case kString:
      return Text(attribute.s);
    case kFloats:
      return Text(attribute.floats);
    case kInts:
      return Text(attribute.ints);
    case kStrings:
      return Text(attribute.strings);
    case kTensor:
      return "a tensor " + (attribute.t ? format::ToString(attribute.t->dims) : "");
    default:
      return "attribute of type " + std::to_string(static_cast<int>(attribute.type));
  }
}

template <typename T>
std::map<std::string, const T*> ByName(const std::vector<T>& list) {
  std::map<std::string, const T*> map;
  for (const T& item : list) map.emplace(item.name, &item);
  return map;
}

// Nodes keyed by their first output, which is unique; those without by position.
std::map<std::string, const Node*> ByOutput(const std::vector<Node>& nodes) {
  std::map<std::string, const Node*> map;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto output =
        std::ranges::find_if(nodes[i].outputs, [](const auto& o) { return !o.empty(); });
    map.emplace(output == nodes[i].outputs.end() ? "#" + std::to_string(i) : *output, &nodes[i]);
  }
  return map;
}

class Differ {
 public:
  Differ(const format::Model& a, const format::Model& b) : a_(a), b_(b) {}

  Result<std::vector<Difference>> Run() {
    Models();
    Signature("input", a_.graph.inputs, b_.graph.inputs);
    Signature("output", a_.graph.outputs, b_.graph.outputs);
    const auto values = [](const format::Graph& graph) {
      std::map<std::string, const ValueInfo*> map;
      for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values})
        map.merge(ByName(*list));
      return map;
    };
    Pairs("value", values(a_.graph), values(b_.graph),
          [this](const std::string& place, const ValueInfo& x, const ValueInfo& y) {
            Values(place, x, y);
          });
    Pairs("node", ByOutput(a_.graph.nodes), ByOutput(b_.graph.nodes),
          [this](const std::string& place, const Node& x, const Node& y) { Nodes(place, x, y); });
    Order();
    QTX_RETURN_IF_ERROR(Initializers());
    return std::move(list_);
  }

 private:
  void Add(std::string place, std::string field, std::string a, std::string b) {
    list_.push_back({std::move(place), std::move(field), std::move(a), std::move(b)});
  }

  template <typename T>
  void Field(const std::string& place, const char* field, const T& a, const T& b) {
    if (a != b) Add(place, field, Text(a), Text(b));
  }

  // Reports keys of one side only, and compares those of both.
  template <typename T, typename Compare>
  void Pairs(const std::string& kind, const std::map<std::string, const T*>& a,
             const std::map<std::string, const T*>& b, Compare compare) {
    for (const auto& [name, item] : a) {
      const std::string place = kind + " '" + name + "'";
      const auto other = b.find(name);
      other == b.end() ? Add(place, "present", "yes", "no") : compare(place, *item, *other->second);
    }
    for (const auto& [name, item] : b) {
      if (!a.contains(name)) Add(kind + " '" + name + "'", "present", "no", "yes");
    }
  }

  void Models();
  void Signature(const std::string& kind, const std::vector<ValueInfo>& a,
                 const std::vector<ValueInfo>& b);
  void Values(const std::string& place, const ValueInfo& a, const ValueInfo& b);
  // The types of a value as if neither had an encoding, where these differ.
  bool Decoded(const std::string& place, const ValueInfo& a, const ValueInfo& b);
  void Types(const std::string& place, const format::TensorType& a, const format::TensorType& b);
  void Quantizations(const std::string& place, const format::Quantization& a,
                     const format::Quantization& b);
  void StatisticsOf(const std::string& place, const format::Statistics& a,
                    const format::Statistics& b);
  void Nodes(const std::string& place, const Node& a, const Node& b);
  void Attributes(const std::string& place, const std::vector<format::Attribute>& a,
                  const std::vector<format::Attribute>& b);
  void Order();
  Result<void> Initializers();
  Result<void> Data(const std::string& place, const TensorData& a, const TensorData& b);

  const format::Model &a_, &b_;
  std::vector<Difference> list_;
  std::set<std::string> decoded_;  // initializers whose encodings differ
  std::set<std::string> factors_;  // initializers that hold the factors of one side of these
};

void Differ::Models() {
  Field("model", "ir_version", a_.ir_version, b_.ir_version);
  Field("model", "producer_name", a_.producer_name, b_.producer_name);
  Field("model", "producer_version", a_.producer_version, b_.producer_version);
  Field("model", "domain", a_.domain, b_.domain);
  Field("model", "model_version", a_.model_version, b_.model_version);
  Field("model", "doc_string", a_.doc_string, b_.doc_string);
  Field("model", "metadata_props", a_.metadata, b_.metadata);
  Field("graph", "name", a_.graph.name, b_.graph.name);
  Field("graph", "doc_string", a_.graph.doc_string, b_.graph.doc_string);
  Field("graph", "metadata_props", a_.graph.metadata, b_.graph.metadata);
  if (a_.unknown_fields != b_.unknown_fields || a_.graph.unknown_fields != b_.graph.unknown_fields)
    Add("model", "other fields", "", "other bytes");
  const auto imports = [](const format::Model& model) {
    std::set<std::string> texts;
    for (const auto& import : model.opset_imports)
      texts.insert((import.domain.empty() ? "ai.onnx" : import.domain) + " " +
                   std::to_string(import.version));
    return std::vector<std::string>(texts.begin(), texts.end());
  };
  Field("model", "opset_import", imports(a_), imports(b_));
}

void Differ::Signature(const std::string& kind, const std::vector<ValueInfo>& a,
                       const std::vector<ValueInfo>& b) {
  const auto names = [](const std::vector<ValueInfo>& list) {
    std::vector<std::string> texts;
    for (const ValueInfo& info : list) texts.push_back(info.name);
    return texts;
  };
  Field("graph", (kind + "s").c_str(), names(a), names(b));
}

void Differ::Values(const std::string& place, const ValueInfo& a, const ValueInfo& b) {
  Field(place, "doc_string", a.doc_string, b.doc_string);
  Field(place, "metadata_props", a.metadata, b.metadata);
  if (a.type && b.type) {
    if (!Decoded(place, a, b)) Types(place, *a.type, *b.type);
  } else if (a.type || b.type) {
    Add(place, "type", a.type ? ToString(*a.type) : "none", b.type ? ToString(*b.type) : "none");
  }
}

bool Differ::Decoded(const std::string& place, const ValueInfo& a, const ValueInfo& b) {
  const auto& q = a.type->quantization;
  const auto& r = b.type->quantization;
  if (!q || !r || q->encoding == r->encoding) return false;
  Field(place, "encoding", q->encoding, r->encoding);
  auto x = format::Resolve(a_, *a.type, a.name), y = format::Resolve(b_, *b.type, b.name);
  if (!x.has_value() || !y.has_value()) return false;
  format::TensorType of_a = *a.type, of_b = *b.type;
  of_a.quantization = *std::move(x);
  of_b.quantization = *std::move(y);
  Types(place, of_a, of_b);
  decoded_.insert(a.name);
  for (const auto& levels : {q->scale_levels, q->base_levels, r->scale_levels, r->base_levels}) {
    for (const format::BlockFactors& level : levels) factors_.insert(level.tensor);
  }
  return true;
}

void Differ::Types(const std::string& place, const format::TensorType& a,
                   const format::TensorType& b) {
  Field(place, "elem_type", a.elem_type, b.elem_type);
  const auto shape = [](const format::TensorType& type) {
    return type.shape ? format::ToString(*type.shape) : std::string("unknown");
  };
  Field(place, "shape", shape(a), shape(b));
  if (a.quantization && b.quantization) {
    Quantizations(place, *a.quantization, *b.quantization);
  } else if (a.quantization || b.quantization) {
    Add(place, "quantization", a.quantization ? "present" : "none",
        b.quantization ? "present" : "none");
  }
  if (a.statistics && b.statistics) {
    StatisticsOf(place, *a.statistics, *b.statistics);
  } else if (a.statistics || b.statistics) {
    Add(place, "statistics", a.statistics ? "present" : "none", b.statistics ? "present" : "none");
  }
}

void Differ::Quantizations(const std::string& place, const format::Quantization& a,
                           const format::Quantization& b) {
  Field(place, "scale", a.scale, b.scale);
  Field(place, "offset", a.offset, b.offset);
  Field(place, "axis", a.axis, b.axis);
  Field(place, "block_shape", a.block_shape, b.block_shape);
  Field(place, "scale_tensor", a.scale_tensor, b.scale_tensor);
  Field(place, "offset_tensor", a.offset_tensor, b.offset_tensor);
  Field(place, "scale_levels", a.scale_levels, b.scale_levels);
  Field(place, "base_levels", a.base_levels, b.base_levels);
  Field(place, "code_book", a.code_book, b.code_book);
  Field(place, "code_book_tensor", a.code_book_tensor, b.code_book_tensor);
  Field(place, "must_understand", a.must_understand, b.must_understand);
  Field(place, "quant_min", a.quant_min, b.quant_min);
  Field(place, "quant_max", a.quant_max, b.quant_max);
  Field(place, "scheme", a.scheme, b.scheme);
  Field(place, "storage_type", a.storage_type, b.storage_type);
  const format::Requantization none;
  const auto& x = a.requantization ? *a.requantization : none;
  const auto& y = b.requantization ? *b.requantization : none;
  Field(place, "requantization.multiplier", x.multiplier, y.multiplier);
  Field(place, "requantization.shift", x.shift, y.shift);
}

void Differ::StatisticsOf(const std::string& place, const format::Statistics& a,
                          const format::Statistics& b) {
  Field(place, "min", a.min, b.min);
  Field(place, "max", a.max, b.max);
  Field(place, "mean", a.mean, b.mean);
  Field(place, "std", a.std, b.std);
  Field(place, "count", a.count, b.count);
  Field(place, "nan_count", a.nan_count, b.nan_count);
  Field(place, "infinity_count", a.infinity_count, b.infinity_count);
  Field(place, "statistics.axis", a.axis, b.axis);
  Field(place, "statistics.source", a.source, b.source);
  if (a.histogram == b.histogram) return;
  const auto bins = [](const format::Statistics& statistics) {
    if (!statistics.histogram) return std::string("none");
    const format::Histogram& h = *statistics.histogram;
    return std::to_string(h.counts.size()) + " bins over [" + Text(h.lower) + ", " + Text(h.upper) +
           "]";
  };
  Add(place, "histogram", bins(a), bins(b));
}

void Differ::Nodes(const std::string& place, const Node& a, const Node& b) {
  Field(place, "op_type", a.op_type, b.op_type);
  Field(place, "domain", a.domain, b.domain);
  Field(place, "name", a.name, b.name);
  Field(place, "inputs", a.inputs, b.inputs);
  Field(place, "outputs", a.outputs, b.outputs);
  Field(place, "doc_string", a.doc_string, b.doc_string);
  Field(place, "metadata_props", a.metadata, b.metadata);
  Attributes(place, a.attributes, b.attributes);
  if (a.origin == b.origin) return;
  const auto origin = [](const Node& node) {
    if (!node.origin) return std::string("none");
    return node.origin->framework + " " + node.origin->op_type + " '" + node.origin->name +
           "' of group '" + node.origin->group + "' with " +
           std::to_string(node.origin->attributes.size()) + " attributes";
  };
  Add(place, "origin", origin(a), origin(b));
}

void Differ::Attributes(const std::string& place, const std::vector<format::Attribute>& a,
                        const std::vector<format::Attribute>& b) {
  const auto first = ByName(a), second = ByName(b);
  for (const auto& [name, attribute] : first) {
    const auto other = second.find(name);
    if (other != second.end() && *other->second == *attribute) continue;
    Add(place, "attribute '" + name + "'", Text(*attribute),
        other == second.end() ? "none" : Text(*other->second));
  }
  for (const auto& [name, attribute] : second) {
    if (!first.contains(name)) Add(place, "attribute '" + name + "'", "none", Text(*attribute));
  }
}

// The nodes that both have, in the order of each.
void Differ::Order() {
  const auto in_a = ByOutput(a_.graph.nodes), in_b = ByOutput(b_.graph.nodes);
  const auto shared = [](const std::vector<Node>& nodes, const auto& others) {
    std::vector<std::string> names;
    for (const Node& node : nodes) {
      if (!node.outputs.empty() && others.contains(node.outputs[0]))
        names.push_back(node.outputs[0]);
    }
    return names;
  };
  Field("graph", "order of nodes", shared(a_.graph.nodes, in_b), shared(b_.graph.nodes, in_a));
}

Result<void> Differ::Initializers() {
  auto a = ByName(a_.graph.initializers), b = ByName(b_.graph.initializers);
  // Those that both have are compared.
  for (const std::string& name : factors_) {
    if (a.contains(name) == b.contains(name)) continue;
    a.erase(name);
    b.erase(name);
  }
  Result<void> result;
  Pairs("initializer", a, b,
        [&](const std::string& place, const TensorData& x, const TensorData& y) {
          if (result.has_value()) result = Data(place, x, y);
        });
  return result;
}

constexpr std::int64_t kChunk = std::int64_t{1} << 20;  // elements compared at a time

// Elements `begin` to `begin + count` of a tensor, as one of its own.
format::Tensor Slice(const format::Tensor& tensor, std::int64_t begin, std::int64_t count) {
  const int width = format::BitWidth(tensor.elem_type);
  const auto at = tensor.bytes.begin() + begin * width / 8;
  return {tensor.elem_type, {count}, std::nullopt, {at, at + (count * width + 7) / 8}};
}

// The difference of two tensors of equal type and shape.
struct Elements {
  std::int64_t first = 0, count = 0;
  double largest = 0;  // |a - b|, in stored units or reals; of NaN none
  std::string a, b;    // the first
};

template <typename T>
void Compare(const std::vector<T>& a, const std::vector<T>& b, std::int64_t begin, Elements& out) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint64_t>(a[i]) == std::bit_cast<std::uint64_t>(b[i])) continue;
    if (out.count++ == 0) {
      out.first = begin + static_cast<std::int64_t>(i);
      out.a = Text(a[i]);
      out.b = Text(b[i]);
    }
    const double apart = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (apart > out.largest) out.largest = apart;
  }
}

Elements Compare(const format::Tensor& a, const format::Tensor& b) {
  Elements out;
  const std::int64_t count = format::ElementCount(a);
  const bool integers = format::IsIntegerStorage(a.elem_type) ||
                        a.elem_type == ElementType::kBool || a.elem_type == ElementType::kInt64 ||
                        a.elem_type == ElementType::kUint64;
  for (std::int64_t at = 0; at < count; at += kChunk) {
    const format::Tensor x = Slice(a, at, std::min(kChunk, count - at));
    const format::Tensor y = Slice(b, at, std::min(kChunk, count - at));
    if (x.bytes == y.bytes) continue;
    integers ? Compare(format::UnpackIntegers(x), format::UnpackIntegers(y), at, out)
             : Compare(format::StoredValues(x), format::StoredValues(y), at, out);
  }
  return out;
}

// As read, in the storage of the type.
Result<format::Tensor> Stored(const format::Model& model, const std::string& name) {
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::LoadInitializer(model, name));
  tensor.elem_type = format::StorageOf(tensor.elem_type);
  tensor.quantization.reset();
  return tensor;
}

Result<void> Differ::Data(const std::string& place, const TensorData& a, const TensorData& b) {
  const bool decoded = decoded_.contains(a.name);
  if (!decoded) Field(place, "data_type", a.data_type, b.data_type);
  if (!decoded) Field(place, "dims", a.dims, b.dims);
  if (!decoded && (a.data_type != b.data_type || a.dims != b.dims)) return {};
  if (!decoded && a == b && a_.folder == b_.folder) return {};
  if (a.data_type == ElementType::kString && a.wire != b.wire) {
    Add(place, "data", "", "other texts");
    return {};
  }
  auto x = decoded ? Stored(a_, a.name) : format::Decode(a, a_.folder);
  if (!x.has_value()) return At("a: " + place, x.error());
  auto y = decoded ? Stored(b_, b.name) : format::Decode(b, b_.folder);
  if (!y.has_value()) return At("b: " + place, y.error());
  if (x->elem_type != y->elem_type || x->dims != y->dims) return {};  // the types differ
  const Elements elements = Compare(*x, *y);
  if (elements.count == 0) return {};
  const std::string at = "[" + std::to_string(elements.first) + "] = ";
  Add(place, "data", at + elements.a,
      at + elements.b + "; " + std::to_string(elements.count) + " of " +
          std::to_string(format::ElementCount(*x)) + " differ, by at most " +
          Decimal(elements.largest));
  return {};
}

}  // namespace

Result<std::vector<Difference>> Diff(const format::Model& a, const format::Model& b) {
  return Differ(a, b).Run();
}

}  // namespace qtx::convert

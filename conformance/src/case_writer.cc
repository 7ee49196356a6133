#include "case_writer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model_builder.h"
#include "yaml_encoding.h"

namespace qtx::conformance {
namespace {

using format::Attribute;
using format::AttributeType;
using format::ElementType;
using format::Tensor;

constexpr std::size_t kMaxColumns = 100;

// Double quotes, in which YAML can escape everything.
std::string Quoted(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted.append(1, '\\').append(1, c);
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// Unquoted if every YAML reader takes it for text.
std::string Word(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./";
  constexpr std::string_view kReserved[] = {"null", "true", "false", "yes", "no", "none",
                                            "nan",  "inf",  "on",    "off", "y",  "n"};
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool plain = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                     text.find_first_not_of(kPlain) == std::string_view::npos &&
                     std::ranges::find(kReserved, lower) == std::end(kReserved);
  // y and n are common output names; this project's reader takes them for text.
  return plain || text == "y" || text == "n" ? std::string(text) : Quoted(text);
}

std::string Number(double value) { return std::isnan(value) ? "nan" : format::HexFloat(value); }
std::string Text(double value) { return Number(value); }
std::string Text(float value) { return Number(static_cast<double>(value)); }
std::string Text(std::int64_t value) { return std::to_string(value); }
std::string Text(std::int32_t value) { return std::to_string(value); }
std::string Text(std::uint64_t value) { return std::to_string(value); }
std::string Text(const std::string& value) { return Quoted(value); }

std::string Lower(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string List(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return "[" + text + "]";
}
template <typename T>
std::string ListOf(const std::vector<T>& values) {
  std::vector<std::string> items;
  for (const T& value : values) items.push_back(Text(value));
  return List(items);
}

// The keys of a flow map, in the order they are added.
class FlowMap {
 public:
  void Add(std::string_view key, const std::string& value) {
    text_ += (text_.empty() ? "" : ", ") + std::string(key) + ": " + value;
  }
  template <typename T>
  void AddList(std::string_view key, const std::vector<T>& values) {
    if (!values.empty()) Add(key, ListOf(values));
  }
  std::string Take() { return "{" + std::exchange(text_, "") + "}"; }

 private:
  std::string text_;
};

// Breaks a line of flow style at blanks that follow a comma outside quotes.
std::string Wrapped(const std::string& line) {
  std::string text;
  std::size_t column = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) quoted = !quoted;
    const std::size_t next = std::min(line.find(',', i + 1), line.size());
    if (!quoted && line[i] == ' ' && i > 0 && line[i - 1] == ',' &&
        column + next - i > kMaxColumns) {
      text += "\n     ";
      column = 5;
    }
    text += line[i];
    ++column;
  }
  return text;
}

std::string ShapeText(const format::Shape& shape) {
  std::vector<std::string> items;
  for (const format::Dimension& dimension : shape) {
    if (dimension.value) {
      items.push_back(Text(*dimension.value));
    } else {
      items.push_back(dimension.symbol.empty() ? "\"?\"" : Word(dimension.symbol));
    }
  }
  return List(items);
}

std::string HistogramText(const format::Histogram& histogram) {
  FlowMap map;
  map.Add("lower", Text(histogram.lower));
  map.Add("upper", Text(histogram.upper));
  map.AddList("counts", histogram.counts);
  map.Add("below", Text(histogram.below));
  map.Add("above", Text(histogram.above));
  return map.Take();
}

std::string StatisticsText(const format::Statistics& statistics) {
  FlowMap map;
  map.AddList("min", statistics.min);
  map.AddList("max", statistics.max);
  map.AddList("mean", statistics.mean);
  map.AddList("std", statistics.std);
  map.Add("count", Text(statistics.count));
  map.Add("nan_count", Text(statistics.nan_count));
  map.Add("infinity_count", Text(statistics.infinity_count));
  map.AddList("axis", statistics.axis);
  if (statistics.histogram) map.Add("histogram", HistogramText(*statistics.histogram));
  if (!statistics.source.empty()) map.Add("source", Quoted(statistics.source));
  return map.Take();
}

std::string LevelsText(const std::vector<format::BlockFactors>& levels) {
  std::vector<std::string> items;
  for (const format::BlockFactors& level : levels) {
    FlowMap map;
    map.AddList("value", level.value);
    if (!level.tensor.empty()) map.Add("tensor", Quoted(level.tensor));
    map.AddList("block_shape", level.block_shape);
    items.push_back(map.Take());
  }
  return List(items);
}

void AddQuantization(const format::Quantization& q, FlowMap& map) {
  map.AddList("scale", q.scale);
  map.AddList("offset", q.offset);
  map.AddList("axis", q.axis);
  map.AddList("block_shape", q.block_shape);
  if (!q.scale_tensor.empty()) map.Add("scale_tensor", Quoted(q.scale_tensor));
  if (!q.offset_tensor.empty()) map.Add("offset_tensor", Quoted(q.offset_tensor));
  if (q.quant_min) map.Add("quant_min", Text(*q.quant_min));
  if (q.quant_max) map.Add("quant_max", Text(*q.quant_max));
  if (q.scheme != format::Scheme::kUnspecified) {
    map.Add("scheme", std::string(format::Name(q.scheme)));
  }
  if (q.requantization) {
    FlowMap requantization;
    requantization.AddList("multiplier", q.requantization->multiplier);
    requantization.AddList("shift", q.requantization->shift);
    map.Add("requantization", requantization.Take());
  }
  if (q.storage_type != ElementType::kUndefined) {
    map.Add("storage_type", Lower(format::Name(q.storage_type)));
  }
  if (q.real_type != ElementType::kUndefined) {
    map.Add("real_type", Lower(format::Name(q.real_type)));
  }
  if (!q.scale_levels.empty()) map.Add("scale_levels", LevelsText(q.scale_levels));
  if (!q.base_levels.empty()) map.Add("base_levels", LevelsText(q.base_levels));
  map.AddList("must_understand", q.must_understand);
  map.AddList("code_book", q.code_book);
  if (!q.code_book_tensor.empty()) map.Add("code_book_tensor", Quoted(q.code_book_tensor));
  if (q.encoding) map.Add("encoding", EncodingText(*q.encoding));
}

Result<std::string> DataText(const Tensor& tensor) {
  const ElementType type = tensor.elem_type;
  const bool integers = type == ElementType::kBool || format::IsIntegerStorage(type);
  if (type == ElementType::kUint64) {
    const auto values = tensor.As<std::uint64_t>();
    return ListOf(std::vector<std::uint64_t>(values.begin(), values.end()));
  }
  if (integers || type == ElementType::kInt64) return ListOf(format::UnpackIntegers(tensor));
  if (format::BitWidth(type) == 0 || type == ElementType::kComplex64 ||
      type == ElementType::kComplex128) {
    return Error{ErrorCode::kUnsupported, "",
                 "a case file cannot hold elements of type " + std::string(format::Name(type))};
  }
  return ListOf(format::StoredValues(tensor));
}

Result<std::string> ValueText(const CaseValue& value) {
  if (value.absent) return std::string("none");
  FlowMap map;
  if (value.type.elem_type != ElementType::kUndefined) {
    map.Add("type", Lower(format::Name(value.type.elem_type)));
  }
  if (value.type.shape) {
    map.Add("shape", ShapeText(*value.type.shape));
  } else if (value.data && value.data->dims.size() != 1) {
    map.Add("shape", ListOf(value.data->dims));
  }
  if (value.type.quantization) AddQuantization(*value.type.quantization, map);
  if (value.type.statistics) map.Add("statistics", StatisticsText(*value.type.statistics));
  if (value.data) {
    const bool records = value.type.quantization && value.type.quantization->encoding;
    QTX_ASSIGN_OR_RETURN(const std::string data, DataText(*value.data));
    map.Add(records ? "bytes" : "data", data);
  }
  if (value.initializer) map.Add("initializer", "true");
  return map.Take();
}

Result<std::string> TensorText(const format::TensorData& data) {
  CaseValue value;
  QTX_ASSIGN_OR_RETURN(value.data, format::Decode(data));
  value.type.elem_type = value.data->elem_type;
  return ValueText(value);
}

Result<std::string> BodyText(const format::Graph& body, std::int64_t opset);

Result<std::string> AttributeText(const Attribute& attribute, std::int64_t opset) {
  switch (attribute.type) {
    case AttributeType::kFloat:
      return Text(attribute.f);
    case AttributeType::kInt:
      return Text(attribute.i);
    case AttributeType::kString:
      return Quoted(attribute.s);
    case AttributeType::kInts:
      return ListOf(attribute.ints);
    case AttributeType::kFloats:
      if (!attribute.floats.empty()) return ListOf(attribute.floats);
      break;
    case AttributeType::kStrings:
      if (!attribute.strings.empty()) return ListOf(attribute.strings);
      break;
    case AttributeType::kTensor:
      if (attribute.t) return TensorText(*attribute.t);
      break;
    case AttributeType::kGraph:
      if (attribute.graphs.size() == 1) return BodyText(attribute.graphs[0], opset);
      break;
    default:
      break;
  }
  return Error{ErrorCode::kUnsupported, "attribute '" + attribute.name + "'",
               "a case file cannot express an attribute of this kind"};
}

Result<std::string> AttributesText(const std::vector<Attribute>& attributes, std::int64_t opset) {
  FlowMap map;
  for (const Attribute& attribute : attributes) {
    QTX_ASSIGN_OR_RETURN(const std::string text, AttributeText(attribute, opset));
    map.Add(Word(attribute.name), text);
  }
  return map.Take();
}

Result<std::string> OperatorText(const Operator& op) {
  FlowMap map;
  map.Add("type", Word(op.type));
  if (!op.domain.empty()) map.Add("domain", Quoted(op.domain));
  map.Add("opset", Text(op.opset));
  if (op.origin) map.Add("origin", Quoted(op.origin->framework + "/" + op.origin->op_type));
  if (op.origin && !op.origin->attributes.empty()) {
    QTX_ASSIGN_OR_RETURN(const std::string text, AttributesText(op.origin->attributes, op.opset));
    map.Add("origin_attributes", text);
  }
  if (op.attributes.empty()) return map.Take();
  QTX_ASSIGN_OR_RETURN(const std::string text, AttributesText(op.attributes, op.opset));
  map.Add("attributes", text);
  return map.Take();
}

std::string Names(const std::vector<std::string>& names) {
  std::vector<std::string> words;
  for (const std::string& name : names) words.push_back(name.empty() ? Quoted("") : Word(name));
  return List(words);
}

Result<std::string> NodeText(const format::Node& node, std::int64_t opset) {
  const Operator op{.type = node.op_type,
                    .domain = node.domain,
                    .opset = opset,
                    .attributes = node.attributes,
                    .origin = node.origin};
  FlowMap map;
  QTX_ASSIGN_OR_RETURN(const std::string op_text, OperatorText(op));
  map.Add("op", op_text);
  map.Add("inputs", Names(node.inputs));
  map.Add("outputs", Names(node.outputs));
  return map.Take();
}

// A body as an attribute of control flow.
Result<std::string> BodyText(const format::Graph& body, std::int64_t opset) {
  FlowMap values;
  FlowMap constants;
  const auto names = [&](const std::vector<format::ValueInfo>& infos) {
    std::vector<std::string> listed;
    for (const format::ValueInfo& info : infos) listed.push_back(info.name);
    return Names(listed);
  };
  for (const format::TensorData& data : body.initializers) {
    CaseValue constant{.name = data.name};
    QTX_ASSIGN_OR_RETURN(constant.data, format::Decode(data));
    const format::ValueInfo* declared = body.FindValue(data.name);
    constant.type = declared != nullptr && declared->type
                        ? *declared->type
                        : format::TensorType{.elem_type = constant.data->elem_type};
    QTX_ASSIGN_OR_RETURN(const std::string text, ValueText(constant));
    constants.Add(Word(data.name), text);
  }
  for (const auto* infos : {&body.inputs, &body.outputs, &body.values}) {
    for (const format::ValueInfo& info : *infos) {
      if (!info.type || body.FindInitializer(info.name) != nullptr) continue;
      QTX_ASSIGN_OR_RETURN(const std::string text,
                           ValueText({.name = info.name, .type = *info.type}));
      values.Add(Word(info.name), text);
    }
  }
  std::vector<std::string> nodes;
  for (const format::Node& node : body.nodes) {
    QTX_ASSIGN_OR_RETURN(nodes.emplace_back(), NodeText(node, opset));
  }
  FlowMap map;
  map.Add("inputs", names(body.inputs));
  map.Add("outputs", names(body.outputs));
  map.Add("nodes", List(nodes));
  map.Add("values", values.Take());
  map.Add("initializers", constants.Take());
  return map.Take();
}

Result<void> AppendValues(std::string_view key, const std::vector<CaseValue>& values,
                          std::string& text) {
  if (values.empty()) return {};
  text.append(key).append(":\n");
  for (const CaseValue& value : values) {
    const auto written = ValueText(value);
    if (!written) return At(value.name, written.error());
    text += Wrapped("  " + Word(value.name) + ": " + *written) + "\n";
  }
  return {};
}

Result<void> AppendAlternatives(const Case& c, std::string& text) {
  if (c.alternatives.empty()) return {};
  text += "either:\n";
  for (const Alternative& alternative : c.alternatives) {
    QTX_ASSIGN_OR_RETURN(const std::string data, DataText(alternative.data));
    FlowMap map;
    map.Add("output", Quoted(alternative.output));
    map.Add("data", data);
    map.Add("because", Quoted(alternative.because));
    text += Wrapped("  - " + map.Take()) + "\n";
  }
  return {};
}

std::string ClosenessText(const Closeness& close) {
  FlowMap map;
  map.Add("relative", Text(close.relative));
  map.Add("absolute", Text(close.absolute));
  map.Add("because", Quoted(close.because));
  return map.Take();
}

// Fills in literal data of a value without data.
void MakeLiteral(CaseValue& value, Tensor tensor) {
  value.generator.reset();
  value.file.clear();
  value.type.elem_type = tensor.elem_type;
  if (tensor.quantization && !value.type.quantization) {
    value.type.quantization = tensor.quantization;
  }
  if (!value.type.shape) value.type.shape = format::ToShape(tensor.dims);
  value.data = std::move(tensor);
}

Result<void> MakeConstantsLiteral(const format::Model& model, std::vector<CaseValue>& values) {
  for (CaseValue& value : values) {
    if (!value.initializer || value.data) continue;
    QTX_ASSIGN_OR_RETURN(Tensor tensor, format::LoadInitializer(model, value.name));
    MakeLiteral(value, std::move(tensor));
  }
  return {};
}

}  // namespace

Result<Case> WithLiteralData(const Case& c) {
  Case literal = c;
  QTX_ASSIGN_OR_RETURN(const format::Model model, BuildModel(c));
  QTX_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, BuildInputs(c, model));
  QTX_RETURN_IF_ERROR(MakeConstantsLiteral(model, literal.inputs));
  QTX_RETURN_IF_ERROR(MakeConstantsLiteral(model, literal.initializers));
  std::size_t next = 0;
  for (const format::ValueInfo& info : model.graph.inputs) {
    if (model.graph.FindInitializer(info.name) != nullptr) continue;
    auto named = std::ranges::find(literal.inputs, info.name, &CaseValue::name);
    if (named == literal.inputs.end()) {  // inputs of networks may be matched by order
      named = literal.inputs.begin() + static_cast<std::ptrdiff_t>(next);
    }
    if (!named->data) MakeLiteral(*named, std::move(inputs[next]));
    ++next;
  }
  for (std::size_t i = 0; i < literal.outputs.size(); ++i) {
    if (literal.outputs[i].data || literal.outputs[i].file.empty()) continue;
    QTX_ASSIGN_OR_RETURN(std::optional<Tensor> expected, BuildExpected(c, model, i));
    if (expected) MakeLiteral(literal.outputs[i], *std::move(expected));
  }
  return literal;
}

Result<std::string> ToYaml(const Case& c) {
  std::string text = "id: " + Quoted(c.id) + "\nspec: " + c.spec + "\nwhy: " + Quoted(c.why) + "\n";
  if (c.op) {
    QTX_ASSIGN_OR_RETURN(const std::string op, OperatorText(*c.op));
    text += Wrapped("op: " + op) + "\n";
  } else {
    text += "model: " + Quoted(c.model) + "\n";
  }
  QTX_RETURN_IF_ERROR(AppendValues("inputs", c.inputs, text));
  QTX_RETURN_IF_ERROR(AppendValues("initializers", c.initializers, text));
  if (!c.error.empty() && c.outputs.empty()) {
    text += "expect: {error: " + c.error + "}\n";
  } else {
    QTX_RETURN_IF_ERROR(AppendValues("expect", c.outputs, text));
    if (!c.error.empty()) text += "  error: " + c.error + "\n";
  }
  QTX_RETURN_IF_ERROR(AppendAlternatives(c, text));
  if (!c.derivation.empty()) text += "derivation: " + Quoted(c.derivation) + "\n";
  if (c.ulp) text += "tolerance: {ulp: " + Text(*c.ulp) + "}\n";
  if (c.close) text += "tolerance: " + ClosenessText(*c.close) + "\n";
  text += "arithmetics: " + ListOf(c.arithmetics) + "\n";
  text += "level: " + Quoted(c.level) + "\n";
  if (!c.tags.empty()) text += "tags: " + ListOf(c.tags) + "\n";
  return text;
}

}  // namespace qtx::conformance

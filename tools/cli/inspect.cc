// qtx inspect: what is in a model, as a table for people or JSON for programs.
#include "qtx/inspect/inspect.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "commands.h"
#include "json.h"
#include "model_cache.h"
#include "qtx/format/file.h"
#include "qtx/format/model.h"
#include "qtx/format/print.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

using format::Quantization;
using format::Statistics;
using format::ValueInfo;

std::string HexText(double value) { return format::HexFloat(value); }

void WriteStatistics(const Statistics& statistics, Json& json) {
  json.Key("statistics");
  json.BeginObject();
  auto reals = [&json](std::string_view key, const std::vector<double>& values) {
    json.Array(key, values, [&json](double value) { json.Value(HexText(value)); });
  };
  reals("min", statistics.min);
  reals("max", statistics.max);
  reals("mean", statistics.mean);
  reals("std", statistics.std);
  json.Field("count", statistics.count);
  json.Field("nan_count", statistics.nan_count);
  json.Field("infinity_count", statistics.infinity_count);
  json.Array("axis", statistics.axis);
  if (statistics.histogram) {
    json.Key("histogram");
    json.BeginObject();
    json.Field("lower", HexText(statistics.histogram->lower));
    json.Field("upper", HexText(statistics.histogram->upper));
    json.Array("counts", statistics.histogram->counts);
    json.Field("below", statistics.histogram->below);
    json.Field("above", statistics.histogram->above);
    json.EndObject();
  }
  json.Field("source", statistics.source);
  json.EndObject();
}

void WriteLevels(std::string_view key, const std::vector<format::BlockFactors>& levels,
                 Json& json) {
  json.Array(key, levels, [&json](const format::BlockFactors& level) {
    json.BeginObject();
    if (level.tensor.empty()) {
      json.Array("value", level.value, [&json](float factor) { json.Value(HexText(factor)); });
    } else {
      json.Field("tensor", level.tensor);
    }
    if (!level.block_shape.empty()) json.Array("block_shape", level.block_shape);
    json.EndObject();
  });
}

void WriteSpan(const format::BitSpan& span, Json& json) {
  json.BeginObject();
  json.Field("value_bit", span.value_bit);
  json.Field("width", span.width);
  json.Field("first", span.first);
  json.Field("record_bit", span.record_bit);
  json.Array("count", span.count);
  json.Array("stride", span.stride);
  json.EndObject();
}

void WriteEncoding(const format::Encoding& encoding, Json& json) {
  json.Key("encoding");
  json.BeginObject();
  json.Field("record_bytes", encoding.record_bytes);
  json.Array("record_shape", encoding.record_shape);
  json.Array("field", encoding.fields, [&json](const format::EncodedField& field) {
    using enum format::EncodedRole;
    json.BeginObject();
    json.Field("role", field.role == kScale ? "scale" : field.role == kBase ? "base" : "code");
    if (field.role != kCode) json.Field("level", field.level);
    json.Field("elem_type", format::Name(field.elem_type));
    if (field.bias != 0) json.Field("bias", field.bias);
    json.Array("bits", field.bits, [&json](const format::BitSpan& span) { WriteSpan(span, json); });
    json.EndObject();
  });
  json.EndObject();
}

void WriteQuantization(const Quantization& q, Json& json) {
  json.Array("scale", q.scale, [&json](float scale) { json.Value(HexText(scale)); });
  json.Array("offset", q.offset);
  json.Array("axis", q.axis);
  json.Array("block_shape", q.block_shape);
  json.Field("scheme", format::Name(q.scheme));
  if (!q.scale_tensor.empty()) json.Field("scale_tensor", q.scale_tensor);
  if (!q.offset_tensor.empty()) json.Field("offset_tensor", q.offset_tensor);
  if (!q.scale_levels.empty()) WriteLevels("scale_levels", q.scale_levels, json);
  if (!q.base_levels.empty()) WriteLevels("base_levels", q.base_levels, json);
  if (!q.code_book.empty())
    json.Array("code_book", q.code_book, [&json](float value) { json.Value(HexText(value)); });
  if (!q.code_book_tensor.empty()) json.Field("code_book_tensor", q.code_book_tensor);
  if (!q.must_understand.empty()) json.Array("must_understand", q.must_understand);
  if (q.encoding) WriteEncoding(*q.encoding, json);
  if (q.quant_min) json.Field("quant_min", *q.quant_min);
  if (q.quant_max) json.Field("quant_max", *q.quant_max);
  if (q.storage_type != format::ElementType::kUndefined) {
    json.Field("storage_type", format::Name(q.storage_type));
  }
  if (q.real_type != format::ElementType::kUndefined) {
    json.Field("real_type", format::Name(q.real_type));
  }
  if (q.requantization) {
    json.Key("requantization");
    json.BeginObject();
    json.Array("multiplier", q.requantization->multiplier);
    json.Array("shift", q.requantization->shift);
    json.EndObject();
  }
}

void WriteType(const format::TensorType& type, Json& json) {
  json.Field("elem_type", format::Name(type.elem_type));
  if (!type.shape) return;
  json.Array("shape", *type.shape, [&json](const format::Dimension& dimension) {
    dimension.value ? json.Value(*dimension.value) : json.Value(dimension.symbol);
  });
}

void WriteValue(const ValueInfo& value, Json& json) {
  json.BeginObject();
  json.Field("name", value.name);
  if (value.type) {
    WriteType(*value.type, json);
    if (value.type->quantization) WriteQuantization(*value.type->quantization, json);
    if (value.type->statistics) WriteStatistics(*value.type->statistics, json);
  }
  json.EndObject();
}

void WriteNode(const format::Node& node, Json& json) {
  json.BeginObject();
  json.Field("name", node.name);
  json.Field("op_type", node.op_type);
  json.Field("domain", node.domain);
  json.Array("inputs", node.inputs);
  json.Array("outputs", node.outputs);
  if (node.origin) {
    json.Key("origin");
    json.BeginObject();
    json.Field("framework", node.origin->framework);
    json.Field("op_type", node.origin->op_type);
    json.Field("name", node.origin->name);
    json.EndObject();
  }
  json.EndObject();
}

// What is known of a model beside what its file says.
struct Insight {
  std::vector<ValueInfo> inferred;
  std::vector<inspect::Finding> findings;
  std::optional<inspect::Judged> judged;  // with findings
};

std::string ToJson(const format::Model& model, const Insight& insight) {
  Json json("inspect");
  json.BeginObject();
  json.Field("ir_version", model.ir_version);
  json.Field("producer", model.producer_name);
  json.Array("opset_imports", model.opset_imports, [&json](const format::OpsetImport& import) {
    json.BeginObject();
    json.Field("domain", import.domain);
    json.Field("version", import.version);
    json.EndObject();
  });
  auto value = [&json](const ValueInfo& info) { WriteValue(info, json); };
  json.Array("inputs", model.graph.inputs, value);
  json.Array("outputs", model.graph.outputs, value);
  json.Key("values");  // every typed value, inputs and outputs among them
  json.BeginArray();
  for (const auto* list : {&model.graph.inputs, &model.graph.values, &model.graph.outputs}) {
    for (const ValueInfo& info : *list) WriteValue(info, json);
  }
  json.EndArray();
  json.Array("nodes", model.graph.nodes, [&json](const format::Node& n) { WriteNode(n, json); });
  json.Array("inferred", insight.inferred, [&json](const ValueInfo& info) {
    json.BeginObject();
    json.Field("name", info.name);
    WriteType(*info.type, json);
    json.EndObject();
  });
  if (insight.judged) {
    const inspect::Judged& judged = *insight.judged;
    json.Key("judged");
    json.BeginObject();
    json.Field("range_and_data", judged.range_and_data);
    json.Field("saturation", judged.saturation);
    json.Field("range_alone", judged.range_alone);
    json.Field("data_alone", judged.data_alone);
    json.Field("neither", judged.neither);
    json.EndObject();
  }
  json.Array("findings", insight.findings, [&json](const inspect::Finding& finding) {
    json.BeginObject();
    json.Field("value", finding.value);
    json.Field("kind", finding.kind);
    json.Field("message", finding.message);
    json.EndObject();
  });
  json.EndObject();
  return json.Text();
}

// "0.0078431" for one value, "0.001..0.02" for several.
template <typename T>
std::string RangeText(const std::vector<T>& values) {
  if (values.empty()) return "-";
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low == *high) return fmt::format("{:.6}", static_cast<double>(*low));
  return fmt::format("{:.6}..{:.6}", static_cast<double>(*low), static_cast<double>(*high));
}

std::string Granularity(const Quantization& q) {
  if (q.axis.empty()) return "per tensor";
  std::string text = q.axis.size() == 1 ? "axis " : "axes ";
  for (std::size_t i = 0; i < q.axis.size(); ++i) {
    const bool blocked = !q.block_shape.empty() && q.block_shape[i] != 1;
    text += fmt::format("{}{}{}", i == 0 ? "" : ",", q.axis[i],
                        blocked ? fmt::format("/{}", q.block_shape[i]) : "");
  }
  return text;
}

std::string StatisticsText(const std::optional<Statistics>& statistics) {
  if (!statistics) return "";
  std::string text;
  auto add = [&text](const char* key, const std::vector<double>& values) {
    if (!values.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, RangeText(values));
  };
  add("min", statistics->min);
  add("max", statistics->max);
  add("mean", statistics->mean);
  add("std", statistics->std);
  return text;
}

// Names in converted models may have hundreds of characters and differ only at the end: the table
// shows both ends, the JSON everything.
constexpr std::size_t kMaxName = 44;
constexpr std::size_t kMaxLine = 1000;

// "fine * 0x1p-3..0x1p-2 per 1,256", from fine to coarse.
std::string LevelsText(const std::vector<format::BlockFactors>& levels) {
  std::string text;
  for (const format::BlockFactors& level : levels) {
    const std::string factors = !level.tensor.empty()
                                    ? format::Printable(level.tensor, kMaxName).text()
                                : level.value.empty() ? "records"
                                                      : RangeText(level.value);
    text += (text.empty() ? "" : " * ") + factors;
    for (std::size_t i = 0; i < level.block_shape.size(); ++i) {
      text += (i == 0 ? " per " : ",") + std::to_string(level.block_shape[i]);
    }
  }
  return text;
}

// Text of scale, offset and base, and of the range if it is narrowed.
std::string ParametersText(const Quantization& q) {
  std::string text = !q.scale_levels.empty()  ? LevelsText(q.scale_levels)
                     : q.scale_tensor.empty() ? RangeText(q.scale)
                                              : format::Printable(q.scale_tensor, kMaxName).text();
  text += " / ";
  if (!q.offset_tensor.empty()) {
    text += format::Printable(q.offset_tensor, kMaxName);
  } else {
    text += q.offset.empty() ? "0" : RangeText(q.offset);
  }
  if (!q.base_levels.empty()) text += " + base " + LevelsText(q.base_levels);
  if (!q.code_book.empty()) text += " by code book " + RangeText(q.code_book);
  if (!q.code_book_tensor.empty()) {
    text += " by code book ";
    text += format::Printable(q.code_book_tensor, kMaxName);
  }
  if (q.encoding) {
    text += fmt::format(" in records of {} bytes per {}", q.encoding->record_bytes,
                        format::ToString(std::span<const std::int64_t>(q.encoding->record_shape)));
  }
  if (q.real_type != format::ElementType::kUndefined) {
    text += fmt::format(" in {}", format::Name(q.real_type));
  }
  if (q.quant_min || q.quant_max) {
    text += fmt::format(" [{},{}]", q.quant_min ? std::to_string(*q.quant_min) : "",
                        q.quant_max ? std::to_string(*q.quant_max) : "");
  }
  return text;
}

using Row = std::array<std::string, 8>;

Row ToRow(const char* role, const ValueInfo& value) {
  Row row{role, format::Printable(value.name, kMaxName)};
  if (!value.type) return row;
  row[2] = format::Name(value.type->elem_type);
  row[3] = value.type->shape
               ? format::Printable(format::ToString(*value.type->shape), kMaxName).text()
               : "?";
  if (value.type->quantization) {
    const Quantization& q = *value.type->quantization;
    row[4] = Granularity(q);
    row[5] = format::Name(q.scheme);
    row[6] = ParametersText(q);
  }
  row[7] = StatisticsText(value.type->statistics);
  return row;
}

void PrintTable(const std::vector<Row>& rows) {
  std::array<std::size_t, 8> width{};
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) line += fmt::format("{:<{}}  ", row[c], width[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    format::Print("{}\n", format::Printable(line, kMaxLine));
  }
}

void PrintText(const format::Model& model, const Insight& insight, const std::string& file) {
  format::Print("{}: {} nodes, {} initializers, producer '{}'\n", file, model.graph.nodes.size(),
                model.graph.initializers.size(), model.producer_name);
  for (const auto& import : model.opset_imports) {
    format::Print("opset {} {}\n", import.domain.empty() ? "ai.onnx" : import.domain,
                  import.version);
  }
  std::vector<Row> rows{{"role", "value", "type", "shape", "granularity", "scheme",
                         "scale / offset [range]", "statistics"}};
  std::unordered_map<std::string_view, const ValueInfo*> inferred;
  for (const ValueInfo& value : insight.inferred) inferred.emplace(value.name, &value);
  const auto add = [&](const char* role, const ValueInfo& value) {
    const auto known = inferred.find(value.name);
    rows.push_back(ToRow(role, known == inferred.end() ? value : *known->second));
    if (known == inferred.end()) return;
    rows.back()[3] += " (inferred)";
    inferred.erase(known);
  };
  for (const auto& value : model.graph.inputs) add("input", value);
  for (const auto& value : model.graph.values) {
    const bool constant = model.graph.FindInitializer(value.name) != nullptr;
    add(constant ? "constant" : "", value);
  }
  std::unordered_set<std::string_view> outputs;
  for (const ValueInfo& value : model.graph.outputs) outputs.insert(value.name);
  for (const ValueInfo& value : insight.inferred) {
    if (!outputs.contains(value.name) && inferred.contains(value.name)) add("", value);
  }
  for (const auto& value : model.graph.outputs) add("output", value);
  format::Print("\n");
  PrintTable(rows);
}

void PrintFindings(const Insight& insight) {
  for (const inspect::Finding& finding : insight.findings)
    format::Print("looks wrong: {}: {} [{}]\n", finding.value,
                  format::Printable(finding.message, format::kMaxMessage), finding.kind);
  format::Print("judged: {}\n", inspect::ToString(*insight.judged));
}

Result<Insight> InsightInto(const format::Model& model, const format::Model& listing,
                            const InspectOptions& options) {
  Insight insight;
  if (options.html.empty() || !options.json.empty()) {  // the page infers by itself
    QTX_ASSIGN_OR_RETURN(insight.inferred, inspect::Inferred(model, listing));
  }
  if (!options.findings) return insight;
  QTX_ASSIGN_OR_RETURN(const std::vector<inspect::Value> values, inspect::Examine(listing));
  insight.findings = inspect::Findings(values);
  insight.judged = inspect::WhatWasJudged(listing, values);
  return insight;
}

}  // namespace

int Inspect(const InspectOptions& options) {
  const auto outputs = CheckOutputs({{"--html", options.html}, {"--json", options.json}},
                                    {{"the model", options.file}});
  if (!outputs.has_value()) return Fail(outputs.error());
  const auto loaded = LoadForm(options.file);
  if (!loaded.has_value()) return Fail(loaded.error());
  const auto model = inspect::Listing(*loaded);
  if (!model.has_value()) return Fail(At(options.file, model.error()));
  const auto insight = InsightInto(*loaded, *model, options);
  if (!insight.has_value()) return Fail(At(options.file, insight.error()));
  if (!options.html.empty()) {
    const auto page = inspect::ToHtml(*loaded, options.file);
    if (!page.has_value()) return Fail(At(options.file, page.error()));
    const auto written = format::WriteFileAtomically(options.html, *page);
    if (!written.has_value()) return Fail(written.error());
  }
  if (options.SaysText()) {
    if (options.html.empty()) PrintText(*model, *insight, options.file);
    if (options.findings) PrintFindings(*insight);
  }
  return Finish(options, kDone, [&] { return ToJson(*model, *insight); });
}

}  // namespace qtx::cli

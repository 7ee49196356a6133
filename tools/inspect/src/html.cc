// The page and its data. Keys are short where there are many; page.js reads them.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_set>

#include "page.h"
#include "qtx/format/json_writer.h"
#include "qtx/format/text.h"
#include "qtx/inspect/inspect.h"

namespace qtx::inspect {
namespace {

using Writer = format::JsonWriter;

// More points than screen columns are invisible.
constexpr std::size_t kDrawn = 4096;

constexpr std::size_t kMaxText = 1024;  // characters

void Text(std::string_view text, Writer& writer) {
  writer.Value(format::PrintableLines(text, kMaxText));
}

void Real(double value, Writer& writer) {
  std::isfinite(value) ? writer.Value(value) : writer.Null();
}

template <typename T>
void Reals(const char* key, const std::vector<T>& values, Writer& writer) {
  if (values.empty()) return;
  writer.Key(key);
  writer.BeginArray();
  for (std::size_t i = 0; i < std::min(values.size(), kDrawn); ++i)
    Real(static_cast<double>(values[i]), writer);
  writer.EndArray();
}

void WriteHistogram(const format::Histogram& histogram, Writer& writer) {
  writer.Key("histogram");
  writer.BeginObject();
  writer.Key("lower");
  Real(histogram.lower, writer);
  writer.Key("upper");
  Real(histogram.upper, writer);
  Reals("counts", histogram.counts, writer);
  writer.Field("below", histogram.below);
  writer.Field("above", histogram.above);
  writer.EndObject();
}

void WriteStatistics(const format::Statistics& s, Writer& writer) {
  writer.Key("statistics");
  writer.BeginObject();
  Reals("min", s.min, writer);
  Reals("max", s.max, writer);
  Reals("mean", s.mean, writer);
  Reals("std", s.std, writer);
  writer.Field("count", s.count);
  writer.Field("nan", s.nan_count);
  writer.Field("infinity", s.infinity_count);
  writer.Key("source");
  Text(s.source, writer);
  writer.EndObject();
}

void WriteQuantization(const format::Quantization& q, Writer& writer) {
  Reals("scale", q.scale, writer);
  Reals("offset", q.offset, writer);
  Reals("axis", q.axis, writer);
  Reals("block", q.block_shape, writer);
  writer.Field("parameters", q.scale.size());
  writer.Key("scheme");
  Text(format::Name(q.scheme), writer);
  if (q.quant_min) {
    writer.Field("quant_min", *q.quant_min);
  }
  if (q.quant_max) {
    writer.Field("quant_max", *q.quant_max);
  }
}

void WriteValue(const Value& value, bool inferred, Writer& writer) {
  static constexpr const char* kRoles[] = {"input", "output", "inner", "constant"};
  writer.BeginObject();
  writer.Key("name");
  Text(value.name, writer);
  writer.Field("role", kRoles[static_cast<std::size_t>(value.role)]);
  writer.Key("type");
  Text(format::Name(value.type.elem_type), writer);
  writer.Key("shape");
  Text(value.type.shape ? format::ToString(*value.type.shape) : "", writer);
  if (inferred) writer.Field("inferred", true);
  if (value.annotated) {
    writer.Key("annotated");
    Text(format::Name(value.type.quantization->storage_type), writer);
  }
  if (value.type.quantization) WriteQuantization(*value.type.quantization, writer);
  if (value.type.statistics) WriteStatistics(*value.type.statistics, writer);
  Reals("lowest", value.lowest, writer);
  Reals("highest", value.highest, writer);
  Reals("lower", value.range_lower, writer);
  Reals("upper", value.range_upper, writer);
  if (value.histogram) WriteHistogram(*value.histogram, writer);
  if (value.saturated) {
    writer.Key("saturated");
    Real(*value.saturated, writer);
  }
  writer.EndObject();
}

void Names(const char* key, const std::vector<std::string>& names, Writer& writer) {
  writer.Key(key);
  writer.BeginArray();
  for (const std::string& name : names) Text(name, writer);
  writer.EndArray();
}

void WriteNode(const format::Node& node, Writer& writer) {
  writer.BeginObject();
  writer.Key("name");
  Text(node.name, writer);
  writer.Key("op");
  Text(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type, writer);
  Names("inputs", node.inputs, writer);
  Names("outputs", node.outputs, writer);
  writer.EndObject();
}

void WriteBody(const Body& body, Writer& writer) {
  writer.BeginObject();
  writer.Key("path");
  Text(body.path, writer);
  writer.Field("node", body.node);
  writer.Field("begin", body.begin);
  writer.Field("end", body.end);
  Names("outputs", body.outputs, writer);
  writer.EndObject();
}

void WriteFinding(const Finding& finding, Writer& writer) {
  writer.BeginObject();
  writer.Key("value");
  Text(finding.value, writer);
  writer.Key("kind");
  Text(finding.kind, writer);
  writer.Key("message");
  Text(finding.message, writer);
  writer.EndObject();
}

std::string Produced(const format::Model& model) {
  std::string text = model.producer_name;
  if (!model.producer_version.empty()) text += " " + model.producer_version;
  for (const format::OpsetImport& import : model.opset_imports) {
    text += (text.empty() ? "" : ", ") + (import.domain.empty() ? "ai.onnx" : import.domain) + " " +
            std::to_string(import.version);
  }
  return text;
}

// What the page shows of a model.
struct Content {
  format::Model listing;
  std::vector<Body> bodies;
  std::vector<Value> values;
  std::unordered_set<std::string> inferred;  // values whose type or shape the file leaves open
};

Result<Content> ContentOf(const format::Model& model) {
  Content content;
  QTX_ASSIGN_OR_RETURN(content.listing, Listing(model));
  content.bodies = Bodies(model);
  QTX_ASSIGN_OR_RETURN(std::vector<format::ValueInfo> inferred, Inferred(model, content.listing));
  for (const format::ValueInfo& value : inferred) content.inferred.insert(value.name);
  format::Graph& graph = content.listing.graph;
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    std::erase_if(*list, [&](const auto& value) { return content.inferred.contains(value.name); });
  }
  std::ranges::move(inferred, std::back_inserter(graph.values));
  QTX_ASSIGN_OR_RETURN(content.values, Examine(content.listing));
  return content;
}

std::string DataOf(const Content& content, std::string_view title, std::string_view report) {
  Writer writer(Writer::Layout::kLine);
  const auto list = [&writer](const char* key, const auto& items, auto write) {
    writer.Key(key);
    writer.BeginArray();
    for (const auto& item : items) write(item, writer);
    writer.EndArray();
  };
  writer.BeginObject();
  writer.Key("title");
  Text(title, writer);
  writer.Key("produced");
  Text(Produced(content.listing), writer);
  list("values", content.values, [&content](const Value& value, Writer& to) {
    WriteValue(value, content.inferred.contains(value.name), to);
  });
  list("nodes", content.listing.graph.nodes, WriteNode);
  list("bodies", content.bodies, WriteBody);
  list("findings", Findings(content.values), WriteFinding);
  const Judged judged = WhatWasJudged(content.listing, content.values);
  writer.Field("judged", ToString(judged));
  writer.Field("judged_in_part", judged.range_alone + judged.data_alone);
  writer.Field("judged_wholly", judged.range_and_data);
  writer.Field("not_judged", judged.neither);
  if (!report.empty()) {
    writer.Key("report");
    writer.Raw(report);
  }
  writer.EndObject();
  return writer.Text();
}

}  // namespace

Result<std::string> ToHtml(const format::Model& model, std::string_view title,
                           std::string_view report) {
  QTX_ASSIGN_OR_RETURN(const Content content, ContentOf(model));
  constexpr std::string_view kTitle = "@title@";
  constexpr std::string_view kData = "@data@";
  const std::size_t head = kPage.find(kTitle);
  const std::size_t data = kPage.find(kData, head);
  std::string text(kPage.substr(0, head));
  text += format::EscapeXml(title, kMaxText);
  text += kPage.substr(head + kTitle.size(), data - head - kTitle.size());
  text += DataOf(content, title, report);
  text += kPage.substr(data + kData.size());
  return text;
}

}  // namespace qtx::inspect

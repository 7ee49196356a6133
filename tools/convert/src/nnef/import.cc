#include <algorithm>
#include <charconv>
#include <filesystem>

#include "bounds.h"
#include "errors.h"
#include "nnef/fragments.h"
#include "nnef/nnef.h"
#include "nnef/ops.h"
#include "qtx/format/check.h"
#include "qtx/format/levels.h"

namespace qtx::convert {
namespace {

namespace fs = std::filesystem;
using nnef::Builder;
using nnef::Document;
using nnef::Files;
using nnef::Invocation;

constexpr std::int64_t kOpset = 21;
constexpr std::int64_t kIrVersion = 10;

Result<std::map<std::string, Invocation>> QuantOf(const Files& files) {
  std::map<std::string, Invocation> entries;
  QTX_ASSIGN_OR_RETURN(const auto bytes, files.Open(std::string(nnef::kQuantFile)));
  if (!bytes) return entries;
  const std::string file(nnef::kQuantFile);
  const auto bounded = CheckTextSize(bytes->view());
  if (!bounded.has_value()) return At(file, bounded.error());
  auto parsed = nnef::ParseQuant(bytes->view());
  if (!parsed.has_value()) return At(file, parsed.error());
  for (Invocation& entry : *parsed) {
    const std::string name = entry.results[0].text;
    const std::size_t line = entry.line;
    if (!entries.emplace(name, std::move(entry)).second)
      return Invalid(file + ": line " + std::to_string(line),
                     "found a second entry of \"" + name.substr(0, 64) + "\"");
  }
  return entries;
}

std::set<std::string> NamesOf(const Document& document) {
  std::set<std::string> names;
  for (const Invocation& call : document.body) {
    for (const nnef::Value& result : call.results) {
      if (!result.IsList()) names.insert(result.text);
      for (const nnef::Value& item : result.items) names.insert(item.text);
    }
  }
  return names;
}

// Each input of the graph is the result of an external, and no other is.
Result<void> CheckInputs(const Document& document) {
  std::set<std::string> externals;
  for (const Invocation& call : document.body) {
    if (call.op != "external" || call.results.empty()) continue;
    externals.insert(call.results[0].text);
    if (std::ranges::find(document.inputs, call.results[0].text) == document.inputs.end())
      return Invalid(call.Place(), "'" + call.results[0].text.substr(0, 64) +
                                       "' is not among the inputs of the graph");
  }
  for (const std::string& input : document.inputs) {
    if (!externals.contains(input))
      return Invalid("graph", "found no external '" + input.substr(0, 64) + "', an input");
  }
  return {};
}

// The external of each input, in their order, then the rest.
Result<void> Walk(Builder& builder, const Document& document) {
  for (const std::string& input : document.inputs) {
    const auto found = std::ranges::find_if(document.body, [&](const Invocation& call) {
      return call.op == "external" && call.results[0].text == input;
    });
    QTX_RETURN_IF_ERROR(nnef::ConvertOperator(builder, *found));
  }
  for (const Invocation& call : document.body) {
    if (call.op != "external") QTX_RETURN_IF_ERROR(nnef::ConvertOperator(builder, call));
  }
  for (const std::string& output : document.outputs) QTX_RETURN_IF_ERROR(builder.AddOutput(output));
  return {};
}

// What the model breaks, at the line that the node comes from.
Error BrokenAt(const format::Model& model, const format::Finding& finding) {
  constexpr std::string_view kNode = "graph.node[";
  std::size_t at = 0;
  const bool is_node = finding.where.starts_with(kNode);
  if (is_node)
    std::from_chars(finding.where.data() + kNode.size(),
                    finding.where.data() + finding.where.size(), at);
  const auto code = finding.rule == "graph.C7" ? ErrorCode::kUnsupported : ErrorCode::kInvalid;
  if (!is_node || at >= model.graph.nodes.size() || !model.graph.nodes[at].origin)
    return Error{code, finding.where, finding.message, finding.rule};
  const format::Node& node = model.graph.nodes[at];
  return Error{code, "line " + node.origin->group + ": " + node.origin->op_type,
               "as " + node.op_type + ": " + finding.message, finding.rule};
}

Result<Conversion> Convert(const Files& files, const Options& options) {
  QTX_RETURN_IF_ERROR(CheckTextSize(files.graph()));
  QTX_ASSIGN_OR_RETURN(Document document, nnef::ParseGraph(files.graph()));
  QTX_RETURN_IF_ERROR(nnef::InlineFragments(document));
  QTX_ASSIGN_OR_RETURN(const auto quant, QuantOf(files));
  QTX_RETURN_IF_ERROR(CheckInputs(document));
  Ledger ledger(options);
  const std::set<std::string> names = NamesOf(document);
  for (const auto& [name, entry] : quant) {
    if (names.contains(name)) continue;
    QTX_RETURN_IF_ERROR(ledger.Lose("unmatched", name, "quantization",
                                    "graph.quant names it, and the graph has no such tensor"));
  }
  Builder builder(files, quant, ledger);
  QTX_RETURN_IF_ERROR(Walk(builder, document));
  Conversion conversion;
  format::Model& model = conversion.model;
  QTX_ASSIGN_OR_RETURN(model.graph, builder.Finish());
  model.graph.name = document.name;
  model.producer_name = "qtx";
  model.ir_version = kIrVersion;
  model.opset_imports = {{"", kOpset, ""}, {std::string(format::kDomain), format::kVersion, ""}};
  model.opset_imports[1].version = format::FormatVersion(model);
  const auto findings = format::Check(model, "");
  if (!findings.empty()) return BrokenAt(model, findings[0]);
  conversion.ledger = ledger.Take();
  return conversion;
}

}  // namespace

bool IsNnef(const Source& source) {
  return !source.onnx &&
         (nnef::LooksLikeGraph(source.bytes()) || nnef::IsTarOfGraph(source.bytes()));
}

std::optional<std::string> NnefOfFolder(const std::string& path) {
  const fs::path graph = fs::path(path) / nnef::kGraphFile;
  std::error_code code;
  return fs::is_regular_file(graph, code) ? std::optional(graph.string()) : std::nullopt;
}

Result<Conversion> ReadNnef(const Source& source, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const Files files, Files::Of(source));
  return Convert(files, options);
}

}  // namespace qtx::convert

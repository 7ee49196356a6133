#include "table/table.h"

#include <set>

#include "annotate.h"
#include "qtx/format/levels.h"
#include "table/text.h"

namespace qtx::convert {
namespace {

using table::ParsedRecord;
using table::Record;

// With inline parameters.
Result<format::ValueInfo> Resolved(const format::Model& model, format::ValueInfo info,
                                   Ledger& ledger) {
  if (!info.type->quantization) return info;
  auto q = format::Resolve(model, *info.type, info.name);
  if (!q.has_value()) return At("value '" + info.name + "'", q.error());
  info.type->quantization = *std::move(q);
  if (!info.type->quantization->scale.empty()) {
    ledger.Kept(info.name, "quantization");
    return info;
  }
  info.type->quantization.reset();
  QTX_RETURN_IF_ERROR(
      ledger.Lose("parameters", info.name, "quantization", "no scale: the axis has size 0"));
  return info;
}

Result<std::vector<Record>> RecordsOf(const format::Model& model, Ledger& ledger) {
  std::vector<Record> records;
  std::set<std::string_view> seen;
  for (const auto* list : {&model.graph.inputs, &model.graph.values, &model.graph.outputs}) {
    for (const format::ValueInfo& info : *list) {
      if (!info.type || !seen.insert(info.name).second) continue;
      QTX_ASSIGN_OR_RETURN(const format::ValueInfo resolved, Resolved(model, info, ledger));
      if (info.type->statistics) ledger.Kept(info.name, "statistics");
      records.push_back(table::RecordOf(resolved));
    }
  }
  return records;
}

// What lies along an axis needs its size: the model's, the table's, or one that follows.
Result<void> FillSizes(const ParsedRecord& row, InferredSizes& sizes, format::TensorType& type) {
  const auto check = [&]() -> Result<void> {
    if (row.quantization) QTX_RETURN_IF_ERROR(CheckAxes(row.quantization->axis, type, "axis"));
    if (!row.statistics) return {};
    return CheckAxes(row.statistics->axis, type, "statistics.axis");
  };
  if (check().has_value()) return {};
  if (row.shape) FillShape(*row.shape, type);
  if (check().has_value()) return {};
  sizes.Fill(row.name, type);
  return check();
}

Result<void> Annotate(ParsedRecord row, InferredSizes& sizes, format::Model& model,
                      Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(format::TensorType * type, DeclareFloat(model, row.name));
  if (const auto filled = FillSizes(row, sizes, *type); !filled.has_value())
    return At("value '" + row.name + "'", filled.error());
  if (row.quantization) {
    if (format::IsQuantized(row.elem_type))
      row.quantization->storage_type = format::StorageOf(row.elem_type);
    type->quantization = std::move(row.quantization);
    ledger.Kept(row.name, "quantization");
  }
  if (row.statistics) {
    type->statistics = std::move(row.statistics);
    ledger.Kept(row.name, "statistics");
  }
  return {};
}

using Parser = Result<void> (*)(std::string_view text, const table::RecordSink& take);

Result<void> AnnotateAll(Parser parse, std::string_view text, format::Model& model,
                         Ledger& ledger) {
  InferredSizes sizes(model);
  const std::set<std::string> names = ValueNames(model.graph);
  std::set<std::string> seen;
  std::size_t applied = 0, idle = 0;
  const auto take = [&](const Record& record) -> Result<void> {
    QTX_ASSIGN_OR_RETURN(ParsedRecord row, table::ParseRecord(record));
    const bool says = row.quantization || row.statistics;
    // A value that is input and output has two records in `qtx inspect --json`.
    if (!seen.insert(row.name).second && says)
      return Error{ErrorCode::kInvalid, "value '" + row.name + "'", "has two rows, expected one"};
    if (!names.contains(row.name))
      return ledger.Lose("unmatched", row.name, "row", "is not a value of the model");
    ++(says ? applied : idle);
    return !says ? Result<void>() : Annotate(std::move(row), sizes, model, ledger);
  };
  QTX_RETURN_IF_ERROR(parse(text, take));
  if (applied == 0 && seen.size() == idle) {
    return Error{ErrorCode::kInvalid, "",
                 "found no scale and no statistics in " + std::to_string(idle) +
                     " rows, expected those of a value of the model"};
  }
  if (idle != 0) {
    ledger.Dropped("table", "rows",
                   std::to_string(idle) + " of " + std::to_string(applied + idle) +
                       " rows give the model no scale and no statistics");
  }
  return {};
}

Result<Conversion> Joined(Parser parse, const Source& source, const Options& options) {
  return OntoModelBeside(source, options, [&](format::Model& model, Ledger& ledger) {
    return AnnotateAll(parse, source.bytes(), model, ledger);
  });
}

Result<Export> Written(const format::Model& model, const Options& options,
                       std::string (*text)(const std::vector<Record>&)) {
  Ledger ledger(options);
  QTX_ASSIGN_OR_RETURN(const std::vector<Record> records, RecordsOf(model, ledger));
  ledger.Dropped("model", "nodes and weights", "a table is of types only");
  Export result;
  result.content = text(records);
  result.ledger = ledger.Take();
  return result;
}

}  // namespace

bool LooksLikeCsvTable(const Source& source) {
  return !source.onnx && source.bytes().starts_with("name,elem_type,");
}

bool LooksLikeJsonTable(const Source& source) {
  const std::string_view head = source.bytes().substr(0, 4096);
  return !source.onnx && head.starts_with("{") && head.find("\"values\"") != head.npos &&
         head.find("\"elem_type\"") != head.npos;
}

Result<Conversion> ReadCsvTable(const Source& source, const Options& options) {
  return Joined(table::ParseCsv, source, options);
}

Result<Conversion> ReadJsonTable(const Source& source, const Options& options) {
  return Joined(table::ParseJson, source, options);
}

Result<Export> WriteCsvTable(const format::Model& model, const Options& options) {
  return Written(model, options, table::CsvText);
}

Result<Export> WriteJsonTable(const format::Model& model, const Options& options) {
  return Written(model, options, table::JsonText);
}

}  // namespace qtx::convert

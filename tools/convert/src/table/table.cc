#include "table/table.h"

#include <set>

#include "annotate.h"
#include "qtx/format/levels.h"
#include "table/text.h"

namespace qtx::convert {
namespace {

using table::ParsedRecord;
using table::Record;

Result<std::vector<Record>> RecordsOf(const format::Model& model, Ledger& ledger) {
  std::vector<Record> records;
  std::set<std::string_view> seen;
  for (const auto* list : {&model.graph.inputs, &model.graph.values, &model.graph.outputs}) {
    for (const format::ValueInfo& info : *list) {
      if (!info.type || !seen.insert(info.name).second) continue;
      format::ValueInfo resolved = info;
      if (info.type->quantization) {
        auto q = format::Resolve(model, *info.type);
        if (!q.has_value()) return At("value '" + info.name + "'", q.error());
        resolved.type->quantization = *std::move(q);
        ledger.Kept(info.name, "quantization");
      }
      if (info.type->statistics) ledger.Kept(info.name, "statistics");
      records.push_back(table::RecordOf(resolved));
    }
  }
  return records;
}

Result<void> Annotate(ParsedRecord row, format::Model& model, Ledger& ledger) {
  QTX_ASSIGN_OR_RETURN(format::TensorType * type, DeclareFloat(model, row.name));
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

Result<Conversion> Joined(const std::vector<Record>& records, const Source& source,
                          const Options& options) {
  Conversion conversion;
  QTX_ASSIGN_OR_RETURN(conversion.model, ModelBeside(source));
  Ledger ledger(options);
  const std::set<std::string> names = ValueNames(conversion.model.graph);
  std::set<std::string> seen;
  for (const Record& record : records) {
    QTX_ASSIGN_OR_RETURN(ParsedRecord row, table::ParseRecord(record));
    if (!row.quantization && !row.statistics) continue;
    if (!seen.insert(row.name).second)
      return Error{ErrorCode::kInvalid, "value '" + row.name + "'", "has two rows"};
    if (!names.contains(row.name)) {
      QTX_RETURN_IF_ERROR(ledger.Lose("unmatched", row.name, "row", "is not a value of the model"));
      continue;
    }
    QTX_RETURN_IF_ERROR(Annotate(std::move(row), conversion.model, ledger));
  }
  conversion.ledger = ledger.Take();
  return conversion;
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
  QTX_ASSIGN_OR_RETURN(const auto records, table::ParseCsv(source.bytes()));
  return Joined(records, source, options);
}

Result<Conversion> ReadJsonTable(const Source& source, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const auto records, table::ParseJson(source.bytes()));
  return Joined(records, source, options);
}

Result<Export> WriteCsvTable(const format::Model& model, const Options& options) {
  return Written(model, options, table::CsvText);
}

Result<Export> WriteJsonTable(const format::Model& model, const Options& options) {
  return Written(model, options, table::JsonText);
}

}  // namespace qtx::convert

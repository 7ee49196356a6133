// FromTflite: the file, then each of its operators in turn.
#include "qtx/convert/convert.h"
#include "tflite_builder.h"
#include "tflite_ops.h"

namespace qtx::convert {
namespace {

// What the versions of ai.onnx and of the file are that the operators above are written in.
constexpr std::int64_t kOpset = 17;
constexpr std::int64_t kIrVersion = 8;

Result<Conversion> Convert(const TfliteFile& file) {
  Ledger ledger;
  if (!file.description.empty()) ledger.Changed("model", "description", "is the doc_string");
  for (const std::string& name : file.metadata)
    ledger.Dropped("model", "metadata '" + name + "'", "means nothing outside TFLite");
  if (file.signatures)
    ledger.Dropped("model", "signature_defs", "other names for the graph's inputs and outputs");
  TfliteBuilder builder(file, ledger);
  QTX_RETURN_IF_ERROR(builder.AddInputs());
  for (const TfliteOperator& op : file.operators) QTX_RETURN_IF_ERROR(ConvertOperator(builder, op));
  Conversion conversion;
  QTX_ASSIGN_OR_RETURN(conversion.model.graph, builder.Finish());
  conversion.model.ir_version = kIrVersion;
  conversion.model.opset_imports = {{"", kOpset}, {std::string(format::kDomain), format::kVersion}};
  conversion.model.producer_name = "qtx";
  conversion.model.doc_string = file.description;
  conversion.ledger = ledger.Take();
  return conversion;
}

}  // namespace

Result<Conversion> FromTflite(std::string_view bytes, const std::string& where) {
  const auto file = TfliteFile::Open(bytes);
  if (!file.has_value()) return At(where, file.error());
  auto conversion = Convert(**file);
  if (!conversion.has_value()) return At(where, conversion.error());
  return conversion;
}

}  // namespace qtx::convert

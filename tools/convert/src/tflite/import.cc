// FromTflite: the file, then each of its operators in turn.
#include "qtx/convert/convert.h"
#include "tflite/builder.h"
#include "tflite/ops.h"

namespace qtx::convert {
namespace {

// The file version that came with a version of ai.onnx, 17 to 20.
std::int64_t IrVersion(std::int64_t opset) { return opset <= 18 ? 8 : 9; }

Result<Conversion> Convert(const TfliteFile& file, const Options& options) {
  Ledger ledger(options);
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
  conversion.model.ir_version = IrVersion(builder.opset());
  conversion.model.opset_imports = {{"", builder.opset()},
                                    {std::string(format::kDomain), format::kVersion}};
  conversion.model.producer_name = "qtx";
  conversion.model.doc_string = file.description;
  conversion.ledger = ledger.Take();
  return conversion;
}

}  // namespace

Result<Conversion> FromTflite(std::string_view bytes, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const auto file, TfliteFile::Open(bytes));
  return Convert(*file, options);
}

}  // namespace qtx::convert

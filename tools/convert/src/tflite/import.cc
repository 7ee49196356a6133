// FromTflite: the file, then each of its operators in turn.
#include "tflite/import.h"

#include "tflite/builder.h"
#include "tflite/frame.h"
#include "tflite/ops.h"
#include "tflite/properties.h"

namespace qtx::convert {
namespace {

// The file version that came with a version of ai.onnx, 17 to 20.
std::int64_t IrVersion(std::int64_t opset) { return opset <= 18 ? 8 : 9; }

void NoteFile(const TfliteFile& file, Ledger& ledger) {
  const char* const why = "in the model's metadata, for a TFLite file to come";
  if (!file.description.empty()) ledger.Changed("model", "description", "is the doc_string");
  for (const std::string& name : file.metadata) {
    if (!name.starts_with(kPropertyPrefix)) ledger.Changed("model", "metadata '" + name + "'", why);
  }
  if (file.signatures) ledger.Changed("model", "signature_defs", why);
}

}  // namespace

Result<TfliteImport> ImportTflite(const TfliteFile& file, const Options& options) {
  Ledger ledger(options);
  NoteFile(file, ledger);
  TfliteBuilder builder(file, ledger);
  QTX_RETURN_IF_ERROR(builder.AddInputs());
  for (const TfliteOperator& op : file.operators) QTX_RETURN_IF_ERROR(ConvertOperator(builder, op));
  TfliteImport import;
  Conversion& conversion = import.conversion;
  QTX_ASSIGN_OR_RETURN(conversion.model.graph, builder.Finish());
  conversion.model.ir_version = IrVersion(builder.opset());
  conversion.model.opset_imports = {{"", builder.opset()},
                                    {std::string(format::kDomain), format::kVersion}};
  conversion.model.producer_name = "qtx";
  conversion.model.doc_string = file.description;
  conversion.model.metadata =
      PropertiesOf(*schema::GetModel(file.aligned.data()), file.aligned.size());
  conversion.ledger = ledger.Take();
  import.forms = builder.Forms();
  import.types = builder.types();
  return import;
}

Result<Conversion> FromTflite(std::string_view bytes, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const auto file, TfliteFile::Open(bytes));
  QTX_ASSIGN_OR_RETURN(TfliteImport import, ImportTflite(*file, options));
  AddFrame(*file, import);
  return std::move(import.conversion);
}

}  // namespace qtx::convert

// FromTflite: the file, then each of its operators in turn.
#include "tflite/import.h"

#include <algorithm>

#include "onnx/float_casts.h"
#include "tflite/builder.h"
#include "tflite/custom.h"
#include "tflite/metadata.h"
#include "tflite/ops.h"
#include "tflite/skeleton.h"

namespace qtx::convert {
namespace {

// The file version that came with a version of ai.onnx, 17 to 20.
std::int64_t IrVersion(std::int64_t opset) { return opset <= 18 ? 8 : 9; }

bool IsCustom(const TfliteOperator& op) { return op.code == schema::BuiltinOperator::CUSTOM; }

// A file of one subgraph takes its signatures and metadata along, in its skeleton.
void NoteFile(const TfliteFile& file, Ledger& ledger) {
  if (!file.description.empty()) ledger.Changed("model", "description", "is the doc_string");
  for (const std::string& name : file.left_out)
    ledger.Dropped("model", "subgraph " + name, "another subgraph is converted");
  const auto note = [&](const std::string& field) {
    file.left_out.empty()
        ? ledger.Changed("model", field, "kept in the model's metadata")
        : ledger.Dropped("model", field, "only one subgraph of the file is converted");
  };
  for (const std::string& name : file.metadata) {
    if (!name.starts_with(kPropertyPrefix)) note("metadata '" + name + "'");
  }
  if (file.signatures) note("signature_defs");
}

}  // namespace

Result<TfliteImport> ImportTflite(TfliteFile& file, const Options& options) {
  Ledger ledger(options);
  NoteFile(file, ledger);
  TfliteBuilder builder(file, ledger);
  QTX_RETURN_IF_ERROR(builder.AddInputs());
  for (const TfliteOperator& op : file.operators) QTX_RETURN_IF_ERROR(ConvertOperator(builder, op));
  TfliteImport import;
  Conversion& conversion = import.conversion;
  QTX_ASSIGN_OR_RETURN(conversion.model.graph, builder.Finish());
  AddFloatCasts(conversion.model);
  conversion.model.ir_version = IrVersion(builder.opset());
  conversion.model.opset_imports = {{"", builder.opset()},
                                    {std::string(format::kDomain), format::kVersion}};
  if (std::ranges::any_of(file.operators, &IsCustom))
    conversion.model.opset_imports.push_back({std::string(kCustomDomain), 1});
  conversion.model.producer_name = "qtx";
  conversion.model.doc_string = file.description;
  QTX_ASSIGN_OR_RETURN(conversion.model.metadata,
                       PropertiesOf(*schema::GetModel(file.aligned.data()), file.aligned.size()));
  conversion.ledger = ledger.Take();
  import.forms = builder.Forms();
  import.types = builder.types();
  return import;
}

Result<Conversion> FromTflite(std::string_view bytes, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const auto file, TfliteFile::Open(bytes, options.subgraph));
  QTX_ASSIGN_OR_RETURN(TfliteImport import, ImportTflite(*file, options));
  if (file->left_out.empty()) AddSkeleton(*file, import);
  return std::move(import.conversion);
}

}  // namespace qtx::convert

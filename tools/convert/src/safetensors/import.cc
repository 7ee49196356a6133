#include <filesystem>

#include "qtx/format/levels.h"
#include "safetensors/graph.h"
#include "safetensors/safetensors.h"

namespace qtx::convert {

bool LooksLikeSafetensors(const Source& source) {
  return !source.onnx && safetensors::LooksLikeContainer(source.bytes());
}

std::optional<std::string> SafetensorsOfFolder(const std::string& folder) {
  return safetensors::FileOfFolder(folder);
}

Result<Conversion> ReadSafetensors(const Source& source, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const safetensors::Container files, safetensors::OpenContainer(source));
  Ledger ledger(options);
  QTX_ASSIGN_OR_RETURN(format::Model model, safetensors::MakeModel(files, ledger, options.data));
  const std::filesystem::path path = source.path;
  model.folder = path.has_parent_path() ? path.parent_path().string() : ".";
  for (format::OpsetImport& opset : model.opset_imports)
    if (opset.domain == format::kDomain) opset.version = format::FormatVersion(model);
  return Conversion{std::move(model), ledger.Take()};
}

}  // namespace qtx::convert

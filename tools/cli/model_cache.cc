#include "model_cache.h"

#include <algorithm>
#include <filesystem>

#include "qtx/convert/convert.h"
#include "qtx/format/limits.h"

namespace qtx::cli {
namespace {

constexpr std::size_t kMaxModels = 4;

// `error` of a file that is a model only together with others, and the line that takes those.
Error WithTheLine(const std::string& path, const convert::Kind& kind, Error error) {
  if (kind.takes != convert::Takes::kFiles) return error;
  const std::string stem = std::filesystem::path(path).stem().string();
  error.message += "; 'qtx convert " + path + " --with FILE -o " + stem +
                   ".onnx' makes a model of " + std::string(kind.name) + " and its files";
  return error;
}

}  // namespace

Result<format::Model> LoadForm(const std::string& given) {
  const std::string path = convert::FileOfFolder(given);
  convert::Source source{.path = path, .file = {}, .with = {}, .onnx = {}};
  QTX_ASSIGN_OR_RETURN(source.file, convert::OpenBytes(path));
  auto model = format::Model::Load(source.file, path);
  if (model.has_value()) return model;
  const auto kinds = convert::Kinds();
  const auto kind = std::ranges::find_if(
      kinds, [&source](const convert::Kind& each) { return each.matches(source); });
  if (kind == kinds.end() || kind->read == nullptr) return model;
  auto conversion = convert::Read(source, *kind);
  if (!conversion.has_value()) return WithTheLine(path, *kind, std::move(conversion).error());
  return std::move(conversion->model);
}

Result<format::Model> LoadModel(const std::string& path) {
  QTX_ASSIGN_OR_RETURN(format::Model model, LoadForm(path));
  const auto checked = format::CheckExternalData(model);
  if (!checked.has_value()) return At(path, checked.error());
  return model;
}

Result<format::Model> LoadAnyModel(const std::string& path) {
  QTX_ASSIGN_OR_RETURN(const convert::Source source, convert::Open(path));
  QTX_ASSIGN_OR_RETURN(const convert::Kind* kind, convert::KindOf(source));
  auto conversion = kind->read(source, {});
  if (!conversion.has_value()) return WithTheLine(path, *kind, At(path, conversion.error()));
  return std::move(conversion->model);
}

Result<format::Model> ModelCache::Load(const std::string& path) {
  {
    const std::scoped_lock lock(mutex_);
    const auto known =
        std::ranges::find(models_, path, [](const auto& entry) { return entry.first; });
    if (known != models_.end()) {
      std::rotate(models_.begin(), known, known + 1);
      return models_.front().second;
    }
  }
  Result<format::Model> model = LoadAnyModel(path);
  const std::scoped_lock lock(mutex_);
  models_.insert(models_.begin(), {path, model});
  if (models_.size() > kMaxModels) models_.pop_back();
  return model;
}

}  // namespace qtx::cli

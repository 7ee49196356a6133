#include "model_cache.h"

#include <algorithm>

#include "qtx/convert/convert.h"

namespace qtx::cli {
namespace {

constexpr std::size_t kMaxModels = 4;

}  // namespace

Result<format::Model> LoadModel(const std::string& path) {
  QTX_ASSIGN_OR_RETURN(format::Model model, format::Model::Load(path));
  const auto checked = format::CheckExternalData(model);
  if (!checked.has_value()) return At(path, checked.error());
  return model;
}

Result<format::Model> LoadAnyModel(const std::string& path) {
  QTX_ASSIGN_OR_RETURN(const convert::Source source, convert::Open(path));
  QTX_ASSIGN_OR_RETURN(const convert::Kind* kind, convert::KindOf(source));
  auto conversion = kind->read(source, {});
  if (!conversion.has_value()) return At(path, conversion.error());
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

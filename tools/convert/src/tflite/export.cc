// ToTflite: the file that the model came from, or a new one.
#include "qtx/convert/convert.h"
#include "tflite/frame.h"
#include "tflite/losses.h"

namespace qtx::convert {
namespace {

// The file as it came in, where reading it again gives this very graph.
std::optional<std::pair<std::string, format::Model>> FileItCameFrom(const format::Model& model) {
  auto bytes = FillFrame(model);
  if (!bytes) return std::nullopt;
  auto back = FromTflite(*bytes);
  if (!back.has_value() || !SameGraph(model, back->model)) return std::nullopt;
  return std::pair(*std::move(bytes), std::move(back->model));
}

}  // namespace

Result<Export> ToTflite(const format::Model& model, const Options& options) {
  Ledger ledger(options);
  if (auto file = FileItCameFrom(model)) {
    QTX_RETURN_IF_ERROR(LoseTheRest(model, file->second, ledger));
    return Export{std::move(file->first), ledger.Take()};
  }
  return Error{ErrorCode::kUnsupported, "", "no frame"};
}

}  // namespace qtx::convert

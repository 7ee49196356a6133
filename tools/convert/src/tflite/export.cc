// ToTflite: the file that the model came from, or a new one.
#include "qtx/convert/convert.h"
#include "tflite/frame.h"
#include "tflite/losses.h"
#include "tflite/new_file.h"

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
  if (FindFrame(model)) {
    ledger.Changed("model", "frame", "the graph is no longer that of the file it came from");
  }
  QTX_ASSIGN_OR_RETURN(std::string bytes, NewTflite(model, ledger));
  return Export{std::move(bytes), ledger.Take()};
}

}  // namespace qtx::convert

// ToTflite: the file that the model came from, or a new one.
#include <algorithm>

#include "qtx/convert/convert.h"
#include "tflite/file.h"
#include "tflite/losses.h"
#include "tflite/new_file.h"
#include "tflite/skeleton.h"

namespace qtx::convert {
namespace {

// The original file, if reading it gives exactly this graph.
std::optional<std::pair<std::string, format::Model>> FileItCameFrom(const format::Model& model) {
  auto bytes = FillSkeleton(model);
  if (!bytes) return std::nullopt;
  auto back = FromTflite(*bytes, {.all_losses = true});
  if (!back.has_value() || !SameGraph(model, back->model)) return std::nullopt;
  return std::pair(*std::move(bytes), std::move(back->model));
}

// LiteRT refuses such a file or crashes on it.
bool LacksBias(const std::string& bytes) {
  const auto file = TfliteFile::Open(bytes);
  return file.has_value() && std::ranges::any_of((*file)->operators, [](const TfliteOperator& op) {
           const bool convolution = op.code == schema::BuiltinOperator::CONV_2D ||
                                    op.code == schema::BuiltinOperator::DEPTHWISE_CONV_2D;
           return convolution && (op.inputs.size() < 3 || op.inputs[2] < 0);
         });
}

}  // namespace

Result<Export> ToTflite(const format::Model& model, const Options& options) {
  Ledger ledger(options);
  if (auto file = FileItCameFrom(model); file && LacksBias(file->first)) {
    ledger.Changed("model", "skeleton", "a convolution of the file it came from has no bias");
  } else if (file) {
    QTX_RETURN_IF_ERROR(LoseTheRest(model, file->second, ledger));
    return Export{std::move(file->first), ledger.Take()};
  } else if (FindSkeleton(model)) {
    ledger.Changed("model", "skeleton", "the graph is no longer that of the file it came from");
  }
  QTX_ASSIGN_OR_RETURN(std::string bytes, NewTflite(model, ledger));
  return Export{std::move(bytes), ledger.Take()};
}

}  // namespace qtx::convert

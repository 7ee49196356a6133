// Fault models of what codes stand for: signs of scales, code books and reals of 16 bits.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "node_editor.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Quantization;
using format::Tensor;

// Calls change(name, parameters) for each input that has any, whatever they are.
template <typename Change>
bool ForEachQuantizedInput(NodeEditor& editor, Change change) {
  bool any = false;
  const std::vector<std::string> names = editor.node().inputs;
  for (const std::string& name : names) {
    format::TensorType* type = name.empty() ? nullptr : editor.Type(&name);
    if (type == nullptr || !type->quantization) continue;
    any = change(name, *type->quantization) || any;
  }
  return any;
}

bool HasScaleBelowZero(const Quantization& q) {
  return std::ranges::any_of(q.scale, [](float scale) { return scale < 0; });
}

bool DropSigns(NodeEditor& editor) {
  return ForEachQuantizedInput(editor, [](const std::string&, Quantization& q) {
    if (!HasScaleBelowZero(q)) return false;
    for (float& scale : q.scale) scale = std::fabs(scale);
    return true;
  });
}

// Codes of scales below 0 about their offsets, clamped to the storage.
bool Mirror(NodeEditor& editor) {
  return ForEachQuantizedInput(
      editor, [&editor](const std::string& name, const Quantization& type) {
        if (!HasScaleBelowZero(type) || type.encoding) return false;
        return editor.EditIntegers(&name, [](std::vector<std::int64_t>& codes, Tensor& tensor) {
          Quantization& q = *tensor.quantization;
          if (!format::ParameterDims(q, tensor.dims)) return false;
          const format::ParameterMap map(q, tensor.dims);
          const format::IntegerRange range = format::StorageRange(tensor.elem_type);
          for (std::size_t i = 0; i < codes.size(); ++i) {
            const std::int64_t k = map(static_cast<std::int64_t>(i));
            if (!(format::ScaleAt(q, k) < 0)) continue;
            codes[i] = std::clamp(2 * std::int64_t{format::OffsetAt(q, k)} - codes[i], range.min,
                                  range.max);
          }
          for (float& scale : q.scale) scale = std::fabs(scale);
          return true;
        });
      });
}

bool DropBook(NodeEditor& editor) {
  return ForEachQuantizedInput(editor, [](const std::string&, Quantization& q) {
    if (q.code_book.empty() && q.code_book_tensor.empty()) return false;
    q.code_book.clear();
    q.code_book_tensor.clear();
    return true;
  });
}

bool TurnBook(NodeEditor& editor) {
  return ForEachQuantizedInput(editor, [&editor](const std::string&, Quantization& q) {
    if (!q.code_book_tensor.empty()) {
      const std::optional<Tensor> book = editor.Load(&q.code_book_tensor);
      if (!book || book->elem_type != ElementType::kFloat) return false;
      const auto values = book->As<float>();
      q.code_book.assign(values.begin(), values.end());
      q.code_book_tensor.clear();
    }
    if (q.code_book.empty()) return false;
    std::rotate(q.code_book.begin(), q.code_book.begin() + 1, q.code_book.end());
    return true;
  });
}

// The reals of inputs and the output; change(parameters) says whether it did anything.
template <typename Change>
bool ForEachRealType(NodeEditor& editor, Change change) {
  const auto of_halves = [change](Quantization& q) { return IsHalf(q.real_type) && change(q); };
  const bool inputs = ForEachQuantizedInput(
      editor, [of_halves](const std::string&, Quantization& q) { return of_halves(q); });
  format::TensorType* y = editor.Type(editor.Output());
  const bool output = y != nullptr && y->quantization && of_halves(*y->quantization);
  return inputs || output;
}

bool ExchangeHalves(NodeEditor& editor) {
  return ForEachRealType(editor, [](Quantization& q) {
    q.real_type =
        q.real_type == ElementType::kFloat16 ? ElementType::kBfloat16 : ElementType::kFloat16;
    return true;
  });
}

constexpr std::array kCodeFaults = {
    Fault{.name = "scale_sign_dropped",
          .says = "takes the magnitude of a scale below 0",
          .question = DropSigns},
    Fault{.name = "negative_scale_mirrored",
          .says = "negates the codes of a scale below 0, and clamps what has no mirror",
          .question = Mirror},
    Fault{.name = "code_book_ignored",
          .says = "takes the codes of a code book for integers",
          .question = DropBook},
    Fault{.name = "code_book_off_by_one",
          .says = "reads the entry after the right one from a code book",
          .question = TurnBook},
    Fault{.name = "half_types_exchanged",
          .says = "takes FLOAT16 and BFLOAT16 for each other",
          .question = ExchangeHalves},
};

}  // namespace

std::span<const Fault> CodeFaults() { return kCodeFaults; }

}  // namespace qtx::conformance

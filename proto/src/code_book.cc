// Code books: a real for each code of a storage, and the version of the format that they ask for.
// Source: spec/format/quantization.md, quantization.C19, C21 and S9; spec/format/versioning.md.
#include <algorithm>
#include <cmath>

#include "check_rules.h"
#include "levels.h"
#include "qtx/format/encoding.h"
#include "qtx/format/scopes.h"
#include "qtx/format/tensor_type.h"

namespace qtx::format {
namespace {

constexpr std::int32_t kCodeBookField = 15;

// What stands beside a code book and would not mean anything there.
const char* FieldBeside(const Quantization& q) {
  if (!q.offset.empty()) return "offset";
  if (!q.offset_tensor.empty()) return "offset_tensor";
  if (q.quant_min) return "quant_min";
  if (q.quant_max) return "quant_max";
  return q.scheme != Scheme::kUnspecified ? "scheme" : nullptr;
}

LevelFault Broken(const char* field, const std::string& found, const std::string& expected) {
  return {"quantization.C19", field, FoundExpected(found, expected)};
}

}  // namespace

std::optional<LevelFault> CheckCodeBook(ElementType storage, const Quantization& declared,
                                        const Quantization& resolved) {
  if (!HasCodeBook(declared)) return std::nullopt;
  const bool named = !declared.code_book_tensor.empty();
  const char* field = named ? "code_book_tensor" : "code_book";
  if (named && !declared.code_book.empty()) {
    return Broken("code_book", "both code_book and code_book_tensor", "one of them");
  }
  if (storage != ElementType::kUint2 && storage != ElementType::kUint4 &&
      storage != ElementType::kUint8) {
    return Broken(field, "one on " + std::string(Name(storage)), "UINT2, UINT4 or UINT8");
  }
  if (const char* beside = FieldBeside(declared)) {
    return Broken(beside, std::string(beside) + " beside a code book", "none");
  }
  const std::size_t codes = std::size_t{1} << static_cast<unsigned>(BitWidth(storage));
  const std::vector<float>& values = resolved.code_book;
  if (values.size() != codes) {
    return Broken(field, std::to_string(values.size()) + " values",
                  std::to_string(codes) + ", one for each code of " + std::string(Name(storage)));
  }
  const auto infinite = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
  if (infinite == values.end()) return std::nullopt;
  return LevelFault{"quantization.C19",
                    std::string(field) + "[" + std::to_string(infinite - values.begin()) + "]",
                    FoundExpected(HexFloat(static_cast<double>(*infinite)), "a finite value")};
}

void SetCodeBook(std::vector<float> values, Quantization& q) {
  q.code_book = std::move(values);
  q.code_book_tensor.clear();
  if (std::ranges::find(q.must_understand, kCodeBookField) == q.must_understand.end()) {
    q.must_understand.push_back(kCodeBookField);
  }
}

std::int64_t FormatVersion(const ModelView& view, const TensorType& type) {
  if (!type.quantization) return kVersion;
  const Quantization& q = *type.quantization;
  if (q.encoding) return kEncodingVersion;
  if (HasCodeBook(q)) return kCodeBooksVersion;
  const bool inline_scale = q.scale_tensor.empty() && q.scale_levels.empty();
  if (inline_scale) {
    if (HasSignedScale(q)) return kCodeBooksVersion;
  } else if (const auto resolved = Resolve(view, type);
             resolved.has_value() && HasSignedScale(*resolved)) {
    return kCodeBooksVersion;
  }
  return HasLevels(q) ? kLevelsVersion : kVersion;
}

std::int64_t FormatVersion(const Model& model) {
  const FlatModel flat(model);
  const ModelView view = ModelView::Indexed(flat.model());
  std::int64_t version = kVersion;
  const Graph& graph = flat.model().graph;
  for (const auto* list : {&graph.inputs, &graph.outputs, &graph.values}) {
    for (const ValueInfo& value : *list) {
      if (value.type) version = std::max(version, FormatVersion(view, *value.type));
    }
  }
  return version;
}

}  // namespace qtx::format

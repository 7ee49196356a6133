// What a lowered model carries beside its QDQ nodes: annotated types, and in metadata_props a seal
// over them and the imports of the model it came from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::convert {

inline constexpr std::string_view kSealKey = "qtx.annotations";  // "<count>:<16 hex digits>"
inline constexpr std::string_view kImportsKey =
    "qtx.imports";  // "<lowered opset>:<domain>=<version>,..."

/// `type` as FLOAT, its quantization and statistics an annotation.  REQUIRES: `type` is quantized.
format::TensorType Annotated(format::TensorType type);
/// True for a FLOAT type whose annotation names a storage type that has a quantized one.
bool IsAnnotated(const format::TensorType& type);
/// The quantized type that an annotation describes.  REQUIRES: IsAnnotated(type).
format::TensorType Unannotated(format::TensorType type);

/// Annotated values of a graph, and the FNV-1a hash of their serialised annotations by increasing
/// name. Shapes do not count, since tools that infer shapes add them.
struct Seal {
  std::size_t count = 0;
  std::uint64_t hash = 0;
  bool operator==(const Seal&) const = default;
};
Result<Seal> SealOf(const format::Graph& graph);
std::string ToText(const Seal& seal);
/// nullopt when the model has no seal, or one that is malformed.
std::optional<Seal> SealIn(const format::Model& model);

std::string ImportsText(std::int64_t lowered, const std::vector<format::OpsetImport>& imports);
/// The imports recorded, if the model still has the opset it was lowered to.
std::optional<std::vector<format::OpsetImport>> ImportsIn(const format::Model& model);

}  // namespace qtx::convert

// The second role of the two fields QTX adds: on a FLOAT value they annotate how it is quantized in
// the extended form of the model.  Source: spec/format/lowering.md.
#pragma once

#include <cstdint>
#include <string>

#include "qtx/format/model.h"

namespace qtx::format {

/// `type` as FLOAT, its quantization and statistics an annotation.  REQUIRES: `type` is quantized.
TensorType Annotated(TensorType type);
/// True for a FLOAT type whose annotation names a storage type that has a quantized one.
bool IsAnnotated(const TensorType& type);
/// The quantized type that an annotation describes.  REQUIRES: IsAnnotated(type).
TensorType Unannotated(TensorType type);

/// Key in metadata_props of the digest that lowering leaves.
inline constexpr std::string_view kDigestKey = "qtx.annotations";

/// What the annotations of a graph come to: how many values have one, and a hash of them all.
/// Source: lowering.S4.
struct AnnotationDigest {
  std::size_t count = 0;
  std::uint64_t hash = 0;
  bool operator==(const AnnotationDigest&) const = default;
};

/// The digest of the annotations that are there.  Errors: kTooLarge.
Result<AnnotationDigest> DigestOf(const Graph& graph);
/// "<count>:<16 hex digits>"
std::string ToText(const AnnotationDigest& digest);

/// Succeeds when the model has no digest, or has the annotations it was made of.
/// Errors: kInvalid, such as "41 annotated values written, 0 left".
Result<void> CheckDigest(const Model& model);

}  // namespace qtx::format

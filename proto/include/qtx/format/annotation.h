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

/// Keys in metadata_props of what lowering records: the digests of the annotations (lowering.S4)
/// and of the nodes (lowering.S9), and the imports of the extended form (lowering.S5).
inline constexpr std::string_view kDigestKey = "qtx.annotations";
inline constexpr std::string_view kNodesKey = "qtx.nodes";
inline constexpr std::string_view kImportsKey = "qtx.imports";
/// The text of `key`; nullptr when there is none.
const std::string* FindMetadata(const Metadata& metadata, std::string_view key);
void EraseLoweringRecord(Metadata& metadata);

/// How many values are annotated, or how many nodes there are, and a hash of them all.
struct Digest {
  std::size_t count = 0;
  std::uint64_t hash = 0;
  bool operator==(const Digest&) const = default;
};

/// The digest of the annotations that are there.  Errors: kTooLarge.  Source: lowering.S4.
Result<Digest> DigestOf(const Graph& graph);
/// The digest of the nodes that are there.  Errors: kTooLarge.  Source: lowering.S9.
Result<Digest> NodeDigestOf(const Graph& graph);
/// "<count>:<16 hex digits>"
std::string ToText(const Digest& digest);

/// Succeeds when the model has no digest, or has the annotations it was made of.
/// Errors: kInvalid, such as "41 annotated values written, 0 left".
Result<void> CheckDigest(const Model& model);

}  // namespace qtx::format

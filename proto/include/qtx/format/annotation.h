// Annotations: on a FLOAT, FLOAT16 or BFLOAT16 value, QTX's two fields describe how the value is
// quantized in the extended form of the model.  Source: spec/format/lowering.md.
#pragma once

#include <cstdint>
#include <string>

#include "qtx/format/model.h"

namespace qtx::format {

/// The type of the reals of a quantized type; any other elem_type is its own.
ElementType RealTypeOf(const TensorType& type);
/// The version that a model imports where something is said of 16 bits.
inline constexpr std::int64_t kHalvesVersion = 3;
/// True for a `real_type`, and for a quantization or statistics on FLOAT16 or BFLOAT16.
bool UsesHalves(const TensorType& type);
/// Returns `type` as the type of its reals, with its quantization and statistics as the annotation.
/// REQUIRES: `type` is quantized.
TensorType Annotated(TensorType type);
/// True for a type of reals with an annotation whose storage type has a quantized counterpart.
bool IsAnnotated(const TensorType& type);
/// The quantized type that an annotation describes.  REQUIRES: IsAnnotated(type).
TensorType Unannotated(TensorType type);

/// The key in metadata_props of the digest of statistics (statistics.C7).
inline constexpr std::string_view kStatisticsKey = "qtx.statistics";
/// Keys in metadata_props under which lowering records the digests of the annotations (lowering.S4)
/// and of the nodes (lowering.S9), the opset imports of the extended form (lowering.S5), and what
/// of it another opset has in another form (lowering.S10).
inline constexpr std::string_view kDigestKey = "qtx.annotations";
inline constexpr std::string_view kNodesKey = "qtx.nodes";
inline constexpr std::string_view kImportsKey = "qtx.imports";
inline constexpr std::string_view kOpsetKey = "qtx.opset";
/// The value of `key`; nullptr when there is none.
const std::string* FindMetadata(const Metadata& metadata, std::string_view key);
bool HasLoweringRecord(const Metadata& metadata);
void EraseLoweringRecord(Metadata& metadata);

/// The number of annotated values, or of nodes, and a hash over all of them.
struct Digest {
  std::size_t count = 0;
  std::uint64_t hash = 0;
  bool operator==(const Digest&) const = default;
};

/// The digest of the annotations of a flat graph (FlatModel).  Errors: kTooLarge.  Source:
/// lowering.S4.
Result<Digest> DigestOf(const Graph& graph);
/// The digest of the nodes of a flat graph.  Errors: kTooLarge.  Source: lowering.S9.
Result<Digest> NodeDigestOf(const Graph& graph);
/// "<count>:<16 hex digits>"
std::string ToText(const Digest& digest);

/// Succeeds when the model, in its flat form, has no digest, or one that matches its annotations.
/// Errors: kInvalid, such as "41 annotated values written, 0 left".
Result<void> CheckDigest(const Model& model);
/// Makes that digest of a model, nested or flat, anew; a model without one gets none.
/// Errors: kTooLarge.
Result<void> RecordAnnotations(Model& model);
/// The same of the statistics of values of reals that are not annotated.  Source: statistics.C7.
Result<void> CheckStatisticsDigest(const Model& model);
/// Makes that digest of a model, nested or flat, anew; none where no value has such statistics.
/// Errors: kTooLarge.
Result<void> RecordStatistics(Model& model);

}  // namespace qtx::format

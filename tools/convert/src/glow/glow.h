// Glow's quantization profiles: joined to their float ONNX model, and written from a model.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

bool LooksLikeGlowProfile(const Source& source);

/// Min, Max and Histogram become statistics, Scale and Offset an annotation with INT8 storage. The
/// file lacks the scheme, which is an option of Glow.  Errors: kInvalid (no profile, no model, an
/// ambiguous name); kUnsupported for an unknown name.
Result<Conversion> ReadGlow(const Source& source, const Options& options);

/// Writes scales and offsets if the model has any, else minima, maxima and histograms.
/// Errors: kUnsupported for what the form cannot express and no allowed loss covers.
Result<Export> WriteGlow(const format::Model& model, const Options& options);

/// Keys in metadata_props for the profile's headers.
inline constexpr std::string_view kGlowHashKey = "glow.GraphPreLowerHash";
inline constexpr std::string_view kGlowVersionKey = "glow.GlowToolsVersion";
/// Statistics::source of a profile's statistics.
inline constexpr std::string_view kGlowSource = "glow profile";

}  // namespace qtx::convert

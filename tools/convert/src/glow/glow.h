// A quantization profile of Glow, joined to the float ONNX model it was taken of, and out of one.
#pragma once

#include "qtx/convert/convert.h"

namespace qtx::convert {

bool LooksLikeGlowProfile(const Source& source);

/// Min, Max and Histogram become statistics, Scale and Offset the annotation of an INT8 storage.
/// The scheme is not in the file: Glow has it on its command line.  Errors: kInvalid (no profile,
/// no model, a name that stands for two values); kUnsupported for a name that stands for none.
Result<Conversion> ReadGlow(const Source& source, const Options& options);

/// Scales and offsets where the model has any, else minima, maxima and histograms.
/// Errors: kUnsupported for what the form has no place for and no loss allows.
Result<Export> WriteGlow(const format::Model& model, const Options& options);

/// Keys in metadata_props of the profile's own headers.
inline constexpr std::string_view kGlowHashKey = "glow.GraphPreLowerHash";
inline constexpr std::string_view kGlowVersionKey = "glow.GlowToolsVersion";
/// Source of statistics that a profile gave.
inline constexpr std::string_view kGlowSource = "glow profile";

}  // namespace qtx::convert

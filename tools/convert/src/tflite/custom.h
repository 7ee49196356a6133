// How an operator that TFLite knows only by its name (CUSTOM) is a node.
#pragma once

#include <string_view>

namespace qtx::convert {

/// The domain of such nodes; the operator type is the `custom_code`.
inline constexpr std::string_view kCustomDomain = "tflite";
/// The attribute that holds the bytes of `custom_options`.
inline constexpr std::string_view kCustomOptions = "custom_options";

}  // namespace qtx::convert

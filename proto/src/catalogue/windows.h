// What the rows of operators of spatial axes share.
#pragma once

#include <optional>
#include <vector>

#include "qtx/format/window.h"
#include "rules.h"

namespace qtx::format::catalogue {

using WindowShapes = Result<std::vector<std::optional<Dims>>>;

inline constexpr TypeSet kWindowDouble = {ElementType::kDouble};
inline constexpr TypeSet kWindowBytes = {ElementType::kUint8, ElementType::kInt8};
inline constexpr TypeSet kWindowFloat = {ElementType::kFloat};

/// [n, c, outputs...] of each output; not known past the limit of the axes.
WindowShapes WindowShapesOf(const Application& a, std::int64_t n, std::int64_t c,
                            const Result<std::vector<WindowAxis>>& axes);
Result<void> WindowAutoPad(const Application& a);

inline constexpr AttributeRule kWindowAutoPad{"auto_pad", AttributeType::kString, "NOTSET"};
inline constexpr AttributeRule kWindowKernel{"kernel_shape", AttributeType::kInts};
inline constexpr AttributeRule kWindowPads{"pads", AttributeType::kInts};
inline constexpr AttributeRule kWindowStrides{"strides", AttributeType::kInts};

}  // namespace qtx::format::catalogue

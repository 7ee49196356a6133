// Whole networks with generated weights.
#pragma once

#include <string_view>

#include "qtx/bench/shapes.h"
#include "qtx/bench/workload.h"

namespace qtx::bench {

/// MobileNet v1 1.0 at 224, 1000 classes; ReLU6 is the range of the types.
Task MakeMobileNetV1(std::string_view name, const Types& types);
/// ResNet-50 at 224, 1000 classes, batch normalization folded.
Task MakeResNet50(std::string_view name, const Types& types);

}  // namespace qtx::bench

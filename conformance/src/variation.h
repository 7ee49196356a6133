// Variations of a failing model: each changes one thing that the failure may hang on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "differential_tester.h"
#include "reduce.h"
#include "test_model.h"

namespace qtx::conformance {

/// "strides [2, 1]", "group 2"; the name alone of what has no short text.
std::string AttributeText(const format::Attribute& attribute);

/// Variations that take one thing away. What is wrong with it and right without it hangs on it.
struct Feature {
  std::string says;  // completes "wrong only ...": "with dilations [2]", "where x is UINT8Q"
  std::vector<TestModel> without;
};

/// Attributes, optional inputs, small INT64 tensors, element types, offsets, ranges, parameters
/// along an axis and constants of `test`. The reference may refuse any of them.
std::vector<Feature> FeaturesOf(const TestModel& test);

/// An axis of an input or constant that may have other sizes.
struct SizedAxis {
  std::string says;  // "axis 3 of x"
  std::int64_t size = 0;
  std::vector<Sized> others;  // increasing
};

/// Axes of at most kMaxVariedSize, with sizes that separate multiples of 2, 4, 8, 16 and 32 from
/// others, as far as the reference accepts them.
std::vector<SizedAxis> AxesOf(const DifferentialTester& tester, const TestModel& test);
inline constexpr std::int64_t kMaxVariedSize = 512;

}  // namespace qtx::conformance

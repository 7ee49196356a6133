// How much the tests that go over the whole suite, or draw models, do in this build.
#pragma once

namespace qtx::conformance {

// Sanitizers make exact arithmetic ten times as slow: with them each test takes every eighth case,
// and draws an eighth of the models. Their business is what reads foreign bytes.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kCaseStep = 8;
#else
inline constexpr int kCaseStep = 1;
#endif

}  // namespace qtx::conformance

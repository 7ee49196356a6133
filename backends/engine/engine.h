// From a model in the extended form to a PreparedModel that computes it with a set of kernels, in
// arithmetic `exact` or another.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/arithmetic.h"
#include "engine/kernels.h"
#include "qtx/backend/backend.h"

namespace qtx::backend::engine {

/// What computes the operators that have kernels: those where they can and the general path
/// elsewhere, or (to test it) the general path alone.
enum class Path { kFastest, kGeneral };

struct Preparation {
  Path path = Path::kFastest;
  int threads = 1;
  Arithmetic arithmetic = Arithmetic::kExact;
  std::optional<float> bias_factor = {};  // nested_model.h
};

/// Plans every node, packs weights, allocates buffers.
/// Errors: kUnsupported naming node and reason (nothing is computed in another arithmetic than
/// asked for, unless that is defined so), kInvalid for a model that breaks the spec, with the
/// clause, kTooLarge.
Result<std::unique_ptr<PreparedModel>> PrepareModel(const format::Model& model,
                                                    const Kernels& kernels,
                                                    const Preparation& how = {});

/// op_types of ai.onnx and com.microsoft that the engine may run, sorted.
std::vector<std::string_view> SupportedOperators();

/// A backend over the engine. `options` may name the kernels (the best of `available` otherwise;
/// tables are ordered best first and outlive every backend) and the number of `threads`.
/// Its arithmetics are those of arithmetic.h.  Errors: kInvalid for other options, or kernels there
/// are not.
Result<std::unique_ptr<Backend>> MakeBackend(std::string name, std::string_view options,
                                             std::span<const Kernels* const> available);

}  // namespace qtx::backend::engine

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

/// kFastest: kernels, and the general path for nodes that they do not compute. kGeneral: the
/// general path for all nodes, for tests.
enum class Path { kFastest, kGeneral };

struct Preparation {
  Path path = Path::kFastest;
  int threads = 1;
  Arithmetic arithmetic = Arithmetic::kExact;
  std::optional<float> bias_factor = {};  // see PrepareNested
};

/// Plans every node, packs weights, allocates buffers.  Errors: kInvalid with the clause that the
/// model breaks; kUnsupported with the node and the reason, also if the engine does not compute the
/// node in the arithmetic asked for; kTooLarge.
Result<std::unique_ptr<PreparedModel>> PrepareModel(const format::Model& model,
                                                    const Kernels& kernels,
                                                    const Preparation& how = {});

/// op_types of ai.onnx and com.microsoft that the engine may run, sorted.
std::vector<std::string_view> SupportedOperators();

/// A backend over the engine. `options` may name the kernels (the best of `available` otherwise;
/// tables are ordered best first and outlive every backend) and the number of `threads`.
/// Its arithmetics are those of arithmetic.h.  Errors: kInvalid for other options, or kernels that
/// are not available.
Result<std::unique_ptr<Backend>> MakeBackend(std::string name, std::string_view options,
                                             std::span<const Kernels* const> available);

}  // namespace qtx::backend::engine

// The defaults of PreparedModel::Measure and Profile.
#include <chrono>

#include "qtx/backend/backend.h"

namespace qtx::backend {

Result<std::vector<double>> PreparedModel::Measure(std::span<const format::Tensor> inputs,
                                                   int repetitions) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  seconds.reserve(static_cast<std::size_t>(repetitions));
  for (int i = 0; i < repetitions; ++i) {
    const Clock::time_point start = Clock::now();
    const auto outputs = Run(inputs);
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    if (!outputs.has_value()) return outputs.error();
  }
  return seconds;
}

Result<std::vector<NodeTime>> PreparedModel::Profile(std::span<const format::Tensor>, int) {
  return Error{ErrorCode::kUnsupported, "", "the backend does not tell what its nodes take"};
}

}  // namespace qtx::backend

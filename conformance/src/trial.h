// One try of a program on a backend, beside the reference: what came of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "program.h"
#include "qtx/backend/backend.h"
#include "qtx/conformance/runner.h"

namespace qtx::conformance {

/// What came of a try; from kDiffers on it is the backend's fault.
enum class Way {
  kPass,
  kInvalid,      // the checker or the reference refuses the program: no try at all
  kUnsupported,  // the backend says so
  kDiffers,      // elements differ
  kMisshapen,    // number, types or shapes of the outputs differ
  kRefused,      // the backend calls it invalid
  kCrash,
  kTimeout,
  kProtocolError,
};
inline bool IsFault(Way way) { return way >= Way::kDiffers; }
std::string_view Name(Way way);  // "differs", "protocol error"

struct Verdict {
  Way way = Way::kInvalid;
  std::string detail;  // one sentence; empty for a pass
  std::vector<format::Tensor> expected;
  std::vector<format::Tensor> got;
};

/// What the reference makes of a model; nullopt where it or the checker refuses.
std::optional<std::vector<format::Tensor>> ReferenceAnswer(
    const format::Model& model, const std::vector<format::Tensor>& inputs,
    const std::string& arithmetic);

/// Runs programs in one arithmetic and counts the runs. Borrows nothing; deterministic as long as
/// the backend is.
class Trial {
 public:
  /// Errors: those of the source and of Describe; kInvalid when the backend lacks the arithmetic.
  /// An empty `arithmetic` is the backend's first. Of `tolerance` that of float outputs counts.
  static Result<Trial> Make(const BackendSource& source, std::string arithmetic,
                            const Case& tolerance = {});

  const std::string& arithmetic() const { return arithmetic_; }
  std::int64_t runs() const { return runs_; }
  std::int64_t timeouts() const { return timeouts_; }

  Verdict Run(const Program& program);
  Verdict Run(const format::Model& model, const std::vector<format::Tensor>& inputs);
  /// Whether the checker and the reference take it: no run of the backend.
  bool Accepts(const Program& program) const;

 private:
  Trial(std::unique_ptr<backend::Backend> backend, std::string arithmetic, Case tolerance)
      : backend_(std::move(backend)),
        arithmetic_(std::move(arithmetic)),
        tolerance_(std::move(tolerance)) {}
  void Ask(const format::Model& model, const std::vector<format::Tensor>& inputs, Verdict& verdict);

  std::unique_ptr<backend::Backend> backend_;
  std::string arithmetic_;
  Case tolerance_;
  std::int64_t runs_ = 0;
  std::int64_t timeouts_ = 0;
};

}  // namespace qtx::conformance

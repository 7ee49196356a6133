// Executor of float models for calibration: the float backend if it is built, with the reference
// for nodes without a kernel; else the reference.
#pragma once

#include <memory>
#include <string>

#include "qtx/calibrate/calibrate.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::cli {

class FloatExecution {
 public:
  /// `threads` for each sample. `model` must outlive the result, which must outlive what it makes.
  /// Errors: those of reference::Interpreter::Prepare: for a node that neither computes.
  static Result<FloatExecution> Prepare(const format::Model& model, int threads);
  FloatExecution(FloatExecution&&) noexcept;
  FloatExecution& operator=(FloatExecution&&) noexcept;
  ~FloatExecution();

  calibrate::MakeExecutor make() const;
  /// Calibrate's Options::executor: equal names mean bit-equal results.
  std::string name() const;

 private:
  struct State;
  explicit FloatExecution(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qtx::cli

// What computes float models for calibration: the float backend where it is built, with the
// reference for nodes it has no kernel for, or the reference alone.
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
  /// Errors: those of reference::Interpreter::Prepare: a node that nothing here computes.
  static Result<FloatExecution> Prepare(const format::Model& model, int threads);
  FloatExecution(FloatExecution&&) noexcept;
  FloatExecution& operator=(FloatExecution&&) noexcept;
  ~FloatExecution();

  calibrate::MakeExecutor make() const;
  /// Calibrate's Options::executor: results of two of the same name are the same bits.
  std::string name() const;

 private:
  struct State;
  explicit FloatExecution(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace qtx::cli

// Checks the model named on the command line, looks at its values and prepares it for the exact
// interpreter; gives a range to what was seen of one tensor.
#include <iostream>

#include "qtx/calibrate/statistics.h"
#include "qtx/format/check.h"
#include "qtx/format/model.h"
#include "qtx/inspect/inspect.h"
#include "qtx/quantize/range.h"
#include "qtx/reference/interpreter.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto model = qtx::format::Model::Load(argv[1]);
  if (!model.has_value() || !qtx::format::Check(*model, argv[1]).empty()) return 1;
  if (!qtx::inspect::Examine(*model).has_value()) return 1;
  const auto tensor = qtx::format::MakeTensor(qtx::format::ElementType::kFloat, {4});
  qtx::calibrate::StatisticsAccumulator seen({});
  if (!tensor.has_value() || !seen.Add(*tensor).has_value()) return 1;
  if (!qtx::quantize::RangeOf(seen.Finish(), {{}}, {}).has_value()) return 1;
  const auto interpreter = qtx::reference::Interpreter::Prepare(*model, "exact");
  if (!interpreter.has_value())
    std::cerr << interpreter.error().where << ": " << interpreter.error().message << '\n';
  return interpreter.has_value() ? 0 : 1;
}

// Checks the model named on the command line and prepares it for the exact interpreter.
#include <iostream>

#include "qtx/format/check.h"
#include "qtx/format/model.h"
#include "qtx/reference/interpreter.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto model = qtx::format::Model::Load(argv[1]);
  if (!model.has_value() || !qtx::format::Check(*model, argv[1]).empty()) return 1;
  const auto interpreter = qtx::reference::Interpreter::Prepare(*model, "exact");
  if (!interpreter.has_value())
    std::cerr << interpreter.error().where << ": " << interpreter.error().message << '\n';
  return interpreter.has_value() ? 0 : 1;
}

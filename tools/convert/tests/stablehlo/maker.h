// StableHLO programs, converted and run by the reference, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qtx/convert/convert.h"
#include "qtx/reference/interpreter.h"
#include "tests/files.h"

namespace qtx::convert::stablehlo_test {

inline Result<Conversion> ReadProgram(const std::string& text, const Options& options = {}) {
  return Read(FromBytes(text, "p.mlir"), *FindKind("stablehlo"), options);
}

/// "" where the program is read.
inline std::string RefusalOf(const std::string& text, const Options& options = {}) {
  const auto read = ReadProgram(text, options);
  return read.has_value() ? "" : TextOf(read.error());
}

/// A function without arguments around `body`.
inline std::string Function(const std::string& body) {
  return "func.func @main() {\n" + body + "\n  return\n}\n";
}

/// The outputs of a program without inputs: plain values, or stored ones.
inline std::vector<std::vector<double>> RunProgram(const std::string& text,
                                                   const std::string& arithmetic = "exact",
                                                   const Options& options = {}) {
  const auto read = ReadProgram(text, options);
  if (!read.has_value()) {
    ADD_FAILURE() << TextOf(read.error());
    return {};
  }
  auto interpreter = reference::Interpreter::Prepare(read->model, arithmetic);
  if (!interpreter.has_value()) {
    ADD_FAILURE() << TextOf(interpreter.error());
    return {};
  }
  const auto outputs = interpreter->Run(std::vector<format::Tensor>());
  if (!outputs.has_value()) {
    ADD_FAILURE() << TextOf(outputs.error());
    return {};
  }
  std::vector<std::vector<double>> values;
  for (const format::Tensor& output : *outputs) {
    const auto integers = output.elem_type == format::ElementType::kInt64
                              ? format::UnpackIntegers(output)
                              : std::vector<std::int64_t>();
    values.push_back(output.elem_type == format::ElementType::kInt64
                         ? std::vector<double>(integers.begin(), integers.end())
                         : format::StoredValues(output));
  }
  return values;
}

/// The one value that `body` returns as `%r` of `type`.
inline std::vector<double> Returned(const std::string& body, const std::string& type) {
  const auto outputs = RunProgram("func.func @main() -> " + type + " {\n" + body +
                                  "\n  return %r : " + type + "\n}\n");
  return outputs.size() == 1 ? outputs[0] : std::vector<double>();
}

}  // namespace qtx::convert::stablehlo_test

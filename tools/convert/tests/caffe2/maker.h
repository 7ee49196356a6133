// Caffe2 nets in text form, run by the reference, for tests.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "qtx/convert/convert.h"
#include "qtx/reference/interpreter.h"
#include "tests/files.h"

namespace qtx::convert {

/// A file that holds `bytes`, opened.
inline Source SourceOf(const std::string& bytes) {
  const std::string path = testing::TempDir() + "caffe2_maker.pbtxt";
  std::ofstream(path, std::ios::binary) << bytes;
  auto source = Open(path);
  EXPECT_TRUE(source.has_value());
  return source.has_value() ? *std::move(source) : Source{};
}
inline Result<Conversion> ReadNet(const std::string& bytes) {
  return Read(SourceOf(bytes), *FindKind("caffe2"));
}

/// "" where the net is read.
inline std::string RefusalOf(const std::string& net) {
  const auto read = ReadNet(net);
  return read.has_value() ? "" : TextOf(read.error());
}

/// name: "v" and its number, as text.
inline std::string Arg(const std::string& name, const std::string& value) {
  return "  arg { name: \"" + name + "\" " + value + " }\n";
}
inline std::string Op(const std::string& type, const std::vector<std::string>& inputs,
                      const std::string& output, const std::string& arguments = "") {
  std::string text = "op {\n";
  for (const std::string& input : inputs) text += "  input: \"" + input + "\"\n";
  return text + "  output: \"" + output + "\"\n  type: \"" + type + "\"\n" + arguments + "}\n";
}
inline std::string Y(const std::string& scale, int zero_point) {
  return Arg("Y_scale", "f: " + scale) + Arg("Y_zero_point", "i: " + std::to_string(zero_point));
}
inline std::string Shape(const std::string& ints) { return Arg("shape", ints); }

struct Input {
  format::Dims dims;
  std::vector<float> values;
};

/// What the net's one output has, FLOAT or stored, of its one FLOAT input.
inline std::vector<double> RunNet(const std::string& net, const Input& input,
                                  const std::string& arithmetic = "exact") {
  const auto read = ReadNet(net);
  if (!read.has_value()) {
    ADD_FAILURE() << TextOf(read.error());
    return {};
  }
  auto interpreter = reference::Interpreter::Prepare(read->model, arithmetic);
  if (!interpreter.has_value()) {
    ADD_FAILURE() << TextOf(interpreter.error());
    return {};
  }
  format::Tensor x = *format::MakeTensor(format::ElementType::kFloat, input.dims);
  std::copy(input.values.begin(), input.values.end(), x.As<float>().begin());
  const auto outputs = interpreter->Run(std::vector{x});
  if (!outputs.has_value()) {
    ADD_FAILURE() << TextOf(outputs.error());
    return {};
  }
  return format::StoredValues(outputs->at(0));
}

}  // namespace qtx::convert

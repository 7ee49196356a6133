// Workloads: models with inputs, created on demand and deterministically.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::bench {

/// The model and inputs that a backend runs.
struct Task {
  format::Model model;
  std::vector<format::Tensor> inputs;
};

struct Workload {
  std::string name;   // "conv/resnet50/3x3_64_64_56"; workloads of one name differ in types only
  std::string shape;  // "1x64x56x56 * 64x64x3x3"
  std::string types;  // "u8s8c", "fp32"
  int count = 1;      // occurrences in a network
  std::function<Result<Task>()> make;
};

/// Products, convolutions and generated networks in all types; for each name, FLOAT comes last.
std::vector<Workload> GeneratedWorkloads();

/// The models under `folder` (.onnx in the extended form, .tflite), ordered by their names
/// "net/STEM", each as it is ("file") and as its float twin. If a file cannot be used, its make()
/// returns the error.  Errors: kUnreadable, when there is no such folder.
Result<std::vector<Workload>> NetworkWorkloads(const std::string& folder);

/// The multiply-adds of Conv, Gemm and MatMul nodes; nodes with unknown shapes count 0.
std::int64_t CountMultiplyAdds(const format::Model& model);
/// Bytes of constants, inputs and outputs, a lower bound of the memory traffic.
std::int64_t CountBytes(const format::Model& model);

/// True if no value is quantized.
bool IsFloat(const format::Model& model);

/// `model` over FLOAT: constants are dequantized, and a Relu or Clip replaces the clamping by a
/// quantized type's range.
/// Errors: kUnsupported for a node that FLOAT does not allow (named), and for a model that is FLOAT
/// already; those of LoadInitializer.
Result<format::Model> FloatTwin(const format::Model& model);

}  // namespace qtx::bench

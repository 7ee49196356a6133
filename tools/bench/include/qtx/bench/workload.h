// Workloads: models with inputs, made when they are needed, always the same ones.
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

/// What a backend is given.
struct Task {
  format::Model model;
  std::vector<format::Tensor> inputs;
};

struct Workload {
  std::string name;   // "conv/resnet50/3x3_64_64_56"; workloads of one name differ in types only
  std::string shape;  // "1x64x56x56 * 64x64x3x3"
  std::string types;  // "u8s8c", "fp32"
  int count = 1;      // how often a network has it
  std::function<Result<Task>()> make;
};

/// Products, convolutions and generated networks in all types, the float ones last of each name.
std::vector<Workload> GeneratedWorkloads();

/// The models under `folder`, in the order of their names "net/STEM", each as it is ("file") and as
/// its float twin: .onnx in the extended form and .tflite that can be converted. What a file cannot
/// do, its make() says.  Errors: kIo, when there is no such folder.
Result<std::vector<Workload>> NetworkWorkloads(const std::string& folder);

/// The products of Conv, Gemm and MatMul nodes. 0 for a shape that is not fixed.
std::int64_t CountMultiplyAdds(const format::Model& model);
/// Bytes of constants, inputs and outputs: what has to be moved at least.
std::int64_t CountBytes(const format::Model& model);

/// Whether nothing in it is quantized.
bool IsFloat(const format::Model& model);

/// `model` over FLOAT: constants as the reals they stand for, and a Relu or Clip where a quantized
/// type's range did its work.
/// Errors: kUnsupported, naming the node that has no meaning on FLOAT, or when all is FLOAT
/// already; those of LoadInitializer.
Result<format::Model> FloatTwin(const format::Model& model);

}  // namespace qtx::bench

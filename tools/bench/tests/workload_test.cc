#include "qtx/bench/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "qtx/bench/shapes.h"
#include "qtx/format/check.h"
#include "qtx/reference/interpreter.h"

namespace qtx::bench {
namespace {

using testing::HasSubstr;

Workload Find(const std::string& name, const std::string& types) {
  for (Workload& work : GeneratedWorkloads()) {
    if (work.name == name && work.types == types) return std::move(work);
  }
  ADD_FAILURE() << name << " " << types;
  return {};
}

TEST(GeneratedWorkloads, AreNamedOnceInEachTypes) {
  std::set<std::pair<std::string, std::string>> names;
  std::string last;
  std::set<std::string> done;
  for (const Workload& work : GeneratedWorkloads()) {
    EXPECT_TRUE(names.insert({work.name, work.types}).second) << work.name << " " << work.types;
    if (work.name == last) continue;
    EXPECT_TRUE(done.insert(work.name).second) << work.name << " is not in one place";
    last = work.name;
  }
}

// One of each kind in every types; the big ones differ in size only.
TEST(GeneratedWorkloads, AreValidModelsWithFittingInputs) {
  const std::set<std::string> names = {"gemm/64x64x64", "bert/scores",
                                       "conv/mobilenet_v1/dw3x3s2_64_64_112",
                                       "net/mobilenet_v1_1.0_224_generated"};
  int made = 0;
  for (const Workload& work : GeneratedWorkloads()) {
    if (!names.contains(work.name)) continue;
    const auto task = work.make();
    ASSERT_TRUE(task.has_value()) << work.name << ": " << task.error().message;
    EXPECT_TRUE(format::Check(task->model).empty()) << work.name << " " << work.types;
    EXPECT_EQ(task->inputs.size(), task->model.graph.inputs.size());
    ++made;
  }
  EXPECT_EQ(made, 3 * 6 + 4);  // scores of two computed operands have no types per channel
}

TEST(GeneratedWorkloads, AreTheSameEachTime) {
  const Workload work = Find("conv/resnet50/1x1_64_64_56", "u8s8c");
  const auto first = work.make(), second = work.make();
  EXPECT_EQ(first->model, second->model);
  EXPECT_EQ(first->inputs, second->inputs);
}

// 64 * 64 bytes of each operand and of the result; four times as much in binary32.
TEST(CountBytes, IsOfConstantsInputsAndOutputs) {
  EXPECT_EQ(CountBytes(Find("gemm/64x64x64", "u8u8").make()->model), 3 * 4096);
  EXPECT_EQ(CountBytes(Find("gemm/64x64x64", "fp32").make()->model), 3 * 4 * 4096);
}

// Offsets on both sides for unsigned weights: the general case, which kernels must pay for.
TEST(GeneratedWorkloads, HaveOffsets) {
  const auto task = Find("gemm/64x64x64", "u8u8").make();
  const auto weights = format::LoadInitializer(task->model, task->model.graph.nodes[0].inputs[1]);
  EXPECT_NE(weights->quantization->offset, std::vector<std::int32_t>{0});
  EXPECT_NE(weights->quantization->offset, std::vector<std::int32_t>{128});
  EXPECT_NE(task->inputs[0].quantization->offset, std::vector<std::int32_t>{128});
}

struct Usage {
  double lowest = 0, highest = 0;  // shares of elements at the ends of the range
  double deviation = 0;            // in LSB
};

Usage UsageOf(const format::Tensor& tensor) {
  const auto range = format::StoredRange(tensor.elem_type, *tensor.quantization);
  const std::vector<std::int64_t> stored = format::UnpackIntegers(tensor);
  const auto count = static_cast<double>(stored.size());
  double sum = 0, squares = 0;
  Usage usage;
  for (const std::int64_t value : stored) {
    usage.lowest += value == range.min ? 1 / count : 0;
    usage.highest += value == range.max ? 1 / count : 0;
    sum += static_cast<double>(value) / count;
    squares += static_cast<double>(value * value) / count;
  }
  usage.deviation = std::sqrt(squares - sum * sum);
  return usage;
}

// A network whose values all clamp, or all vanish, would be computed as fast, and test nothing.
void ExpectValuesToUseTheirTypes(const std::string& name) {
  const auto task = Find(name, "s8s8c").make();
  auto interpreter = reference::Interpreter::Prepare(task->model);
  ASSERT_TRUE(interpreter.has_value()) << interpreter.error().message;
  interpreter->set_observer([](const std::string& value, const format::Tensor& tensor) {
    const Usage usage = UsageOf(tensor);
    EXPECT_LT(usage.lowest, 0.75) << value;
    EXPECT_LT(usage.highest, 0.25) << value;
    EXPECT_GT(usage.deviation, 8) << value;
  });
  ASSERT_TRUE(interpreter->Run(task->inputs).has_value());
}

TEST(GeneratedWorkloads, MobileNetUsesTheRangeOfItsTypes) {
  ExpectValuesToUseTheirTypes("net/mobilenet_v1_1.0_224_generated");
}

TEST(GeneratedWorkloads, ResNetUsesTheRangeOfItsTypes) {
  ExpectValuesToUseTheirTypes("net/resnet50_generated");
}

TEST(NetworkWorkloads, AreOneAFolderAndTheirFloatTwins) {
  const auto workloads =
      NetworkWorkloads(std::string(QTX_SOURCE_DIR) + "/conformance/cases/models");
  ASSERT_TRUE(workloads.has_value()) << workloads.error().message;
  ASSERT_EQ(workloads->size(), 12U);
  EXPECT_EQ(workloads->front().name, "net/aww");
  EXPECT_EQ(workloads->front().shape, "model.onnx");
  EXPECT_EQ((*workloads)[1].types, "fp32");
  for (const Workload& work : *workloads) {
    const auto task = work.make();
    ASSERT_TRUE(task.has_value()) << work.name << " " << work.types << task.error().message;
    EXPECT_TRUE(format::Check(task->model).empty()) << work.name;
  }
}

TEST(NetworkWorkloads, SayWhatIsWrongWithAFile) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("qtx_work_test_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "bad.tflite") << "no flatbuffer";
  const auto workloads = NetworkWorkloads(folder.string());
  const auto task = workloads->at(0).make();
  std::filesystem::remove_all(folder);
  ASSERT_FALSE(task.has_value());
  EXPECT_THAT(task.error().where, HasSubstr("bad.tflite"));
  EXPECT_EQ(NetworkWorkloads("/nowhere").error().code, ErrorCode::kUnreadable);
}

}  // namespace
}  // namespace qtx::bench

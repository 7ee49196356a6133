// The generated workloads: each row of the tables in each of the types, and its float twin.
#include <fmt/core.h>

#include <utility>

#include "builder.h"
#include "networks.h"
#include "qtx/bench/shapes.h"
#include "qtx/bench/workload.h"

namespace qtx::bench {
namespace {

using Maker = std::function<Task(const std::string& name, const Types& types)>;

// Float twins are made from the most common types.
constexpr std::string_view kTwinOf = "s8s8c";
constexpr std::string_view kTwinOfProducts = "s8s8";

Result<Task> MakeFloat(const Task& task) {
  Task twin;
  QTX_ASSIGN_OR_RETURN(twin.model, FloatTwin(task.model));
  Random random(task.model.graph.name);
  for (const format::Tensor& input : task.inputs) {
    QTX_ASSIGN_OR_RETURN(format::Tensor real,
                         format::MakeTensor(format::ElementType::kFloat, input.dims));
    for (float& value : real.As<float>()) value = static_cast<float>(2 * random.Unit() - 1);
    twin.inputs.push_back(std::move(real));
  }
  return twin;
}

// One work for each types; `per_channel`: those with a scale per channel too.
void AddWorks(const Workload& common, const Maker& make, bool per_channel,
              std::vector<Workload>& workloads) {
  for (const Types& types : QuantizedTypes()) {
    if (types.per_channel && !per_channel) continue;
    Workload work = common;
    work.types = types.name;
    work.make = [make, name = work.name, &types]() -> Result<Task> { return make(name, types); };
    workloads.push_back(work);
    if (types.name != (per_channel ? kTwinOf : kTwinOfProducts)) continue;
    work.types = kFloatTypes;
    work.make = [make, name = work.name, &types] { return MakeFloat(make(name, types)); };
    workloads.push_back(std::move(work));
  }
}

Task MakeProduct(const std::string& name, const Types& types, const ProductShape& shape) {
  Builder builder(name, types, Spreading::kEven);
  if (shape.computed) {
    const auto a = builder.Input({shape.batch, shape.rows, shape.inner}, types.activations);
    const auto b = builder.Input({shape.batch, shape.inner, shape.columns}, types.weights);
    return builder.Finish(builder.MatMul(a, b));
  }
  const auto x = builder.Input({shape.rows, shape.inner}, types.activations);
  return builder.Finish(builder.MatMul(x, shape.columns));
}

void AddProducts(std::vector<Workload>& workloads) {
  for (const ProductShape& shape : ProductShapes()) {
    Workload work;
    work.name = shape.name;
    const std::string batch = shape.batch > 1 ? fmt::format("{}x", shape.batch) : "";
    work.shape =
        fmt::format("{0}{1}x{2} * {0}{2}x{3}", batch, shape.rows, shape.inner, shape.columns);
    const auto make = [&shape](const std::string& name, const Types& types) {
      return MakeProduct(name, types, shape);
    };
    AddWorks(work, make, !shape.computed, workloads);
  }
}

// As in a network, a third of the results is below the range of a rectified type.
Task MakeConv(const std::string& name, const Types& types, const ConvShape& shape) {
  Builder builder(name, types, Spreading::kBell);
  const auto x = builder.Input({1, shape.channels, shape.size, shape.size}, types.activations);
  return builder.Finish(builder.Conv(x, shape, 2, {-0.9, 6}));
}

void AddConvs(std::vector<Workload>& workloads) {
  for (const ConvTable& table : ConvTables()) {
    for (const ConvShape& shape : table.shapes) {
      Workload work;
      work.name = fmt::format("conv/{}/{}{}x{}{}_{}_{}_{}", table.network,
                              shape.depthwise ? "dw" : "", shape.kernel, shape.kernel,
                              shape.stride > 1 ? fmt::format("s{}", shape.stride) : "",
                              shape.channels, shape.outputs, shape.size);
      work.shape = fmt::format("1x{0}x{1}x{1} * {2}x{3}x{4}x{4} s{5}", shape.channels, shape.size,
                               shape.outputs, shape.depthwise ? 1 : shape.channels, shape.kernel,
                               shape.stride);
      work.count = shape.count;
      const auto make = [&shape](const std::string& name, const Types& types) {
        return MakeConv(name, types, shape);
      };
      AddWorks(work, make, true, workloads);
    }
  }
}

}  // namespace

std::vector<Workload> GeneratedWorkloads() {
  std::vector<Workload> workloads;
  AddProducts(workloads);
  AddConvs(workloads);
  Workload network;
  network.shape = "1x3x224x224";
  network.name = "net/mobilenet_v1_1.0_224_generated";
  AddWorks(network, MakeMobileNetV1, true, workloads);
  network.name = "net/resnet50_generated";
  AddWorks(network, MakeResNet50, true, workloads);
  return workloads;
}

}  // namespace qtx::bench

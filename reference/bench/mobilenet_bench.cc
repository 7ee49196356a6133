// A whole network, MobileNet v2 at 224: the reference in `exact` against its layers as plain C
// loops. The results are compared layer by layer, each from the reference's own input: the peer's
// multipliers have 31 bits and its ties go up, so that a few values differ, by an LSB (`differing`
// out of `of` values; `lsb` is the largest difference).
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "qtx/format/attributes.h"
#include "qtx/format/limits.h"
#include "qtx/format/npy.h"
#include "qtx/format/window.h"
#include "race.h"

namespace qtx::reference::bench {
namespace {

using format::Model;
using format::Node;
using format::Quantization;
using format::Tensor;

constexpr std::int32_t kSigned = 128;  // uint8 less this is int8

// A value of the peer's run: one image, channels last, as int8.
struct Value {
  PlainImage image;
  double scale;
  std::int32_t offset;
  std::vector<std::int8_t> stored;
};

class PlainNetwork {
 public:
  /// Only what MobileNet has: uint8, per tensor, square strides, a pool of the whole image.
  explicit PlainNetwork(const Model& model);
  void Run(const Tensor& input);
  /// Computes the value of that name, adds its differences from `tensor`, the reference's, and goes
  /// on from the latter.
  void Compare(const std::string& name, const Tensor& tensor, Difference* difference);

 private:
  Value MakeValue(const std::string& name) const;
  void AddConv(const Node& node, const Value& x, Value& y);
  void AddAdd(const Value& a, const Value& b, Value& y);
  void AddPool(const Value& x, Value& y);
  void AddSoftmax(const Value& x, Value& y);

  const Model& model_;
  std::map<std::string, std::unique_ptr<Value>> values_;
  std::vector<std::unique_ptr<std::vector<std::int8_t>>> filters_;
  std::vector<std::unique_ptr<std::vector<std::int32_t>>> biases_;
  std::vector<std::function<void()>> steps_;  // one for each node
  Value* input_ = nullptr;
};

Value PlainNetwork::MakeValue(const std::string& name) const {
  const format::TensorType& type = *model_.graph.FindValue(name)->type;
  const format::Dims dims = *format::FixedDims(*type.shape);
  const bool image = dims.size() == 4;
  const auto size = [&](std::size_t i) { return image ? dims[i] : 1; };
  const Quantization& q = *type.quantization;
  Value value{{size(2), size(3), dims[1]},
              static_cast<double>(q.scale[0]),
              format::OffsetAt(q, 0) - kSigned,
              {}};
  value.stored.resize(static_cast<std::size_t>(value.image.height * value.image.width) *
                      static_cast<std::size_t>(value.image.channels));
  return value;
}

PlainNetwork::PlainNetwork(const Model& model) : model_(model) {
  for (const Node& node : model.graph.nodes) {
    Value& y = *(values_[node.outputs[0]] = std::make_unique<Value>(MakeValue(node.outputs[0])));
    if (node.op_type == "Transpose") {  // the peer's layout is that of the input
      input_ = &y;
      steps_.emplace_back([] {});
      continue;
    }
    Value& x = *values_.at(node.inputs[0]);
    if (node.op_type == "Conv") AddConv(node, x, y);
    if (node.op_type == "Add") AddAdd(x, *values_.at(node.inputs[1]), y);
    if (node.op_type == "AveragePool") AddPool(x, y);
    if (node.op_type == "Softmax") AddSoftmax(x, y);
    if (node.op_type == "Reshape") steps_.emplace_back([&x, &y] { y.stored = x.stored; });
  }
}

void PlainNetwork::AddConv(const Node& node, const Value& x, Value& y) {
  const Tensor w = *format::LoadInitializer(model_, node.inputs[1]);
  const Tensor b = *format::LoadInitializer(model_, node.inputs[2]);
  const bool depthwise = format::Attributes(node).Int("group") > 1;
  const auto kernel = static_cast<std::size_t>(w.dims[2] * w.dims[3]);
  const auto depth = static_cast<std::size_t>(depthwise ? w.dims[0] : w.dims[1]);
  auto filter = std::make_unique<std::vector<std::int8_t>>(w.bytes.size());
  for (std::size_t i = 0; i < filter->size(); ++i) {  // OIHW to OHWI; depthwise to HWC
    const std::size_t at =
        (i / (depth * kernel) * kernel + i % kernel) * depth + i / kernel % depth;
    (*filter)[at] = static_cast<std::int8_t>(Data<std::uint8_t>(w)[i] - kSigned);
  }
  const auto bias = b.As<std::int32_t>();
  biases_.push_back(std::make_unique<std::vector<std::int32_t>>(bias.begin(), bias.end()));
  const std::vector<std::int64_t> size = {x.image.height, x.image.width};
  const auto axes = *format::WindowAxes(node, size, std::span(w.dims).subspan(2));
  const double product = x.scale * static_cast<double>(w.quantization->scale[0]);
  const PlainLayer layer{
      .input = x.image,
      .output = y.image,
      .window = {w.dims[2], w.dims[3], axes[0].stride, axes[0].pad_begin, axes[1].pad_begin},
      .input_offset = x.offset,
      .filter_offset = format::OffsetAt(*w.quantization, 0) - kSigned,
      .filter = filter->data(),
      .bias = biases_.back()->data(),
      .scale = ScaleOf(product / y.scale, y.offset)};
  filters_.push_back(std::move(filter));
  const auto run = depthwise ? PlainDepthwise : PlainConv;
  steps_.emplace_back([layer, run, &x, &y] { run(layer, x.stored.data(), y.stored.data()); });
}

void PlainNetwork::AddAdd(const Value& a, const Value& b, Value& y) {
  constexpr int kShift = 24;
  const auto factor = [&y](const Value& value) {
    return static_cast<std::int32_t>(std::lround(value.scale / y.scale * (1 << kShift)));
  };
  const PlainScale scale{0, kShift, y.offset, -128, 127};
  steps_.emplace_back([=, fa = factor(a), fb = factor(b), &a, &b, &y] {
    PlainAdd(static_cast<std::int64_t>(y.stored.size()), {a.stored.data(), a.offset, fa},
             {b.stored.data(), b.offset, fb}, scale, y.stored.data());
  });
}

void PlainNetwork::AddPool(const Value& x, Value& y) {
  const PlainScale scale =
      ScaleOf(x.scale / static_cast<double>(x.image.height * x.image.width) / y.scale, y.offset);
  steps_.emplace_back([scale, &x, &y] {
    PlainGlobalAverage(x.image, x.offset, scale, x.stored.data(), y.stored.data());
  });
}

void PlainNetwork::AddSoftmax(const Value& x, Value& y) {
  steps_.emplace_back([&x, &y] {
    PlainSoftmax(1, x.image.channels, static_cast<float>(x.scale), x.stored.data(),
                 y.stored.data());
  });
}

void PlainNetwork::Run(const Tensor& input) {
  for (std::size_t i = 0; i < input_->stored.size(); ++i) {
    input_->stored[i] = static_cast<std::int8_t>(Data<std::uint8_t>(input)[i] - kSigned);
  }
  for (const auto& step : steps_) step();
}

void PlainNetwork::Compare(const std::string& name, const Tensor& tensor, Difference* difference) {
  const auto& nodes = model_.graph.nodes;
  const auto node = std::ranges::find(nodes, name, [](const Node& n) { return n.outputs[0]; });
  Value& value = *values_.at(name);
  steps_[static_cast<std::size_t>(node - nodes.begin())]();
  const auto channels = static_cast<std::size_t>(value.image.channels);
  const std::size_t pixels = value.stored.size() / channels;
  for (std::size_t i = 0; i < value.stored.size(); ++i) {
    std::int8_t& peer = value.stored[i % pixels * channels + i / pixels];
    const std::int32_t reference = Data<std::uint8_t>(tensor)[i] - kSigned;
    difference->Add(reference, peer);
    peer = static_cast<std::int8_t>(reference);
  }
}

void RaceMobileNet(benchmark::State& state) {
  const std::string folder =
      std::string(QTX_SOURCE_DIR) + "/conformance/cases/models/mobilenet_v2_1.0_224/";
  const auto model = Model::Load(folder + "model.onnx");
  if (!model.has_value()) return state.SkipWithError(model.error().message.c_str());
  auto interpreter = Interpreter::Prepare(*model, "exact");
  if (!interpreter.has_value()) return state.SkipWithError(interpreter.error().message.c_str());
  const auto file = format::ReadFile(folder + "bird/input_0.npy", format::kMaxTensorBytes);
  if (!file.has_value()) return state.SkipWithError(file.error().message.c_str());
  const auto input = format::ParseNpy(*file);
  if (!input.has_value()) return state.SkipWithError(input.error().message.c_str());

  PlainNetwork peer(*model);
  peer.Run(*input);
  Difference difference;
  interpreter->set_observer([&](const std::string& name, const Tensor& tensor) {
    peer.Compare(name, tensor, &difference);
  });
  const auto outputs = interpreter->Run({&*input, 1});
  if (!outputs.has_value()) return state.SkipWithError(outputs.error().message.c_str());
  interpreter->set_observer(nullptr);
  Race(
      state,
      [&] {
        benchmark::DoNotOptimize(interpreter->Run({&*input, 1}));
      },
      [&] { peer.Run(*input); });
  Report(state, difference);
  const Counters counters = interpreter->counters();
  state.counters["fallbacks_per_million"] =
      1e6 * static_cast<double>(counters.exact_fallbacks) / static_cast<double>(counters.rounded);
}
BENCHMARK(RaceMobileNet)->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(5);

}  // namespace
}  // namespace qtx::reference::bench

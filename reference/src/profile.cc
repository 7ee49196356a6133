#include "qtx/reference/profile.h"

#include <algorithm>
#include <array>
#include <string>

#include "arithmetic/kernel_types.h"
#include "plan.h"
#include "qtx/format/attributes.h"

namespace qtx::reference {
namespace {

using When = ProfileRule::When;

constexpr std::string_view kBytes = "INT8Q UINT8Q";

constexpr std::string_view kProducts =
    "CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED TRANSPOSE_CONV BATCH_MATMUL";

constexpr std::string_view kHybrids = "CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED";

constexpr std::array kReferenceKernels = {
    ProfileRule{"SUM", "INT8Q UINT8Q INT16Q", When::kAlways, ""},
    ProfileRule{"QUANTIZE", "FLOAT", When::kAlways, "tflite-float64"},
    ProfileRule{kHybrids, "FLOAT", When::kHybrid, "tflite-float64"},
    ProfileRule{kProducts, "FLOAT", When::kQuantizedWeights, ""},
    ProfileRule{"RESIZE_BILINEAR", "FLOAT", When::kAlways, ""},
    ProfileRule{"*", "FLOAT", When::kAlways, "float32"},
    ProfileRule{"*", "*", When::kAlways, "tflite-float64"},
};
constexpr std::array kBuiltinKernels = {
    ProfileRule{"MEAN", kBytes, When::kDropsAxes, "tflite-float64"},
    ProfileRule{"QUANTIZE", "FLOAT", When::kAlways, "tflite-half-up"},
    ProfileRule{kHybrids, "FLOAT", When::kHybrid, "tflite-half-up"},
    ProfileRule{kProducts, "FLOAT", When::kQuantizedWeights, ""},
    ProfileRule{"RESIZE_BILINEAR", "FLOAT", When::kAlways, ""},
    ProfileRule{"*", "FLOAT", When::kAlways, "float32"},
    ProfileRule{"*", "*", When::kAlways, "tflite-half-up"},
};

// What the delegate takes is as measured, kernel by kernel: profiles.md.
constexpr std::array kXnnpack = {
    ProfileRule{"MUL CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED TRANSPOSE_CONV LOGISTIC TANH",
                kBytes, When::kAlways, "xnnpack"},
    ProfileRule{"ADD SUB", kBytes, When::kSums, "xnnpack"},
    ProfileRule{"BATCH_MATMUL", "INT8Q", When::kNoOffset, "xnnpack"},
    ProfileRule{"LEAKY_RELU QUANTIZE", kBytes, When::kEighths, "xnnpack"},
    ProfileRule{"LEAKY_RELU MEAN SUM RESIZE_BILINEAR", kBytes, When::kNoOrigin, ""},
    ProfileRule{"MEAN SUM RESIZE_BILINEAR", kBytes, When::kAlways, "xnnpack"},
    ProfileRule{"CONV_2D FULLY_CONNECTED", "FLOAT", When::kDynamic, "xnnpack"},
    ProfileRule{"DEPTHWISE_CONV_2D", "FLOAT", When::kHybrid, "tflite-half-up"},
    ProfileRule{kProducts, "FLOAT", When::kQuantizedWeights, ""},
    ProfileRule{"QUANTIZE", "FLOAT", When::kToByte, "xnnpack"},
    ProfileRule{"QUANTIZE", "FLOAT", When::kAlways, "tflite-half-up"},
    ProfileRule{"RESIZE_BILINEAR", "FLOAT", When::kAlways, ""},
    ProfileRule{"*", "FLOAT", When::kAlways, "xnnpack"},
    ProfileRule{"*", "*", When::kAlways, "tflite-half-up"},
};

constexpr std::array kOnnxRuntime = {ProfileRule{"*", "*", When::kAlways, "onnxruntime"}};
constexpr std::array kOnnxRuntimeUnoptimized = {
    ProfileRule{"QLinearConv QLinearMatMul QLinearAdd QLinearMul QLinearSigmoid QLinearLeakyRelu "
                "QLinearAveragePool QLinearGlobalAveragePool QLinearConcat QLinearSoftmax "
                "QLinearReduceMean QLinearWhere QGemm ConvInteger MatMulInteger",
                "*", When::kAlways, "onnxruntime"},
    ProfileRule{"*", "*", When::kAlways, "float32"},
};

constexpr std::array kProfiles = {
    Profile{"litert-reference", "LiteRT 2.3, x86-64, BUILTIN_REF", true, kReferenceKernels},
    Profile{"litert-x86", "LiteRT 2.3, x86-64, BUILTIN_WITHOUT_DEFAULT_DELEGATES", true,
            kBuiltinKernels},
    Profile{"litert-xnnpack", "LiteRT 2.3, x86-64, its XNNPACK delegate", true, kXnnpack},
    Profile{"onnxruntime", "ONNX Runtime 1.32, x86-64", false, kOnnxRuntime},
    Profile{"onnxruntime-unoptimized", "ONNX Runtime 1.32, x86-64, graph optimizations disabled",
            false, kOnnxRuntimeUnoptimized},
};

// TFLite's kernels of ONNX's operators, where rules name them.
struct Namesake {
  std::string_view op_type, kernel;
};
constexpr std::array kNamesakes = {
    Namesake{"Add", "ADD"},
    Namesake{"Cast", "QUANTIZE"},
    Namesake{"Conv", "CONV_2D"},
    Namesake{"ConvTranspose", "TRANSPOSE_CONV"},
    Namesake{"Gemm", "FULLY_CONNECTED"},
    Namesake{"GlobalAveragePool", "MEAN"},
    Namesake{"LeakyRelu", "LEAKY_RELU"},
    Namesake{"Mul", "MUL"},
    Namesake{"ReduceMean", "MEAN"},
    Namesake{"ReduceSum", "SUM"},
    Namesake{"Resize", "RESIZE_BILINEAR"},
    Namesake{"Sigmoid", "LOGISTIC"},
    Namesake{"Sub", "SUB"},
    Namesake{"Tanh", "TANH"},
};

// `names` has `name` between blanks.
bool Lists(std::string_view names, std::string_view name) {
  if (names == "*") return true;
  while (!names.empty()) {
    const std::size_t blank = std::min(names.find(' '), names.size());
    if (names.substr(0, blank) == name) return true;
    names.remove_prefix(std::min(blank + 1, names.size()));
  }
  return false;
}

const format::TensorType* TypeOf(const format::Model& model, std::string_view name) {
  for (const auto* values : {&model.graph.inputs, &model.graph.values, &model.graph.outputs}) {
    const auto found = std::ranges::find(*values, name, &format::ValueInfo::name);
    if (found != values->end() && found->type) return &*found->type;
  }
  return nullptr;
}

// nullptr where the value is no initializer.
const format::TensorData* InitializerOf(const format::Model& model, const format::Node& node,
                                        std::size_t input) {
  if (node.inputs.size() <= input) return nullptr;
  const auto found =
      std::ranges::find(model.graph.initializers, node.inputs[input], &format::TensorData::name);
  return found == model.graph.initializers.end() ? nullptr : &*found;
}

// A value without a declaration counts as FLOAT.
format::ElementType ElementOf(const format::Model& model, std::string_view name) {
  const format::TensorType* type = TypeOf(model, name);
  return type == nullptr ? format::ElementType::kFloat : type->elem_type;
}

bool IsReal(format::ElementType type) {
  return type == format::ElementType::kFloat || format::IsQuantized(type);
}

// The first real input, else the output.
format::ElementType RealOf(const format::Model& model, const format::Node& node) {
  for (const std::string& name : node.inputs) {
    if (!name.empty() && IsReal(ElementOf(model, name))) return ElementOf(model, name);
  }
  return node.outputs.empty() ? format::ElementType::kFloat : ElementOf(model, node.outputs[0]);
}

// TFLite's operator is the origin's, else what the form of the node is: tflite.md.
std::string_view KernelOf(const Profile& profile, const format::Model& model,
                          const format::Node& node) {
  if (!profile.tflite) return node.op_type;
  if (node.origin && node.origin->framework == "tflite") return node.origin->op_type;
  const format::TensorData* w = InitializerOf(model, node, 1);
  if (node.op_type == "MatMul") {
    return w != nullptr && w->dims.size() == 2 ? "FULLY_CONNECTED" : "BATCH_MATMUL";
  }
  const bool one_channel = w != nullptr && w->dims.size() > 1 && w->dims[1] == 1;
  if (node.op_type == "Conv" && one_channel && format::Attributes(node).Int("group") > 1) {
    return "DEPTHWISE_CONV_2D";
  }
  const auto* named = std::ranges::find(kNamesakes, node.op_type, &Namesake::op_type);
  return named == kNamesakes.end() ? std::string_view(node.op_type) : named->kernel;
}

// The one scale of a value; 0 where it has none, or many.
float ScaleOf(const format::Model& model, const std::vector<std::string>& names, std::size_t i) {
  const format::TensorType* type = i < names.size() ? TypeOf(model, names[i]) : nullptr;
  if (type == nullptr || !type->quantization || type->quantization->scale.size() != 1) return 0;
  return type->quantization->scale[0];
}

float FactorOf(const format::Model& model, const format::Node& node, std::size_t input) {
  const float y = ScaleOf(model, node.outputs, 0);
  return y == 0 ? 0 : ScaleOf(model, node.inputs, input) / y;
}

// The factors of xnnpack.S8.
bool HasEighths(const format::Model& model, const format::Node& node) {
  const bool one_type = !node.inputs.empty() && !node.outputs.empty() &&
                        ElementOf(model, node.inputs[0]) == ElementOf(model, node.outputs[0]);
  const float factor = FactorOf(model, node, 0);
  const float alpha = node.op_type == "LeakyRelu" ? format::Attributes(node).Float("alpha") : 1.0F;
  return one_type && HasXnnpackFactor(factor) && HasXnnpackFactor(factor * alpha);
}

// The weights of xnnpack.S9.
bool HasDynamicWeights(const format::Model& model, const format::Node& node) {
  const format::TensorType* w = node.inputs.size() > 1 ? TypeOf(model, node.inputs[1]) : nullptr;
  if (!node.origin || w == nullptr || !w->quantization ||
      InitializerOf(model, node, 1) == nullptr || !w->quantization->block_shape.empty()) {
    return false;
  }
  const bool conv = node.op_type == "Conv";
  const bool many = w->quantization->scale.size() > 1 || !w->quantization->scale_tensor.empty();
  if (conv && (!many || format::Attributes(node).Int("group") != 1)) return false;
  return w->elem_type == format::ElementType::kInt8Q ||
         (!conv && w->elem_type == format::ElementType::kInt4Q);
}

// The nodes of tflite_float64.S7: a FULLY_CONNECTED says that it quantizes asymmetrically.
bool IsHybrid(const format::Model& model, const format::Node& node) {
  const format::TensorType* w = node.inputs.size() > 1 ? TypeOf(model, node.inputs[1]) : nullptr;
  if (!node.origin || w == nullptr || !w->quantization ||
      InitializerOf(model, node, 1) == nullptr || w->elem_type != format::ElementType::kInt8Q ||
      !w->quantization->block_shape.empty()) {
    return false;
  }
  if (node.origin->op_type == "CONV_2D") return format::Attributes(node).Int("group") == 1;
  if (node.origin->op_type == "DEPTHWISE_CONV_2D") return true;
  const bool many = w->quantization->scale.size() > 1 || !w->quantization->scale_tensor.empty();
  const auto& attributes = node.origin->attributes;
  return many && std::ranges::find(attributes, "asymmetric_quantize_inputs",
                                   &format::Attribute::name) != attributes.end();
}

// The delegate takes no w with an offset.
bool HasNoOffset(const format::Model& model, const format::Node& node) {
  const format::TensorType* w = node.inputs.size() > 1 ? TypeOf(model, node.inputs[1]) : nullptr;
  if (w == nullptr || !w->quantization) return true;
  return w->quantization->offset_tensor.empty() &&
         std::ranges::all_of(w->quantization->offset, [](std::int32_t o) { return o == 0; });
}

// The ratios of xnnpack.S4.
bool HasSums(const format::Model& model, const format::Node& node) {
  return HasXnnpackRatio(FactorOf(model, node, 0)) && HasXnnpackRatio(FactorOf(model, node, 1));
}

bool ToByte(const format::Model& model, const format::Node& node) {
  return !node.outputs.empty() && Lists(kBytes, format::Name(ElementOf(model, node.outputs[0])));
}

bool DropsAxes(const format::Model& model, const format::Node& node) {
  return std::ranges::any_of(model.graph.nodes, [&node](const format::Node& other) {
    return other.op_type == "Reshape" && other.origin == node.origin && !node.outputs.empty() &&
           other.inputs[0] == node.outputs[0];
  });
}

bool Holds(const ProfileRule& rule, std::string_view kernel, const format::Model& model,
           const format::Node& node) {
  const format::ElementType x = RealOf(model, node);
  if (!Lists(rule.kernels, kernel) || !Lists(rule.types, format::Name(x))) return false;
  switch (rule.when) {
    case When::kNoOffset:
      return HasNoOffset(model, node);
    case When::kToByte:
      return ToByte(model, node);
    case When::kQuantizedWeights:
      return node.inputs.size() > 1 && format::IsQuantized(ElementOf(model, node.inputs[1]));
    case When::kNoOrigin:
      return !node.origin || node.origin->framework != "tflite";
    case When::kEighths:
      return node.origin && node.origin->framework == "tflite" && HasEighths(model, node);
    case When::kDynamic:
      return HasDynamicWeights(model, node);
    case When::kHybrid:
      return IsHybrid(model, node);
    case When::kSums:
      return HasSums(model, node);
    case When::kDropsAxes:
      return node.origin && DropsAxes(model, node);
    case When::kAlways:
      break;
  }
  return true;
}

}  // namespace

std::span<const Profile> Profiles() { return kProfiles; }

Result<const Profile*> FindProfile(std::string_view name) {
  const auto found = std::ranges::find(kProfiles, name, &Profile::name);
  if (found != kProfiles.end()) return &*found;
  std::string names;
  for (const Profile& profile : kProfiles) {
    names += (names.empty() ? "" : ", ") + std::string(profile.name);
  }
  return Error{ErrorCode::kInvalid, "profile",
               "found '" + std::string(name) + "', expected one of " + names};
}

std::string_view ArithmeticOf(const Profile& profile, const format::Model& model,
                              const format::Node& node) {
  const std::string_view kernel = KernelOf(profile, model, node);
  const auto rule = std::ranges::find_if(
      profile.rules, [&](const ProfileRule& one) { return Holds(one, kernel, model, node); });
  return rule == profile.rules.end() ? "" : rule->arithmetic;
}

Assignment Assign(const Profile& profile, const format::Model& model) {
  Assignment assignment;
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
    const format::Node& node = model.graph.nodes[i];
    const std::string_view arithmetic = ArithmeticOf(profile, model, node);
    assignment.by_node[NameToUsers(node)] = arithmetic.empty() ? "exact" : arithmetic;
    if (!arithmetic.empty()) continue;
    assignment.unknown.push_back(
        {NodeName(model, i), "'" + std::string(profile.name) + "' knows no kernel " +
                                 std::string(KernelOf(profile, model, node)) + " of " +
                                 std::string(format::Name(RealOf(model, node))) +
                                 ": computed as in exact"});
  }
  return assignment;
}

}  // namespace qtx::reference

#include "qoperator/form_writer.h"

#include <algorithm>
#include <array>

#include "qdq/parameters.h"
#include "qoperator/bnb4.h"
#include "qoperator/gather_blocks.h"
#include "qoperator/n_bits_write.h"
#include "qoperator/type_inference.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Node;

// Attributes of an origin that the plain operator lacks.
constexpr std::array<std::string_view, 14> kOwnAttributes = {"K",
                                                             "N",
                                                             "accuracy_level",
                                                             "alpha",
                                                             "bits",
                                                             "block_size",
                                                             "channels_last",
                                                             "gather_axis",
                                                             "opset",
                                                             "quantize_axis",
                                                             "quant_type",
                                                             "training_mode",
                                                             "transB",
                                                             "weight_prepacked"};

// The original attributes with their current values, then new ones.
std::vector<Attribute> AttributesOf(const Node& node) {
  std::vector<Attribute> attributes;
  for (const Attribute& old : node.origin->attributes) {
    if (const Attribute* now = node.Find(old.name)) {
      attributes.push_back(*now);
    } else if (std::ranges::find(kOwnAttributes, std::string_view(old.name)) !=
               kOwnAttributes.end()) {
      attributes.push_back(old);
    }
  }
  for (const Attribute& now : node.attributes) {
    if (std::ranges::find(node.origin->attributes, now.name, &Attribute::name) ==
        node.origin->attributes.end())
      attributes.push_back(now);
  }
  return attributes;
}

// QGemm has no beta: its bias is in units of the accumulator, so FormOf takes no other than 1.
void DropBeta(Node& written, Ledger& ledger) {
  const Attribute* beta = written.Find("beta");
  if (beta == nullptr) return;
  if (written.origin && written.origin->framework == kOwnFramework)
    written.origin->attributes = written.attributes;
  std::erase_if(written.attributes, [](const Attribute& a) { return a.name == "beta"; });
  ledger.Changed(written.outputs[0], "beta", "QGemm has none; its bias counts once");
}

void SetInt(Node& node, const char* name, std::int64_t value) {
  if (node.Find(name) == nullptr) node.attributes.push_back(Attribute::Int(name, value));
}

// The same, in the place of another value.
void PutInt(Node& node, const char* name, std::int64_t value) {
  const auto found = std::ranges::find(node.attributes, name, &Attribute::name);
  if (found == node.attributes.end()) return SetInt(node, name, value);
  if (found->i != value) *found = Attribute::Int(name, value);
}

}  // namespace

// Sets name, metadata and, if reading could not restore it, the origin of `node`.
Node FormWriter::Started(const Node& node, const Form& form) const {
  Node written = node;
  written.op_type = form.op_type;
  written.domain = form.domain;
  written.inputs.clear();
  if (CameAs(node, form.op_type)) {
    written.attributes = AttributesOf(node);
    written.origin.reset();
  } else if (!node.origin) {
    written.origin =
        format::Origin{"", kOwnFramework, node.domain, node.op_type, node.name, {}, ""};
  }
  return written;
}

void FormWriter::Finished(Node written) {
  while (!written.inputs.empty() && written.inputs.back().empty()) written.inputs.pop_back();
  context_.model.graph.nodes.push_back(std::move(written));
}

std::string FormWriter::AddInitializer(const std::string& name, const format::Tensor& tensor) {
  std::string unique = context_.names.Unique(name);
  added_.push_back(format::ToTensorData(unique, tensor));
  return unique;
}

const std::vector<std::string>& FormWriter::ParametersOf(const std::string& value) {
  std::vector<std::string>& names = parameters_[value];
  if (!names.empty()) return names;
  const auto stock = ToStock(context_.types.at(value));
  if (!stock.has_value()) return names;  // not so: every type was vetted by ToStock
  names.push_back(AddInitializer(value + "/scale", stock->scale));
  if (stock->zero_point) names.push_back(AddInitializer(value + "/zero_point", *stock->zero_point));
  return names;
}

void FormWriter::AddInitializers() {
  for (const Node& node : context_.model.graph.nodes) {
    for (const std::string& input : node.inputs) unread_.erase(input);
  }
  std::erase_if(context_.model.graph.initializers,
                [this](const auto& data) { return unread_.contains(data.name); });
  std::ranges::move(added_, std::back_inserter(context_.model.graph.initializers));
}

// The Add of a product's bias.
const Node* FormWriter::BiasOf(const Node& product) const {
  if (!product.origin || product.origin->group.empty()) return nullptr;
  const auto use = context_.index.OnlyUse(product.outputs[0]);
  if (!use) return nullptr;
  const Node& add = context_.index.node(use->node);
  const bool same = IsStock(add, "Add") && add.origin && *add.origin == *product.origin;
  const bool last = add.inputs.size() == 2 && add.inputs[0] == product.outputs[0];
  const bool real =
      last && !context_.types.contains(add.inputs[1]) && !context_.types.contains(add.outputs[0]);
  return same && real ? &add : nullptr;
}

// The Gather that orders the columns of A by the g_idx of a former MatMulNBits; nullptr for none.
Result<const Node*> FormWriter::OrderOf(const Node& product) const {
  const GraphIndex& index = context_.index;
  const auto producer = index.Producer(product.inputs[0]);
  if (!producer || !index.OnlyUse(product.inputs[0])) return nullptr;
  const Node& gather = index.node(*producer);
  if (!IsStock(gather, "Gather") || !gather.origin || *gather.origin != *product.origin ||
      gather.inputs.size() != 2 || gather.IntOr("axis", 0) != -1 ||
      context_.types.contains(gather.inputs[0]) || context_.types.contains(gather.outputs[0]))
    return nullptr;
  QTX_ASSIGN_OR_RETURN(const auto order, index.Constant(gather.inputs[1]));
  if (!order || order->elem_type != format::ElementType::kInt64) return nullptr;
  const auto rows = FormerRowOrder(*product.origin, format::ElementCount(*order));
  return rows && std::ranges::equal(*rows, order->As<std::int64_t>()) ? &gather : nullptr;
}

// Finds the nodes around a product that the operator takes along.
Result<void> FormWriter::ChooseAround(const Node& node, const Form& form) {
  const bool packed = form.op_type == "MatMulNBits";
  if ((!packed && form.op_type != "MatMulIntegerToFloat") || !CameAs(node, form.op_type)) return {};
  const Node* gather = nullptr;
  if (packed) {
    QTX_ASSIGN_OR_RETURN(gather, OrderOf(node));
  }
  const Node* add = BiasOf(node);
  if (packed) {
    if (auto found = FindFloatProduct(context_.index, node, gather, add)) {
      absorbed_.insert(found->casts.begin(), found->casts.end());
      floats_.emplace(&node, *std::move(found));
    }
  }
  if (gather != nullptr) {
    orders_.emplace(&node, gather);
    absorbed_.insert(gather);
    if (!context_.index.IsOutput(gather->inputs[1])) unread_.insert(gather->inputs[1]);
  }
  if (add == nullptr) return {};
  biases_.emplace(&node, add);
  absorbed_.insert(add);
  return {};
}

Result<void> FormWriter::Choose() {
  for (const Node& node : context_.index.model().graph.nodes) {
    if (node.outputs.empty()) continue;
    auto form = FormOf(node, context_.index, context_.types);
    if (!form.has_value()) return At(PlaceOf(node), form.error());
    if (!*form) continue;
    forms_.emplace(&node, **form);
    QTX_RETURN_IF_ERROR(ChooseAround(node, **form));
  }
  return {};
}

bool FormWriter::ReadsIntegers(const std::string& value) const {
  return std::ranges::any_of(context_.index.Uses(value), [&](const Use& use) {
    const Node& node = context_.index.node(use.node);
    return forms_.contains(&node) || MovesElements(node);
  });
}

// Arranges the inputs and their parameters by the layout of the form.
Result<void> FormWriter::WriteLayout(const Node& node, const Form& form) {
  Node written = Started(node, form);
  const bool concat = form.op_type == "QLinearConcat";
  written.inputs.resize(concat ? 2 + 3 * node.inputs.size() : 10);
  const auto layout = LayoutOf(written);
  if (!layout) return Error{ErrorCode::kUnsupported, form.op_type, "no layout"};
  const auto put = [&](const OperandSlots& slots, const std::string& value) {
    const auto& names = ParametersOf(value);
    written.inputs[slots.scale] = names[0];
    if (names.size() > 1) written.inputs[slots.zero_point] = names[1];
  };
  std::size_t at = 0;
  for (const std::size_t slot : layout->untouched) written.inputs[slot] = node.inputs[at++];
  for (const OperandSlots& slots : layout->operands) {
    put(slots, node.inputs[at]);
    written.inputs[slots.value] = node.inputs[at++];
  }
  if (layout->bias) written.inputs[*layout->bias] = InputOf(node, at);
  if (layout->result && context_.types.contains(node.outputs[0]))
    put(*layout->result, node.outputs[0]);
  if (const auto add = biases_.find(&node); add != biases_.end()) {
    written.inputs[6] = add->second->inputs[1];
    written.outputs = add->second->outputs;
  }
  if (form.op_type == "QGemm") DropBeta(written, context_.ledger);
  if (form.op_type == "QLinearSoftmax")
    SetInt(written, "opset", context_.index.model().OpsetVersion(""));
  Finished(std::move(written));
  return {};
}

// MatMulInteger or ConvInteger, Cast, and Mul by the product of the scales.
Result<void> FormWriter::WriteIntegerProduct(const Node& node, const Form& form) {
  const std::string &x = node.inputs[0], &w = node.inputs[1], &y = node.outputs[0];
  const std::string x_scale = ParametersOf(x)[0];
  std::string w_scale, w_zero_point;
  if (form.op_type == "MatMulInteger") {
    w_scale = ParametersOf(w)[0];
    w_zero_point = ParametersOf(w)[1];
  } else {
    QTX_ASSIGN_OR_RETURN(StockParameters stock, ToStock(context_.types.at(w)));
    // Scales of filters lie along axis 1 of the result.
    const auto rank = context_.index.RankOf(w).value_or(2);
    if (!stock.scale.dims.empty())
      stock.scale.dims.resize(static_cast<std::size_t>(std::max<std::int64_t>(rank - 1, 1)), 1);
    w_scale = AddInitializer(y + "/w_scale", stock.scale);
    w_zero_point = AddInitializer(y + "/w_zero_point", *stock.zero_point);
  }
  const auto plain = [&](const char* op_type, std::vector<std::string> inputs,
                         const std::string& output) {
    Node added;
    added.name = y + "/" + op_type + "_" + output.substr(output.rfind('/') + 1);
    added.op_type = op_type;
    added.inputs = std::move(inputs);
    added.outputs = {output};
    return added;
  };
  const std::string factor = context_.names.Unique(y + "/factor");
  const std::string sum = context_.names.Unique(y + "/accumulator");
  const std::string real = context_.names.Unique(y + "/real");
  Finished(plain("Mul", {x_scale, w_scale}, factor));
  Node written = Started(node, form);
  written.inputs = {x, w, ParametersOf(x)[1], w_zero_point};
  written.outputs = {sum};
  Finished(std::move(written));
  Node cast = plain("Cast", {sum}, real);
  cast.attributes = {Attribute::Int("to", static_cast<std::int64_t>(format::ElementType::kFloat))};
  Finished(std::move(cast));
  Finished(plain("Mul", {real, factor}, y));
  return {};
}

Result<void> FormWriter::WriteNBits(const Node& node, const Form& form) {
  const std::string& name = node.inputs[1];
  QTX_ASSIGN_OR_RETURN(const format::Tensor w,
                       format::LoadInitializer(context_.index.view(), name));
  const format::Origin* origin = CameAs(node, form.op_type) ? &*node.origin : nullptr;
  const bool is_signed = format::StorageRange(w.elem_type).min < 0;
  const auto gather = orders_.find(&node);
  const auto around = floats_.find(&node);
  const auto real = around == floats_.end() ? w.quantization->real_type : KeptScalesType(*origin);
  auto packed = PackNBits(w, real, origin, gather != orders_.end());
  if (!packed.has_value()) return At("value '" + name + "'", packed.error());
  context_.model.graph.initializers[context_.index.InitializerPlace(name)] =
      format::ToTensorData(name, packed->b);
  packed_.emplace(name, std::pair(format::ElementType::kUint8, packed->b.dims));
  Node written = Started(node, form);
  if (is_signed) {
    const std::int64_t half = packed->shape.default_offset();
    context_.ledger.Changed(
        name, "elem_type",
        "unsigned, code and offset " + std::to_string(half) + " above: MatMulNBits");
    if (written.origin && written.origin->framework == kOwnFramework)
      written.origin->attributes = {Attribute::Int(kSigned, 1)};
  }
  PutInt(written, "K", packed->shape.k);
  PutInt(written, "N", packed->shape.n);
  PutInt(written, "bits", packed->shape.bits);
  PutInt(written, "block_size", packed->shape.block);
  written.inputs = {
      node.inputs[0], name, AddInitializer(name + "/scale", packed->scales), "", "", ""};
  if (gather != orders_.end()) written.inputs[0] = gather->second->inputs[0];
  if (packed->g_idx) written.inputs[4] = AddInitializer(name + "/g_idx", *packed->g_idx);
  if (packed->zero_points)
    written.inputs[3] = AddInitializer(name + "/zero_point", *packed->zero_points);
  if (const auto add = biases_.find(&node); add != biases_.end()) {
    written.inputs[5] = add->second->inputs[1];
    written.outputs = add->second->outputs;
  }
  if (around != floats_.end()) {
    written.inputs[0] = around->second.a;
    written.inputs[5] = around->second.bias;
    written.outputs = {around->second.y};
  }
  Finished(std::move(written));
  return {};
}

// False where the weights are no longer of the former node's form.
Result<bool> FormWriter::WriteBnb4(const Node& node, const Form& form) {
  const std::string& name = node.inputs[1];
  QTX_ASSIGN_OR_RETURN(const format::Tensor w,
                       format::LoadInitializer(context_.index.view(), name));
  auto packed = PackBnb4(w, *node.origin);
  if (!packed.has_value()) return At("value '" + name + "'", packed.error());
  if (!*packed) return false;
  context_.model.graph.initializers[context_.index.InitializerPlace(name)] =
      format::ToTensorData(name, (*packed)->b);
  packed_.emplace(name, std::pair(format::ElementType::kUint8, (*packed)->b.dims));
  Node written = Started(node, form);
  written.inputs = {node.inputs[0], name, AddInitializer(name + "/absmax", (*packed)->absmax)};
  Finished(std::move(written));
  return true;
}

// False where the table is no longer of the former node's form.
Result<bool> FormWriter::WriteGatherBlocks(const Node& node, const Form& form) {
  const std::string& name = node.inputs[0];
  QTX_ASSIGN_OR_RETURN(format::Tensor table, format::LoadInitializer(context_.index.view(), name));
  const auto packed = PackGatherBlocks(std::move(table), *node.origin);
  if (!packed) return false;
  context_.model.graph.initializers[context_.index.InitializerPlace(name)] =
      format::ToTensorData(name, packed->data);
  packed_.emplace(name, std::pair(packed->data.elem_type, packed->data.dims));
  Node written = Started(node, form);
  std::erase_if(written.attributes, [](const Attribute& a) { return a.name == "axis"; });
  written.inputs = {name, node.inputs[1], AddInitializer(name + "/scale", packed->scales), ""};
  if (packed->zero_points)
    written.inputs[3] = AddInitializer(name + "/zero_point", *packed->zero_points);
  Finished(std::move(written));
  return true;
}

Result<bool> FormWriter::Write(const Node& node) {
  const auto form = forms_.find(&node);
  if (form == forms_.end()) return false;
  if (form->second.op_type == "GatherBlockQuantized") return WriteGatherBlocks(node, form->second);
  if (form->second.op_type == "MatMulBnb4") return WriteBnb4(node, form->second);
  if (form->second.op_type == "MatMulNBits") {
    QTX_RETURN_IF_ERROR(WriteNBits(node, form->second));
  } else if (form->second.op_type == "MatMulInteger" || form->second.op_type == "ConvInteger") {
    QTX_RETURN_IF_ERROR(WriteIntegerProduct(node, form->second));
  } else {
    QTX_RETURN_IF_ERROR(WriteLayout(node, form->second));
  }
  return true;
}

void FormWriter::DeclarePacked(format::ValueInfo& info) const {
  const auto packed = packed_.find(info.name);
  if (packed == packed_.end()) return;
  info.type->elem_type = packed->second.first;
  info.type->shape = format::ToShape(packed->second.second);
}

}  // namespace qtx::convert

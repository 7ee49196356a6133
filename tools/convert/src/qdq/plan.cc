#include "qdq/plan.h"

#include <algorithm>

#include "onnx/float_casts.h"
#include "qdq/base_add.h"
#include "qdq/half_reals.h"
#include "qtx/format/annotation.h"
#include "qtx/format/scopes.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Node;
using format::TensorType;

class Planner {
 public:
  Planner(const GraphIndex& index, const PlanOptions& options, Ledger& ledger)
      : index_(index), as_recorded_(options.as_recorded), reals_(options.reals), ledger_(ledger) {}

  Result<QdqPlan> Run();

 private:
  Result<void> Visit(std::size_t i);
  Result<void> FoldCodes(const std::string& codes, std::size_t i);
  Result<void> VisitIntegers(const std::string& integers, const QdqParameters& parameters,
                             std::size_t i);
  void FoldInitializer(const std::string& integers, const QdqParameters& parameters, std::size_t i,
                       bool is_one);
  void FoldBase(const std::string& integers, const LoweredBase& lowered);
  Result<void> FoldQuantizer(std::size_t i);
  void NotePrecision(const Node& node, const std::string& name, const QdqParameters& parameters);
  Result<bool> AllAgree(const std::string& integers, const QdqParameters& parameters) const;
  bool Counts(const std::string& value, const std::string& integers) const;
  bool Wanted(const std::string& integers) const;
  bool ComesFromInput(const std::string& real, const QdqParameters& parameters) const;
  std::string NameFor(const std::string& integers) const;
  void Alias(const std::string& integers, const std::string& name);
  void AliasOne(std::size_t dequantizer, const std::string& name);
  void TakeFromProducer(std::size_t quantizer, const std::string& name);
  void SkipClip(std::size_t clip, const std::string& value, std::string& real);
  Node CastNode(const Node& from, const std::string& input, const std::string& output,
                ElementType to) const;
  void SetType(const std::string& name, const QdqParameters& parameters,
               std::initializer_list<std::string> shapes);
  const TensorType* Annotation(const std::string& value) const;
  bool IsPlainOutput(const std::string& value) const;
  bool TakesNoQuantized(const Node& node) const;
  void NoteTheRest();

  const GraphIndex& index_;
  const bool as_recorded_;
  const std::set<std::string>& reals_;
  Ledger& ledger_;
  QdqPlan plan_;
  std::map<std::string, bool> one_set_;     // initializers, and whether AllAgree on them
  std::map<std::size_t, std::string> why_;  // a QuantizeLinear or DequantizeLinear may stay
};

const TensorType* Planner::Annotation(const std::string& value) const {
  const TensorType* type = index_.TypeOf(value);
  return type != nullptr && format::IsAnnotated(*type) ? type : nullptr;
}

// True for a graph output without annotation, which stays FLOAT, and for an output of a body, which
// is one value with an output of its node: only lowering's record says that both are quantized.
bool Planner::IsPlainOutput(const std::string& value) const {
  const bool follows = !as_recorded_ && format::IsOfBody(value);
  return index_.IsOutput(value) && (follows || Annotation(value) == nullptr);
}

// The type is the annotation if the nodes agree with it, else that of the nodes.
void Planner::SetType(const std::string& name, const QdqParameters& parameters,
                      std::initializer_list<std::string> shapes) {
  TensorType type;
  const TensorType* annotation = Annotation(name);
  if (annotation != nullptr && Agree(index_.view(), *annotation, parameters)) {
    type = format::Unannotated(*annotation);
    ledger_.Kept(name, "annotation");
  } else {
    if (annotation != nullptr) {
      ledger_.Dropped(name, "annotation",
                      "its QuantizeLinear and DequantizeLinear have other parameters");
      type.statistics = annotation->statistics;
    }
    type.elem_type = parameters.elem_type;
    type.quantization = parameters.quantization;
    for (const std::string& source : shapes) {
      const TensorType* known = index_.TypeOf(source);
      if (!type.shape && known != nullptr) type.shape = known->shape;
    }
    ledger_.Changed(
        name, "elem_type",
        std::string(format::Name(type.elem_type)) + " from QuantizeLinear and DequantizeLinear");
    for (const char* field : {"scale", "offset"}) ledger_.Kept(name, field);
  }
  if (plan_.types.emplace(name, std::move(type)).second) plan_.order.push_back(name);
}

Node Planner::CastNode(const Node& from, const std::string& input, const std::string& output,
                       ElementType to) const {
  Node cast;
  cast.name = from.name;
  cast.op_type = "Cast";
  cast.inputs = {input};
  cast.outputs = {output};
  cast.attributes = {Attribute::Int("to", static_cast<std::int64_t>(to))};
  cast.origin = from.origin;
  cast.metadata = from.metadata;
  return cast;
}

// Makes the dequantizer's output the quantized value `name`; a graph output of another name stays.
void Planner::AliasOne(std::size_t dequantizer, const std::string& name) {
  const Node& node = index_.node(dequantizer);
  const std::string& output = node.outputs[0];
  if (output != name && index_.IsOutput(output)) {
    const ElementType real = format::RealTypeOf(plan_.types.at(name));
    plan_.replaced.emplace(dequantizer, CastNode(node, name, output, real));
    ledger_.Changed(output, "producer",
                    "a Cast of '" + name + "' to " + std::string(format::Name(real)));
    return;
  }
  plan_.removed.insert(dequantizer);
  if (output == name) return;
  plan_.renamed[output] = name;
  plan_.dropped.insert(output);
}

void Planner::Alias(const std::string& integers, const std::string& name) {
  for (const Use& use : index_.Uses(integers)) AliasOne(use.node, name);
  if (integers != name) {
    plan_.renamed[integers] = name;
    plan_.dropped.insert(integers);
  }
}

// True if every use of the integers is a DequantizeLinear with these parameters.
Result<bool> Planner::AllAgree(const std::string& integers, const QdqParameters& parameters) const {
  for (const Use& use : index_.Uses(integers)) {
    const Node& node = index_.node(use.node);
    if (!IsDequantizeLinear(node) || node.inputs[0] != integers) return false;
    QTX_ASSIGN_OR_RETURN(const auto other, FromStock(index_, node));
    if (!other || *other != parameters) return false;
  }
  return true;
}

std::string Planner::NameFor(const std::string& integers) const {
  if (index_.IsOutput(integers)) return integers;
  std::string name = integers;
  for (const Use& use : index_.Uses(integers)) {
    const std::string& output = index_.node(use.node).outputs[0];
    if (IsPlainOutput(output) || !format::AreOfOneGraph(output, integers)) continue;
    if (index_.IsOutput(output)) return output;
    if (name == integers) name = output;
  }
  return name;
}

// True if the pair of `integers` gives `value` its type. In a model that matches its record, only
// if lowering added it: the value is annotated and the integers are named after it (lowering.S1).
bool Planner::Counts(const std::string& value, const std::string& integers) const {
  return !as_recorded_ || (Annotation(value) != nullptr && integers.starts_with(value + "/"));
}

bool Planner::Wanted(const std::string& integers) const {
  return !as_recorded_ || std::ranges::any_of(index_.Uses(integers), [&](const Use& use) {
    return Counts(index_.node(use.node).outputs[0], integers);
  });
}

// Integers in an initializer: each set of parameters they are read with is one quantized
// initializer. `is_one`: they are read with one set.
void Planner::FoldInitializer(const std::string& integers, const QdqParameters& parameters,
                              std::size_t i, bool is_one) {
  const Node& node = index_.node(i);
  const bool shared = index_.Uses(integers).size() > 1 || index_.IsOutput(integers);
  std::string name = node.outputs[0];
  if (IsPlainOutput(name)) {
    if (shared) return;  // the stock node stays
    name = integers;
  } else if (is_one && !format::AreOfOneGraph(name, integers)) {
    name = integers;  // weights that bodies share are not copied
  } else if (shared) {
    plan_.copies.emplace_back(integers, name);
  } else {
    plan_.initializers[integers] = name;
    plan_.dropped.insert(integers);
  }
  SetType(name, parameters, {});
  TensorType& type = plan_.types.at(name);
  type.shape = format::ToShape(index_.Initializer(integers)->dims);
  NameParameters(index_, node, name, *type.quantization);
  AliasOne(i, name);
}

// Folds an initializer that lowering gave a base; its type is the annotation.
void Planner::FoldBase(const std::string& integers, const LoweredBase& lowered) {
  if (index_.Uses(integers).size() > 1 || index_.IsOutput(integers)) {
    plan_.copies.emplace_back(integers, lowered.value);
  } else {
    plan_.initializers[integers] = lowered.value;
    plan_.dropped.insert(integers);
  }
  TensorType type = format::Unannotated(*Annotation(lowered.value));
  type.shape = format::ToShape(index_.Initializer(integers)->dims);
  if (plan_.types.emplace(lowered.value, std::move(type)).second)
    plan_.order.push_back(lowered.value);
  ledger_.Kept(lowered.value, "annotation");
  plan_.removed.insert(lowered.nodes.begin(), lowered.nodes.end());
  plan_.dropped.insert(lowered.between.begin(), lowered.between.end());
}

// True for a lowered graph input that was quantized itself: annotated, with no other reader.
bool Planner::ComesFromInput(const std::string& real, const QdqParameters& parameters) const {
  const TensorType* annotation = Annotation(real);
  return index_.IsInput(real) && (as_recorded_ || !format::IsOfBody(real)) &&
         annotation != nullptr && index_.Initializer(real) == nullptr &&
         index_.Uses(real).size() == 1 && Agree(index_.view(), *annotation, parameters);
}

// The Clip that lowering put before a QuantizeLinear for the narrowed range of `value`.
void Planner::SkipClip(std::size_t clip, const std::string& value, std::string& real) {
  const Node& node = index_.node(clip);
  const TensorType* annotation = Annotation(value);
  const bool narrowed = annotation != nullptr && (annotation->quantization->quant_min.has_value() ||
                                                  annotation->quantization->quant_max.has_value());
  if (!narrowed || !IsStock(node, "Clip") || node.name != value + "/Clip" || node.inputs.empty())
    return;
  const std::string& unclipped = node.inputs[0];
  if (!index_.Producer(unclipped) || !format::AreOfOneGraph(unclipped, value) ||
      !index_.OnlyUse(unclipped))
    return;
  plan_.removed.insert(clip);
  plan_.dropped.insert(real);
  real = unclipped;
}

// If, Loop and Scan have quantized operands where the bodies have them too, as lowering's record
// says.
bool Planner::TakesNoQuantized(const Node& node) const {
  return HasNoQuantizedOperands(node) && !(as_recorded_ && format::IsControlFlow(node));
}

// The preceding node writes the quantized value if the QuantizeLinear is its only reader; else the
// QuantizeLinear becomes a Cast.
void Planner::TakeFromProducer(std::size_t quantizer, const std::string& name) {
  const Node& node = index_.node(quantizer);
  std::string real = node.inputs[0];
  const auto producer = index_.Producer(real);
  const bool alone = index_.OnlyUse(real).has_value() && !reals_.contains(real);
  if (!producer || !alone || !format::AreOfOneGraph(real, name) ||
      TakesNoQuantized(index_.node(*producer)) || IsDequantizeLinear(index_.node(*producer)) ||
      IsStock(index_.node(*producer), "Constant")) {
    const auto to = plan_.types.at(name).elem_type;
    plan_.replaced.emplace(quantizer, CastNode(node, real, name, to));
    return;
  }
  plan_.removed.insert(quantizer);
  SkipClip(*producer, name, real);
  plan_.renamed[real] = name;
  plan_.dropped.insert(real);
}

// A type says nothing of a quotient of 16 bits.
void Planner::NotePrecision(const Node& node, const std::string& name,
                            const QdqParameters& parameters) {
  const ElementType real = format::RealTypeOf(parameters.quantization);
  if (as_recorded_ || !DividesInHalf(index_.model().OpsetVersion(""), node, real)) return;
  ledger_.Changed(name, "precision",
                  "divided in " + std::string(format::Name(real)) +
                      "; by its type exactly, or in binary32 (float32.S2)");
}

Result<void> Planner::FoldQuantizer(std::size_t i) {
  const Node& node = index_.node(i);
  QTX_ASSIGN_OR_RETURN(const auto parameters, FromStock(index_, node, why_[i]));
  if (!parameters) return {};
  why_[i] = "its integers are read in more than one way, or not by DequantizeLinear alone";
  const std::string& integers = node.outputs[0];
  const std::string& real = node.inputs[0];
  QTX_ASSIGN_OR_RETURN(const bool agree, AllAgree(integers, *parameters));
  const bool used = !index_.Uses(integers).empty() || index_.IsOutput(integers);
  // What a node moves out of a body has one type on both sides.
  const bool moves_out = !as_recorded_ && index_.IsOutput(integers) && format::IsOfBody(integers);
  if (!agree || !used || moves_out) return {};
  if (ComesFromInput(real, *parameters) && Counts(real, integers)) {
    SetType(real, *parameters, {});
    plan_.removed.insert(i);
    Alias(integers, real);
    return {};
  }
  if (!Wanted(integers)) return {};
  const std::string name = NameFor(integers);
  SetType(name, *parameters, {name, real, integers});
  NotePrecision(node, name, *parameters);
  TakeFromProducer(i, name);
  Alias(integers, name);
  return {};
}

Result<void> Planner::VisitIntegers(const std::string& integers, const QdqParameters& parameters,
                                    std::size_t i) {
  if (index_.Initializer(integers) != nullptr && !index_.IsInput(integers)) {
    QTX_ASSIGN_OR_RETURN(const auto lowered, BaseAfter(index_, i));
    if (lowered && Counts(lowered->value, integers)) {
      FoldBase(integers, *lowered);
      return {};
    }
    if (!Counts(index_.node(i).outputs[0], integers)) return {};
    auto found = one_set_.find(integers);
    if (found == one_set_.end()) {
      QTX_ASSIGN_OR_RETURN(const bool agree, AllAgree(integers, parameters));
      found = one_set_.emplace(integers, agree && !index_.IsOutput(integers)).first;
    }
    FoldInitializer(integers, parameters, i, found->second);
    return {};
  }
  // A graph input of plain integers, read as one quantized type only.
  if (!index_.IsInput(integers) || as_recorded_ || format::IsOfBody(integers) ||
      plan_.types.contains(integers))
    return {};
  QTX_ASSIGN_OR_RETURN(const bool agree, AllAgree(integers, parameters));
  if (!agree || index_.IsOutput(integers) || index_.Initializer(integers) != nullptr) return {};
  SetType(integers, parameters, {integers});
  Alias(integers, integers);
  return {};
}

// Codes in an initializer that lowering has looked up in a code book.
Result<void> Planner::FoldCodes(const std::string& codes, std::size_t i) {
  if (index_.Initializer(codes) == nullptr || index_.IsInput(codes)) return {};
  QTX_ASSIGN_OR_RETURN(const auto lowered, BaseAfter(index_, i));
  if (lowered && Counts(lowered->value, codes)) FoldBase(codes, *lowered);
  return {};
}

Result<void> Planner::Visit(std::size_t i) {
  const Node& node = index_.node(i);
  if (node.inputs.empty() || node.outputs.size() != 1) return {};
  if (IsQuantizeLinear(node)) return FoldQuantizer(i);
  if (IsStock(node, "Cast")) return FoldCodes(node.inputs[0], i);
  if (!IsDequantizeLinear(node)) return {};
  QTX_ASSIGN_OR_RETURN(const auto parameters, FromStock(index_, node, why_[i]));
  if (!parameters) return {};
  why_[i] = "its integers are no constant, and come from no QuantizeLinear that could go";
  return VisitIntegers(node.inputs[0], *parameters, i);
}

Result<QdqPlan> Planner::Run() {
  for (std::size_t i = 0; i < index_.model().graph.nodes.size(); ++i) {
    auto visited = Visit(i);
    if (!visited.has_value()) return At(PlaceOf(index_.node(i)), visited.error());
  }
  NoteTheRest();
  return std::move(plan_);
}

// Adds a ledger entry for each QuantizeLinear and DequantizeLinear that stays, except in lowered
// models, whose original had them.
void Planner::NoteTheRest() {
  if (as_recorded_) return;
  for (const auto& [i, why] : why_) {
    if (plan_.removed.contains(i) || plan_.replaced.contains(i)) continue;
    const Node& node = index_.node(i);
    ledger_.Changed(
        node.outputs[0], "op_type",
        node.op_type + " stays as it is: " + (why.empty() ? "it has too few inputs" : why));
  }
}

}  // namespace

Result<QdqPlan> MakePlan(const GraphIndex& index, const PlanOptions& options, Ledger& ledger) {
  return Planner(index, options, ledger).Run();
}

}  // namespace qtx::convert

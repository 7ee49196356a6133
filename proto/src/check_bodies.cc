// graph.C11 and graph.C12: what a node of If, Loop, Scan or SequenceMap and its bodies say
// together.
#include <optional>
#include <string>

#include "body_facts.h"
#include "check_rules.h"
#include "qtx/format/levels.h"
#include "qtx/format/scopes.h"

namespace qtx::format {
namespace {

std::string Count(std::size_t inputs, std::size_t outputs) {
  return std::to_string(inputs) + " inputs and " + std::to_string(outputs) + " outputs";
}

class BodyChecker {
 public:
  BodyChecker(const FlatModel& flat, const ModelView& view, const Inference& inference,
              Findings& findings)
      : flat_(flat), view_(view), inference_(inference), findings_(findings) {}

  void Check(const Scope& body) {
    const Node& node = flat_.model().graph.nodes[body.node];
    if (!IsControlFlow(node)) return;
    static const OpSchema kNoRules;
    const Application a{kNoRules, node, OnnxOpset(flat_.model()), {}, {}};
    const std::optional<BodyForm> form = FormOfBody(a);
    if (node.op_type == "SequenceMap") {
      CheckCounts(body, node.inputs.size(), node.outputs.size());
    } else if (form &&
               CheckCounts(body, form->inputs, node.outputs.size() + form->results_before)) {
      if (node.outputs.size() >= form->carried) {
        CheckTypes(body, node, *form);
      } else {
        findings_.Add("graph.C11", body.place + "graph",
                      FoundExpected(std::to_string(node.outputs.size()) + " outputs of the node",
                                    std::to_string(form->carried) + " or more: one for each value "
                                                                    "that is carried"));
      }
    }
  }

 private:
  bool CheckCounts(const Scope& body, std::size_t inputs, std::size_t outputs) {
    if (body.inputs.size() == inputs && body.outputs.size() == outputs) return true;
    findings_.Add("graph.C11", body.place + "graph",
                  FoundExpected(Count(body.inputs.size(), body.outputs.size()),
                                Count(inputs, outputs) + ", as its node has"));
    return false;
  }

  void CheckTypes(const Scope& body, const Node& node, const BodyForm& form) {
    for (std::size_t i = form.before; i < form.inputs; ++i)
      CheckMove(body, node.inputs[i], body.inputs[i], i >= form.before + form.carried);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string& result = body.outputs[i + form.results_before];
      const bool is_stacked = node.op_type != "If" && i >= form.carried;
      CheckMove(body, result, node.outputs[i], is_stacked);
      if (i < form.carried) CheckMove(body, result, body.inputs[i + form.before], false);
    }
  }

  // A value `from` that becomes `to`, or of which `to` is an element or the other way round.
  void CheckMove(const Scope& body, const std::string& from, const std::string& to, bool stacked) {
    if (from.empty() || to.empty()) return;
    const ElementType source = TypeOf(from), target = TypeOf(to);
    if (source == ElementType::kUndefined || target == ElementType::kUndefined) return;
    if (source != target) {
      Refuse(body, from, to, FoundExpected(std::string(Name(target)), std::string(Name(source))));
      return;
    }
    if (!IsQuantized(source)) return;
    const TensorType* a = DeclaredType(from);
    const TensorType* b = DeclaredType(to);
    if (a == nullptr || b == nullptr) {
      Refuse(body, from, to, "one has no declared type, which parameters need");
    } else if (stacked && !(a->quantization->axis.empty() && b->quantization->axis.empty())) {
      Refuse(body, from, to, FoundExpected("parameters along an axis", "one scale"));
    } else if (!HaveEqualParameters(from, *a, to, *b)) {
      Refuse(body, from, to, "their parameters differ");
    }
  }

  void Refuse(const Scope& body, const std::string& from, const std::string& to,
              const std::string& message) {
    findings_.Add("graph.C12", body.place + "graph",
                  "'" + from + "' becomes '" + to + "': " + message);
  }

  ElementType TypeOf(const std::string& value) const {
    const ValueFacts* facts = inference_.Find(value);
    return facts == nullptr ? ElementType::kUndefined : facts->type;
  }

  // nullptr where it is not declared with a quantization.
  const TensorType* DeclaredType(const std::string& value) const {
    const ValueInfo* info = view_.FindValue(value);
    return info != nullptr && info->type && info->type->quantization ? &*info->type : nullptr;
  }

  // However they are written.
  bool HaveEqualParameters(const std::string& from, const TensorType& a, const std::string& to,
                           const TensorType& b) const {
    const auto p = Resolve(view_, a, from), q = Resolve(view_, b, to);
    if (!p.has_value() || !q.has_value()) return true;  // quantization.md has clauses for that
    if (!HasIntegerForm(*p) || !HasIntegerForm(*q) || p->scale != q->scale || p->axis != q->axis)
      return false;
    if (!p->axis.empty() && Blocks(*p) != Blocks(*q)) return false;
    for (std::size_t i = 0; i < p->scale.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      if (OffsetAt(*p, at) != OffsetAt(*q, at)) return false;
    }
    const IntegerRange range = StoredRange(a.elem_type, *p), other = StoredRange(b.elem_type, *q);
    return range == other;
  }

  static std::vector<std::int64_t> Blocks(const Quantization& q) {
    return q.block_shape.empty() ? std::vector<std::int64_t>(q.axis.size(), 1) : q.block_shape;
  }

  const FlatModel& flat_;
  const ModelView& view_;
  const Inference& inference_;
  Findings& findings_;
};

}  // namespace

void CheckBodies(const FlatModel& flat, const ModelView& view, const Inference& inference,
                 Findings& findings) {
  BodyChecker checker(flat, view, inference, findings);
  for (std::size_t i = 1; i < flat.scopes().size(); ++i) checker.Check(flat.scopes()[i]);
}

}  // namespace qtx::format

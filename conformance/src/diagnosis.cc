// Which named arithmetic, or which known fault, gives a wrong answer.
#include "qtx/conformance/diagnosis.h"

#include <utility>

#include "fault.h"
#include "qtx/reference/arithmetic.h"

namespace qtx::conformance {
namespace {

bool SameOutputs(const Outputs& got, const Outputs& tried) {
  if (got.size() != tried.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (Compare("", got[i], tried[i], std::nullopt)) return false;
  }
  return true;
}

bool TooLarge(const Outputs& outputs) {
  std::int64_t elements = 0;
  for (const format::Tensor& output : outputs) elements += format::ElementCount(output);
  return elements > kMaxDiagnosedElements;
}

// Bipolar storage has no zero, so a fault's stored value may be one it cannot hold.
bool CanStore(const Case& c, const Outputs& reals) {
  if (reals.size() != c.outputs.size()) return false;
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const format::TensorType& type = c.outputs[i].type;
    if (type.elem_type == format::ElementType::kBipolar1Q) return false;
    if (!type.quantization->scale_tensor.empty()) return false;
    const auto parameters = format::ParameterDims(*type.quantization, reals[i].dims);
    if (!parameters) return false;
    const auto count = format::ElementCount(*parameters);
    const auto scales = static_cast<std::int64_t>(type.quantization->scale.size());
    if (!count || (scales != *count && scales != 1)) return false;
    if (reals[i].elem_type != format::ElementType::kFloat) return false;
  }
  return true;
}

void ExplainByStoring(const Case& c, const Outputs& got, std::vector<std::string>& names) {
  const auto reals = RealOutputs(c);
  if (!reals || !CanStore(c, *reals)) return;
  for (const StoreFault& fault : StoreFaults()) {
    Outputs tried;
    for (std::size_t i = 0; i < reals->size(); ++i) {
      tried.push_back(StoreWith(fault, (*reals)[i], c.outputs[i].type));
    }
    if (SameOutputs(got, tried)) names.emplace_back(fault.name);
  }
}

void ExplainByInputs(const Case& c, const std::string& arithmetic, const Outputs& got,
                     std::vector<std::string>& names) {
  for (const InputFault& fault : InputFaults()) {
    Case changed = c;
    if (!fault.change(changed)) continue;
    const auto tried = RunReference(changed, arithmetic);
    if (tried && SameOutputs(got, *tried)) names.emplace_back(fault.name);
  }
}

}  // namespace

std::vector<std::string> Explain(const Case& c, const std::string& arithmetic,
                                 const std::vector<format::Tensor>& got) {
  std::vector<std::string> names;
  if (TooLarge(got)) return names;
  const auto same = RunReference(c, arithmetic);
  if (same && SameOutputs(got, *same)) return {"reference"};
  for (const reference::Arithmetic& other : reference::Arithmetics()) {
    if (other.name == arithmetic) continue;
    const auto tried = RunReference(c, std::string(other.name));
    if (tried && SameOutputs(got, *tried)) names.emplace_back(other.name);
  }
  if (!c.op) return names;
  ExplainByStoring(c, got, names);
  ExplainByInputs(c, arithmetic, got, names);
  return names;
}

}  // namespace qtx::conformance

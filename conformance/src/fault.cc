// Answers a question with a fault: runs the reference on edited copies.
#include "fault.h"

#include <optional>
#include <utility>

#include "lift_operator.h"
#include "node_editor.h"
#include "qtx/format/levels.h"
#include "qtx/reference/interpreter.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;

bool IsStoredInteger(ElementType type) {
  return format::IsQuantized(type) && format::IsIntegerStorage(type) &&
         type != ElementType::kInt32Q && type != ElementType::kBipolar1Q;
}

// Reinterprets the bytes of `tensor` as the declared type.
void Retype(const format::TensorType& declared, Tensor& tensor) {
  if (format::BitWidth(declared.elem_type) != format::BitWidth(tensor.elem_type)) return;
  tensor.elem_type = declared.elem_type;
  tensor.quantization = declared.quantization;
}

Result<void> RetypeInputs(Question& question) {
  std::size_t next = 0;
  for (const format::ValueInfo& info : question.model.graph.inputs) {
    if (question.model.graph.FindInitializer(info.name) != nullptr) continue;
    if (next >= question.inputs.size()) break;
    Tensor& tensor = question.inputs[next++];
    if (!info.type || !info.type->quantization || !tensor.quantization) continue;
    Retype(*info.type, tensor);
    QTX_ASSIGN_OR_RETURN(tensor.quantization, format::Resolve(question.model, *info.type));
  }
  return {};
}

// Changes outputs of at most 16 bits to INT32Q without offset and range, so that values reach the
// fault unclamped. False if there is no such output.
bool WidenStored(format::Model& model) {
  bool any = false;
  for (format::ValueInfo& output : model.graph.outputs) {
    if (!output.type || !IsStoredInteger(output.type->elem_type)) continue;
    format::Quantization& q = *output.type->quantization;
    if (!q.offset_tensor.empty() || !q.scale_tensor.empty() || HasLevels(q)) continue;
    output.type->elem_type = ElementType::kInt32Q;
    q.offset.clear();
    q.quant_min.reset();
    q.quant_max.reset();
    q.scheme = format::Scheme::kUnspecified;
    q.requantization.reset();
    any = true;
  }
  return any;
}

Error Idle(const Fault& fault) {
  return {ErrorCode::kUnsupported, std::string(fault.name),
          "the fault does not apply to this model"};
}

Result<Tensor> Store(const Fault& fault, const Tensor& wide, const format::TensorType& type) {
  QTX_ASSIGN_OR_RETURN(Tensor tensor,
                       format::MakeTensor(type.elem_type, wide.dims, type.quantization));
  QTX_RETURN_IF_ERROR(format::ParameterDims(*type.quantization, wide.dims));
  const format::ParameterMap map(*type.quantization, wide.dims);
  Slot slot;
  slot.range = format::StoredRange(type.elem_type, *type.quantization);
  slot.storage = format::StorageRange(type.elem_type);
  std::vector<std::int64_t> stored = format::UnpackIntegers(wide);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    slot.offset = format::OffsetAt(*type.quantization, map(static_cast<std::int64_t>(i)));
    const auto value = fault.store(stored[i], slot);
    if (!value) return Idle(fault);
    stored[i] = *value;
  }
  format::PackIntegers(stored, tensor);
  return tensor;
}

// Converts the answers back to the requested types.
Result<void> Finish(const Question& asked, const Question& changed, const Fault& fault,
                    Outputs& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& declared = asked.model.graph.outputs[i].type;
    if (!declared || !declared->quantization) continue;
    const bool widened = fault.store != nullptr &&
                         changed.model.graph.outputs[i].type->elem_type != declared->elem_type;
    if (widened) {
      QTX_ASSIGN_OR_RETURN(outputs[i], Store(fault, outputs[i], *declared));
    } else {
      Retype(*declared, outputs[i]);
    }
  }
  return {};
}

Result<Outputs> Ask(const Question& question, const reference::Arithmetic& row) {
  QTX_ASSIGN_OR_RETURN(auto interpreter, reference::Interpreter::Prepare(question.model, row));
  return interpreter.Run(question.inputs);
}

Result<Outputs> AnswerChanged(const Question& question, const reference::Arithmetic& row,
                              const Fault& fault) {
  const Error idle = Idle(fault);
  Question changed = question;
  // In models of several nodes other nodes read the parameters, too.
  const bool single = question.model.graph.nodes.size() == 1;
  if ((fault.question != nullptr || fault.answers != nullptr) && !single) return idle;
  if (fault.question != nullptr) {
    NodeEditor editor(changed);
    if (!fault.question(editor)) return idle;
    QTX_RETURN_IF_ERROR(RetypeInputs(changed));
  }
  if (fault.store != nullptr && !WidenStored(changed.model)) return idle;
  QTX_ASSIGN_OR_RETURN(Outputs outputs, Ask(changed, row));
  if (fault.answers != nullptr && !fault.answers(question, outputs)) return idle;
  QTX_RETURN_IF_ERROR(Finish(question, changed, fault, outputs));
  return outputs;
}

}  // namespace

Result<Question> BuildQuestion(const Case& c) {
  Question question;
  QTX_ASSIGN_OR_RETURN(question.model, BuildModel(c));
  QTX_ASSIGN_OR_RETURN(question.inputs, BuildInputs(c, question.model));
  return question;
}

Result<Outputs> RunReference(const Case& c, const std::string& arithmetic) {
  QTX_ASSIGN_OR_RETURN(const Question question, BuildQuestion(c));
  QTX_ASSIGN_OR_RETURN(const reference::Arithmetic* row, reference::FindArithmetic(arithmetic));
  return Answer(question, *row, nullptr);
}

Result<Outputs> Answer(const Question& question, const reference::Arithmetic& row,
                       const Fault* fault) {
  reference::Arithmetic changed_row = row;
  if (fault != nullptr && fault->row != nullptr) fault->row(changed_row);
  if (fault == nullptr || fault->row != nullptr) return Ask(question, changed_row);
  // Fault models edit parameters of types, stock operators have them as inputs: lift first.
  const std::optional<Question> extended = LiftOperator(question);
  auto answer =
      extended ? AnswerChanged(*extended, row, *fault) : AnswerChanged(question, row, *fault);
  if (!extended) return answer;
  // The fault did not apply to the lifted form; it may act on an attribute.
  if (!answer) return AnswerChanged(question, row, *fault);
  Outputs outputs = *std::move(answer);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& declared = question.model.graph.outputs[i].type;
    if (!declared || declared->quantization) continue;
    outputs[i].elem_type = declared->elem_type;
    outputs[i].quantization.reset();
  }
  return outputs;
}

}  // namespace qtx::conformance

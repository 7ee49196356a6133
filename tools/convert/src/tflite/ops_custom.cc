// CUSTOM: operators whose meaning only their author knows. They keep their place in the graph,
// their types and their options, so that a tool that knows them may compute them and the file comes
// back.
#include "errors.h"
#include "tflite/custom.h"
#include "tflite/ops.h"

namespace qtx::convert {

Result<void> ConvertCustom(TfliteBuilder& builder, const TfliteOperator& op) {
  if (op.custom_code.empty()) return Invalid("custom_code", "missing");
  Draft draft{op.custom_code, {}, {}};
  draft.domain = std::string(kCustomDomain);
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    std::string name;
    if (builder.HasInput(op, i)) {
      QTX_ASSIGN_OR_RETURN(name, builder.Use(op.inputs[i], Layout::kOwn));
    }
    draft.inputs.push_back(std::move(name));
  }
  const auto* options = op.options->custom_options();
  if (options != nullptr && options->size() > 0) {
    draft.attributes.push_back(format::Attribute::String(
        std::string(kCustomOptions), std::string(options->begin(), options->end())));
  }
  for (const int y : op.outputs) QTX_RETURN_IF_ERROR(builder.ForgetShape(y));
  builder.Note(op.Place(), "meaning", "not known: it is kept as it is, and not computed");
  return builder.EmitAll(op, std::move(draft), op.outputs, Layout::kOwn);
}

}  // namespace qtx::convert

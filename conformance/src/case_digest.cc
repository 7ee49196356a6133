#include "case_digest.h"

#include <iterator>

#include "compare.h"

namespace qtx::conformance {
namespace {

// The model's bytes contain only the names of external data files.
void AddExternalData(const format::Model& model, Digest& digest) {
  digest.Add(std::ssize(model.graph.initializers));
  for (const format::TensorData& initializer : model.graph.initializers) {
    const auto tensor = format::Decode(initializer, model.folder);
    digest.Add(std::int64_t{tensor.has_value()});
    if (tensor) {
      digest.Add(*tensor);
    } else {
      digest.Add(tensor.error().message);
    }
  }
}

}  // namespace

Result<void> AddQuestion(const Case& c, const format::Model& model,
                         std::span<const format::Tensor> inputs, Digest& digest) {
  QTX_ASSIGN_OR_RETURN(const std::string bytes, model.Serialize());
  digest.Add(bytes);
  if (!c.op) AddExternalData(model, digest);
  digest.Add(std::ssize(inputs));
  for (const format::Tensor& input : inputs) digest.Add(input);
  return {};
}

Result<std::string> QuestionOf(const Case& c, const format::Model& model) {
  Digest digest;
  auto inputs = BuildInputs(c, model);
  if (!inputs && c.error.empty()) return inputs.error();
  QTX_RETURN_IF_ERROR(
      AddQuestion(c, model, inputs ? *inputs : std::vector<format::Tensor>(), digest));
  return digest.Text();
}

std::string AnswerOf(std::span<const format::Tensor> outputs) {
  Digest digest;
  digest.Add(std::ssize(outputs));
  for (const format::Tensor& output : outputs) {
    digest.Add(static_cast<std::int64_t>(output.elem_type));
    digest.Add(std::ssize(output.dims));
    for (const std::int64_t dim : output.dims) digest.Add(dim);
    AddElements(output, digest);
  }
  return digest.Text();
}

}  // namespace qtx::conformance

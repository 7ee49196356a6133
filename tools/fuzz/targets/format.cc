// The extended form: its bytes, its rules, what is inferred of it, and what it computes.
#include <array>

#include "qtx/format/check.h"
#include "qtx/format/inference.h"
#include "qtx/format/model.h"
#include "qtx/format/npy.h"
#include "target.h"
#include "wire_large.h"

namespace qtx::fuzz {
namespace {

// What was read is written and read again, and then written as the same bytes. Not compared as
// models: a NaN differs from itself.
void Wire(std::string_view, const std::string& bytes) {
  const auto model = format::Model::Parse(bytes);
  if (!Answered(model)) return;
  const auto written = model->Serialize();
  if (!Answered(written)) return;
  const auto again = format::Model::Parse(*written);
  if (!again.has_value()) Stop("written, then refused: " + again.error().Text());
  if (*again->Serialize() != *written) Stop("written twice as other bytes");
}

// Large models are read around their raw_data.
void WireLarge(std::string_view, const std::string& bytes) {
  for (const auto kind : {format::wire::Message::kModel, format::wire::Message::kTensor})
    format::wire::ExternalTensors(kind, bytes);
  format::wire::IsExternal(bytes);
  const auto skeleton = format::wire::LeaveOutLargeData(bytes, "fuzz");
  if (Answered(skeleton)) Answered(format::Model::Parse(skeleton->bytes));
}

// CheckFirst refuses what Check finds something in, and nothing else as invalid.
void Check(std::string_view, const std::string& bytes) {
  const auto model = format::Model::Parse(bytes);
  if (!Answered(model)) return;
  const auto findings = format::Check(*model);
  for (const format::Finding& finding : findings) {
    if (finding.rule.empty() || finding.message.empty()) Stop("a finding that says nothing");
  }
  const auto first = format::CheckFirst(*model);
  if (Answered(first) && !findings.empty()) Stop("passed with a finding: " + findings[0].message);
  if (!first.has_value() && first.error().code == ErrorCode::kInvalid && findings.empty())
    Stop("refused without a finding: " + first.error().Text());
}

// What is inferred is not inferred otherwise from the result, and breaks no rule that held before.
void Infer(std::string_view, const std::string& bytes) {
  const auto model = format::Model::Parse(bytes);
  if (!Answered(model) || !format::CheckFirst(*model).has_value()) return;
  const format::Model inferred = format::WithInferredTypes(*model);
  const auto findings = format::Check(inferred);
  if (!findings.empty())
    Stop("inferred what breaks a rule: " + findings[0].where + ": " + findings[0].message);
  if (*format::WithInferredTypes(inferred).Serialize() != *inferred.Serialize())
    Stop("inferred twice, and otherwise");
}

void Npy(std::string_view, const std::string& bytes) {
  Answered(format::ParseNpyHeader(bytes));
  const auto tensor = format::ParseNpy(bytes);
  if (!Answered(tensor)) return;
  const auto written = format::ToNpy(*tensor);
  if (!Answered(written)) return;
  if (!format::ParseNpy(*written).has_value()) Stop("written, then refused");
}

void TensorProto(std::string_view, const std::string& bytes) {
  const auto data = format::ParseTensorData(bytes);
  if (!Answered(data)) return;
  const bool fits = format::CheckCarrier(*data).has_value();
  const auto tensor = format::Decode(*data);
  if (Answered(tensor) != fits) Stop("CheckCarrier and Decode disagree");
}

constexpr std::array kTargets = {
    Target{"wire", &Wire, Form::kProtobuf},
    Target{"wire_large", &WireLarge, Form::kProtobuf},
    Target{"check", &Check, Form::kProtobuf},
    Target{"infer", &Infer, Form::kProtobuf},
    Target{"npy", &Npy},
    Target{"tensor_proto", &TensorProto, Form::kProtobuf},
};

}  // namespace

std::span<const Target> Targets() { return kTargets; }

}  // namespace qtx::fuzz

// qtx diff: the differences between two models.
#include "qtx/convert/diff.h"

#include "commands.h"
#include "json.h"
#include "progress.h"
#include "qtx/convert/convert.h"
#include "qtx/format/print.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

using convert::Difference;

bool IsStored(const convert::Source& source) { return source.onnx.has_value(); }

// Two stock models are compared as they are; models of different kinds in the extended form.
Result<format::Model> Model(convert::Source source, bool as_is) {
  if (as_is) return *std::move(source.onnx);
  QTX_ASSIGN_OR_RETURN(const convert::Kind* kind, convert::KindOf(source));
  QTX_ASSIGN_OR_RETURN(convert::Conversion conversion, convert::Read(source, *kind));
  return std::move(conversion.model);
}

Result<std::vector<Difference>> Compare(const DiffOptions& options) {
  QTX_ASSIGN_OR_RETURN(convert::Source a, convert::Open(options.a));
  QTX_ASSIGN_OR_RETURN(convert::Source b, convert::Open(options.b));
  QTX_ASSIGN_OR_RETURN(const convert::Kind* kind_a, convert::KindOf(a));
  QTX_ASSIGN_OR_RETURN(const convert::Kind* kind_b, convert::KindOf(b));
  const bool as_is = kind_a == kind_b && IsStored(a) && IsStored(b);
  QTX_ASSIGN_OR_RETURN(const format::Model model_a, Model(std::move(a), as_is));
  QTX_ASSIGN_OR_RETURN(const format::Model model_b, Model(std::move(b), as_is));
  return convert::Diff(model_a, model_b);
}

std::string ToJson(const std::vector<Difference>& differences) {
  Json json("diff");
  json.BeginObject();
  json.Array("differences", differences, [&json](const Difference& difference) {
    json.BeginObject();
    json.Field("place", difference.place);
    json.Field("field", difference.field);
    json.Field("a", difference.a);
    json.Field("b", difference.b);
    json.EndObject();
  });
  json.EndObject();
  return json.Text();
}

}  // namespace

int Diff(const DiffOptions& options) {
  const auto outputs =
      CheckOutputs({{"--json", options.json}}, {{"a model", options.a}, {"a model", options.b}});
  if (!outputs.has_value()) return Fail(outputs.error());
  const auto differences = [&options] {
    const WorkProgress progress(options.quiet, "comparing");
    return Compare(options);
  }();
  if (!differences.has_value()) return Fail(differences.error());
  if (options.SaysText()) {
    for (const Difference& difference : *differences)
      format::Print("{} {}: {} | {}\n", difference.place, difference.field, difference.a,
                    difference.b);
    format::Print("{} differences\n", differences->size());
  }
  return Finish(options, differences->empty() ? kDone : kFailed,
                [&] { return ToJson(*differences); });
}

}  // namespace qtx::cli

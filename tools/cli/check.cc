// qtx check: every rule of the spec on each file.
#include "qtx/format/check.h"

#include "commands.h"
#include "feature_option.h"
#include "json.h"
#include "model_cache.h"
#include "progress.h"
#include "qtx/format/print.h"
#include "report_files.h"

namespace qtx::cli {
namespace {

void WriteFinding(const std::string& file, const format::Finding& finding, Json& json) {
  json.BeginObject();
  json.Field("file", file);
  json.Field("rule", finding.rule);
  json.Field("where", finding.where);
  json.Field("message", finding.message);
  json.EndObject();
}

Result<std::vector<format::Finding>> FindingsOf(const std::string& file, format::Features features,
                                                bool quiet) {
  const WorkProgress progress(quiet, "checking");
  try {
    QTX_ASSIGN_OR_RETURN(const format::Model model, LoadModel(file));
    return format::Check(model, file, features);
  } catch (const std::bad_alloc&) {
    return OutOfMemory(file);
  }
}

}  // namespace

int Check(const CheckOptions& options) {
  std::vector<OptionFile> models;
  for (const std::string& file : options.files) models.push_back({"the model", file});
  const auto outputs = CheckOutputs({{"--json", options.json}}, models);
  if (!outputs.has_value()) return Fail(outputs.error());
  int status = kDone;
  Json json("check");
  json.BeginObject();
  json.Key("findings");
  json.BeginArray();
  for (const std::string& file : options.files) {
    const auto found = FindingsOf(file, FeaturesOf(options.features), options.quiet);
    if (!found.has_value()) {
      status = Fail(found.error());
      continue;
    }
    const std::vector<format::Finding>& findings = *found;
    if (!findings.empty() && status == kDone) status = kFailed;
    for (const auto& finding : findings) {
      WriteFinding(file, finding, json);
      if (options.json == "-") continue;
      format::Print(stderr, "{}: {} [{}]\n", format::Printable(finding.where, format::kMaxMessage),
                    format::Printable(finding.message, format::kMaxMessage), finding.rule);
    }
    if (findings.empty() && options.SaysText()) format::Print("{}: conforms\n", file);
  }
  json.EndArray();
  json.EndObject();
  return Finish(options, status, [&json] { return json.Text(); });
}

}  // namespace qtx::cli

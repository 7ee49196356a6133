#include "quantize_report.h"

#include <fmt/core.h>

#include <cmath>

#include "float_executor.h"
#include "provenance.h"
#include "qtx/format/print.h"
#include "qtx/inspect/inspect.h"
#include "qtx/reference/interpreter.h"

namespace qtx::cli {
namespace {

using format::Tensor;
using quantize::ValueReport;

void PrintRow(const std::string& place, const std::string& op_type, const ValueReport& value,
              std::FILE* out) {
  const format::ErrorMeasures& errors = value.errors;
  const std::string sqnr =
      std::isfinite(errors.sqnr_db) ? fmt::format("{:.2f}", errors.sqnr_db) : "exact";
  const std::string method =
      value.ranges.empty() ? "-" : quantize::ToText(value.ranges.front().method);
  format::Print(out, "{:<40} {:<18} {:<7} {:<16} {:>8} {:>9.6f} {:>9.2f} {:>11.5g} {:>8.3f}%\n",
                format::Printable(place, 40), op_type, format::Name(value.type.elem_type), method,
                sqnr, errors.cosine, errors.max_error_lsb, errors.max_error,
                errors.saturated * 100);
}

}  // namespace

Result<quantize::QuantizationReport> CompareOn(const quantize::Quantized& quantized,
                                               const calibrate::Samples& samples,
                                               const std::string& model_name,
                                               WorkProgress& progress) {
  QTX_ASSIGN_OR_RETURN(const auto execution, FloatExecution::Prepare(quantized.real, 1));
  QTX_ASSIGN_OR_RETURN(const auto executor, execution.make()());
  QTX_ASSIGN_OR_RETURN(auto interpreter, reference::Interpreter::Prepare(quantized.model));
  const quantize::ModelRun real = [&](std::span<const Tensor> inputs,
                                      const quantize::Observer& observer) {
    return executor->Run(inputs, observer);
  };
  const quantize::ModelRun stored = [&](std::span<const Tensor> inputs,
                                        const quantize::Observer& observer) -> Result<void> {
    interpreter.set_observer(observer);
    QTX_RETURN_IF_ERROR(interpreter.Run(inputs));
    return {};
  };
  quantize::Comparison comparison(quantized);
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    progress.Set(static_cast<std::size_t>(i), static_cast<std::size_t>(samples.size()),
                 "comparing");
    const auto sample = samples.Read(i);
    if (!sample.has_value()) return At(samples.Name(i), sample.error().error);
    if (auto added = comparison.Add(*sample, real, stored); !added.has_value())
      return At(model_name, At("with sample '" + samples.Name(i) + "'", added.error()));
  }
  QTX_ASSIGN_OR_RETURN(auto report, comparison.Finish());
  report.real_by = execution.name() == "float" ? "float" : "reference float32";
  report.quantized_by = "reference exact";
  return report;
}

void PrintErrors(const quantize::QuantizationReport& report, std::FILE* out) {
  format::Print(out,
                "\n{} samples; the output, then layers from the worst\n{:<40} {:<18} {:<7} {:<16} "
                "{:>8} {:>9} {:>9} {:>11} {:>9}\n",
                report.samples, "value", "operator", "type", "range", "SQNR dB", "cosine",
                "max LSB", "max error", "saturated");
  for (const ValueReport& output : report.outputs) PrintRow(output.name, "(output)", output, out);
  for (const quantize::LayerReport& layer : report.layers)
    PrintRow(layer.output.real, layer.op_type, layer.output, out);
}

Result<void> CheckReportPath(const std::string& path) {
  if (path.empty() || path.ends_with(".json") || path.ends_with(".html")) return {};
  return Error{ErrorCode::kUsage, "--report " + path, "expected a name ending in .html or .json"};
}

Result<void> WriteReport(const quantize::QuantizationReport& report, const format::Model& quantized,
                         const std::string& path) {
  std::string text = quantize::ToJson(report);
  if (path.ends_with(".html")) {
    QTX_ASSIGN_OR_RETURN(text, inspect::ToHtml(quantized, report.model, text));
  } else {
    text = MakeDocument("quantization_report", text);
  }
  return format::WriteFileAtomically(path, text);
}

}  // namespace qtx::cli

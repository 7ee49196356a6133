// The conformance suite against backends: validate, identify, shrink, fuzz.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "backends.h"
#include "binding.h"
#include "faulty/faulty.h"
#include "model_cache.h"
#include "provenance.h"
#include "python_backend.h"
#include "qtx/conformance/fuzz.h"
#include "qtx/conformance/identify.h"
#include "qtx/conformance/report.h"
#include "qtx/conformance/runner.h"
#include "qtx/conformance/shrink.h"
#include "qtx/conformance/suite.h"
#include "qtx/reference/interpreter.h"

namespace qtx::python {
namespace {

using conformance::BackendSource;
using conformance::Case;
using conformance::Report;

// A folder of cases, with what its cases load their models with.
struct Suite {
  explicit Suite(const std::string& folder)
      : loaded(Unwrap(conformance::LoadSuite(folder, models.Loader()))) {}
  cli::ModelCache models;
  conformance::Suite loaded;
};

// A backend of this program or of another process. One that ends its process is not for this one.
BackendSource SourceNamed(const std::string& name) {
  for (const auto& fault : backend::faulty::Faults()) {
    if (!fault.crashes || name != "faulty:" + std::string(fault.name)) continue;
    throw Failure({ErrorCode::kUnsupported, name,
                   "it ends its process; the program qtx runs it in one of its own"});
  }
  return Unwrap(cli::FindBackend(name));
}

nb::dict Row(const Case& c) {
  nb::dict row;
  row["id"] = Text(c.id);
  row["spec"] = Text(c.spec);
  row["why"] = Text(c.why);
  row["level"] = Text(c.level);
  row["where"] = Text(c.where);
  row["arithmetics"] = Texts(c.arithmetics);
  row["tags"] = Texts(c.tags);
  return row;
}

std::vector<Case> Select(const Suite& suite, const std::vector<std::string>& filters,
                         const std::string& level) {
  return conformance::Select(suite.loaded.cases, {.filters = filters, .level = level, .shard = {}});
}

Failure NoCase(const Suite& suite) {
  return Failure({ErrorCode::kUsage, "filter", "matches no case of " + suite.loaded.folder});
}

struct Settings {
  std::vector<std::string> filters;
  std::string level;
  std::vector<std::string> arithmetics;
  int jobs = 1;
  std::string expected_failures;  // the text of a list
  std::string expected_from;      // names it in errors
  bool diagnose = true;
};

Report RunOn(const Suite& suite, std::vector<BackendSource> sources, const Settings& settings,
             const std::function<void(const conformance::CaseResult&)>& progress) {
  const auto expected = Unwrap(
      conformance::ParseExpectedFailures(settings.expected_failures, settings.expected_from));
  for (BackendSource& source : sources) source.expected_failures = expected;
  const std::vector<Case> cases = Select(suite, settings.filters, settings.level);
  if (cases.empty()) throw NoCase(suite);
  conformance::RunOptions options;
  options.arithmetics = settings.arithmetics;
  options.jobs = settings.jobs;
  options.progress = progress;
  options.text_answers = &suite.loaded.text_answers;
  if (!settings.diagnose) options.diagnosis = {.time = std::chrono::seconds(0), .max_runs = 0};
  Report report = conformance::RunSuite(suite.loaded.folder, cases, sources, options);
  report.provenance = cli::ThisProvenance();
  report.suite_digest = suite.loaded.digest;
  report.stale_expectations = conformance::StaleExpectations(expected, suite.loaded.cases);
  return report;
}

Report Validate(const Suite& suite, const std::vector<BackendSource>& sources,
                const Settings& settings, const nb::object& progress) {
  return WithoutGil([&] {
    std::function<void(const conformance::CaseResult&)> report_progress;
    if (!progress.is_none()) {
      report_progress = [&progress](const conformance::CaseResult& result) {
        const nb::gil_scoped_acquire acquired;
        try {
          progress(Text(result.id), Text(result.arithmetic),
                   Text(conformance::Name(result.outcome)));
        } catch (const nb::python_error&) {
          return;  // it keeps what it raises itself; no exception may leave a worker thread
        }
      };
    }
    return RunOn(suite, sources, settings, report_progress);
  });
}

nb::dict Row(const conformance::WrongPlace& place) {
  nb::dict row;
  row["op"] = Text(place.op);
  row["form"] = Text(place.form);
  row["says"] = Text(place.says);
  return row;
}

nb::dict Identify(const Suite& suite, const BackendSource& source,
                  const std::vector<std::string>& filters) {
  const auto found = WithoutGil([&] {
    const std::vector<Case> cases = Select(suite, filters, "");
    if (cases.empty()) throw NoCase(suite);
    return Unwrap(conformance::Identify(cases, source));
  });
  nb::list operators;
  for (const conformance::Identity& one : found.operators) {
    nb::dict row;
    row["op"] = Text(one.op);
    row["arithmetics"] = Texts(one.arithmetics);
    row["nearest"] = Text(one.nearest);
    row["exceptions"] = Texts(one.exceptions);
    row["fault"] = Text(one.fault);
    row["place"] = one.place ? nb::object(Row(*one.place)) : nb::object(nb::none());
    row["cases"] = one.cases;
    row["agreeing"] = one.agreeing;
    row["declined"] = one.declined;
    operators.append(row);
  }
  nb::dict result;
  result["backend"] = Text(found.description.name);
  result["claims"] = Texts(found.description.arithmetics);
  result["operators"] = operators;
  return result;
}

nb::list TensorRows(const std::vector<conformance::Evidence::Value>& values) {
  nb::list rows;
  for (const auto& value : values) rows.append(nb::make_tuple(Text(value.name), value.tensor));
  return rows;
}

nb::dict Row(const conformance::Shrunk& shrunk) {
  nb::dict row;
  row["model"] = shrunk.model;
  row["arithmetic"] = Text(shrunk.arithmetic);
  row["how"] = Text(shrunk.how);
  row["op"] = Text(shrunk.op);
  row["form"] = Text(shrunk.place.form);
  row["place"] = Text(shrunk.place.says);
  row["candidate"] = Text(shrunk.candidate);
  row["cause"] = Text(shrunk.cause);
  row["detail"] = Text(shrunk.detail);
  row["nodes"] = shrunk.nodes;
  row["elements"] = shrunk.elements;
  row["runs"] = shrunk.runs;
  row["inputs"] = TensorRows(shrunk.evidence.inputs);
  row["expected"] = TensorRows(shrunk.evidence.expected);
  row["got"] = TensorRows(shrunk.evidence.got);
  return row;
}

conformance::Shrunk ShrinkFailure(const BackendSource& source, const conformance::Failure& failure,
                                  const std::string& arithmetic, std::int64_t max_runs,
                                  const std::string& folder) {
  if (!folder.empty()) Unwrap(conformance::CheckReplaceable(folder));
  auto shrunk = Unwrap(
      conformance::Shrink(source, failure, {.arithmetic = arithmetic, .max_runs = max_runs}));
  if (!folder.empty()) Unwrap(conformance::WriteReproducer(shrunk, source.name, folder));
  return shrunk;
}

nb::dict ShrinkCase(const Suite& suite, const BackendSource& source, const std::string& id,
                    const std::string& arithmetic, std::int64_t max_runs,
                    const std::string& folder) {
  return Row(WithoutGil([&] {
    const auto found = std::ranges::find(suite.loaded.cases, id, &Case::id);
    if (found == suite.loaded.cases.end()) {
      throw Failure({ErrorCode::kUsage, "case '" + id + "'", "no case of " + suite.loaded.folder});
    }
    return ShrinkFailure(source, Unwrap(conformance::ToFailure(*found)), arithmetic, max_runs,
                         folder);
  }));
}

// Inputs of the types that the model declares: stored values get its parameters, reals are
// quantized by them.
std::vector<format::Tensor> Typed(const format::Model& model, std::vector<format::Tensor> inputs,
                                  const std::string& arithmetic) {
  std::size_t next = 0;
  for (const format::ValueInfo& declared : model.graph.inputs) {
    if (model.graph.FindInitializer(declared.name) != nullptr || next == inputs.size()) continue;
    format::Tensor& input = inputs[next++];
    if (!declared.type || !declared.type->quantization || input.quantization) continue;
    format::TensorType type = *declared.type;
    type.quantization = Unwrap(format::Resolve(model, *type.quantization));
    if (input.elem_type == format::ElementType::kFloat) {
      input =
          Unwrap(reference::QuantizeInput(input, type, arithmetic.empty() ? "exact" : arithmetic));
    } else if (input.elem_type == format::StorageOf(type.elem_type)) {
      input.elem_type = type.elem_type;
      input.quantization = std::move(type.quantization);
    }
  }
  return inputs;
}

nb::dict ShrinkModel(const BackendSource& source, const format::Model& model,
                     const std::vector<format::Tensor>& inputs, const std::string& arithmetic,
                     std::int64_t max_runs, const std::string& folder) {
  return Row(WithoutGil([&] {
    conformance::Failure failure;
    failure.model = model;
    failure.inputs = Typed(model, inputs, arithmetic);
    failure.name = "model";
    failure.id = "shrunk/model";
    return ShrinkFailure(source, failure, arithmetic, max_runs, folder);
  }));
}

nb::dict Fuzz(const BackendSource& source, std::int64_t count, std::uint64_t seed,
              const std::string& operators, const std::string& arithmetic) {
  const conformance::FuzzReport report = WithoutGil([&] {
    conformance::FuzzOptions options;
    options.arithmetic = arithmetic;
    options.seed = seed;
    options.count = count;
    options.operators = operators;
    return Unwrap(conformance::Fuzz(source, options));
  });
  nb::list findings;
  for (const conformance::FuzzFinding& finding : report.findings) {
    nb::dict row;
    row["cause"] = Text(finding.cause);
    row["says"] = Text(finding.says);
    row["kind"] = Text(finding.kind);
    row["place"] = Text(finding.place);
    nb::dict by_operator;
    for (const auto& [op, failures] : finding.operators) by_operator[Text(op)] = failures;
    row["operators"] = by_operator;
    row["failures"] = finding.failures;
    row["number"] = finding.number;
    row["detail"] = Text(finding.detail);
    row["shrunk"] = finding.shrunk ? nb::object(Row(*finding.shrunk)) : nb::object(nb::none());
    findings.append(row);
  }
  nb::dict result;
  result["arithmetic"] = Text(report.arithmetic);
  result["models"] = report.counts.models;
  result["unsupported"] = report.counts.unsupported;
  result["failures"] = report.failures;
  result["findings"] = findings;
  return result;
}

void BindReports(nb::module_& module) {
  const auto text = [](auto write) {
    return [write](const Report& self) {
      return Text(WithoutGil([&] { return std::string(write(self)); }));
    };
  };
  nb::class_<Report>(module, "Report")
      .def_prop_ro("conforms", [](const Report& self) { return conformance::Conforms(self); })
      .def(
          "text",
          [](const Report& self, std::size_t listed) {
            return Text(WithoutGil([&] { return conformance::ToText(self, listed).text(); }));
          },
          nb::arg("listed"))
      .def("json", text(conformance::ToJson))
      .def("junit", text(conformance::ToJunit))
      .def("html", text(conformance::ToHtml));
}

}  // namespace

void BindConformance(nb::module_& module) {
  nb::class_<BackendSource>(module, "BackendSource")
      .def_static(
          "named",
          [](const std::string& name) { return WithoutGil([&] { return SourceNamed(name); }); })
      .def_static("adapted", PythonSource)
      .def_prop_ro("name", [](const BackendSource& self) { return Text(self.name); })
      .def("arithmetics", [](const BackendSource& self) {
        return Texts(
            WithoutGil([&] { return Unwrap(Unwrap(self.make())->Describe()).arithmetics; }));
      });
  nb::class_<Suite>(module, "Suite")
      .def(
          "__init__",
          [](Suite* self, const std::string& folder) {
            WithoutGil([&] { new (self) Suite(folder); });
          },
          nb::arg("folder"))
      .def(
          "cases",
          [](const Suite& self, const std::vector<std::string>& filters, const std::string& level) {
            nb::list rows;
            for (const Case& c : Select(self, filters, level)) rows.append(Row(c));
            return rows;
          },
          nb::arg("filters"), nb::arg("level"));
  nb::class_<Settings>(module, "Settings")
      .def(nb::init<>())
      .def_rw("filters", &Settings::filters)
      .def_rw("level", &Settings::level)
      .def_rw("arithmetics", &Settings::arithmetics)
      .def_rw("jobs", &Settings::jobs)
      .def_rw("expected_failures", &Settings::expected_failures)
      .def_rw("expected_from", &Settings::expected_from)
      .def_rw("diagnose", &Settings::diagnose);
  BindReports(module);
  module.def("available_backends", [] { return Texts(cli::AvailableBackends()); });
  module.def("serve", ServePython, nb::arg("adapter"), nb::arg("in_fd"), nb::arg("out_fd"));
  module.def("validate", Validate, nb::arg("suite"), nb::arg("sources"), nb::arg("settings"),
             nb::arg("progress").none());
  module.def("identify", Identify, nb::arg("suite"), nb::arg("source"), nb::arg("filters"));
  module.def("shrink_case", ShrinkCase, nb::arg("suite"), nb::arg("source"), nb::arg("id"),
             nb::arg("arithmetic"), nb::arg("max_runs"), nb::arg("folder"));
  module.def("shrink_model", ShrinkModel, nb::arg("source"), nb::arg("model"), nb::arg("inputs"),
             nb::arg("arithmetic"), nb::arg("max_runs"), nb::arg("folder"));
  module.def("fuzz", Fuzz, nb::arg("source"), nb::arg("count"), nb::arg("seed"),
             nb::arg("operators"), nb::arg("arithmetic"));
}

}  // namespace qtx::python

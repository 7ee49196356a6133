// Calibration and quantization.
#include "qtx/quantize/quantize.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "binding.h"
#include "float_executor.h"
#include "python_backend.h"
#include "qtx/calibrate/calibrate.h"
#include "qtx/graph/widen.h"

namespace qtx::python {
namespace {

using format::Model;

// Samples that an object of Python gives (class Samples of qtx/_quantize.py): `size`, and
// `read(i)`, a list of tensors or an Answer.
class PythonSamples : public calibrate::Samples {
 public:
  explicit PythonSamples(nb::object given)
      : size_(nb::cast<std::int64_t>(given.attr("size"))), given_(std::move(given)) {}

  std::int64_t size() const override { return size_; }
  std::string Name(std::int64_t index) const override {
    return "samples[" + std::to_string(index) + "]";
  }
  std::string Digest() const override { return "python:" + std::to_string(size_); }

  calibrate::Sample Read(std::int64_t index) const override {
    using calibrate::BadSample;
    const nb::gil_scoped_acquire acquired;
    try {
      const nb::object answer = (*given_).attr("read")(index);
      if (!nb::isinstance<Error>(answer)) return nb::cast<std::vector<format::Tensor>>(answer);
      return tl::unexpected(BadSample{calibrate::Reason::kMalformed, nb::cast<Error>(answer)});
    } catch (const nb::python_error& fault) {
      return tl::unexpected(
          BadSample{calibrate::Reason::kUnreadable, {ErrorCode::kInternal, "", fault.what()}});
    }
  }

 private:
  std::int64_t size_;
  Kept given_;
};

struct CalibrateSettings {
  std::optional<std::int64_t> axis;
  std::int64_t bins = calibrate::kDefaultBins;
  int threads = 1;
  bool skip_bad_samples = false;
};

calibrate::Calibration CalibrateOn(const Model& model, const calibrate::Samples& samples,
                                   const CalibrateSettings& settings) {
  calibrate::Options options;
  options.statistics = {.axis = settings.axis, .bins = settings.bins};
  options.threads = settings.threads;
  options.skip_bad_samples = settings.skip_bad_samples;
  const Model floats = Unwrap(graph::WidenHalves(model)).model;
  const auto execution = Unwrap(cli::FloatExecution::Prepare(floats, 1));
  options.executor = execution.name();
  return Unwrap(calibrate::Calibrate(floats, samples, execution.make(), options));
}

nb::tuple Calibrate(const Model& model, nb::object given, std::optional<std::int64_t> axis,
                    std::int64_t bins, int threads, bool skip_bad_samples) {
  const PythonSamples samples(std::move(given));
  calibrate::Calibration done = WithoutGil([&] {
    return CalibrateOn(model, samples, {axis, bins, threads, skip_bad_samples});
  });
  nb::list skipped;
  for (const calibrate::SkippedSample& sample : done.skipped) {
    skipped.append(nb::make_tuple(Text(sample.name), Text(sample.reason), Text(sample.message)));
  }
  nb::list left_out;
  for (const calibrate::LeftOut& value : done.left_out)
    left_out.append(nb::make_tuple(Text(value.value), Text(value.why)));
  return nb::make_tuple(std::move(done.model), skipped, left_out);
}

template <typename T>
T InSetting(const char* place, Result<T> result) {
  if (!result.has_value()) throw Failure(At(place, std::move(result).error()));
  return *std::move(result);
}

// As qtx.quantize has them.
struct QuantizeSettings {
  std::string activations, weights, range, weight_range;
  std::string rules;  // the text of the file; may be empty
  bool quantized_io = false, equalize = false, correct_bias = false;
  int threads = 1;
};

quantize::Options OptionsOf(const QuantizeSettings& settings) {
  quantize::Options options;
  quantize::Settings& all = options.settings;
  all.activations = InSetting("activations", quantize::ParseActivations(settings.activations));
  all.weights = InSetting("weights", quantize::ParseWeights(settings.weights));
  all.activation_range = InSetting("range", quantize::ParseRangeMethods(settings.range));
  all.weight_range = InSetting("weight_range", quantize::ParseRangeMethods(settings.weight_range));
  if (!settings.rules.empty())
    options.rules = Unwrap(quantize::ParseRules(settings.rules, "rules"));
  options.quantized_io = settings.quantized_io;
  options.equalize = settings.equalize;
  options.correct_bias = settings.correct_bias;
  return options;
}

nb::tuple Quantize(const Model& model, const QuantizeSettings& settings, nb::object given) {
  std::optional<PythonSamples> samples;
  if (!given.is_none()) samples.emplace(std::move(given));
  quantize::Quantized done = WithoutGil([&] {
    quantize::Options options = OptionsOf(settings);
    if (!samples) return Unwrap(quantize::Quantize(model, options));
    options.measure = [&](const Model& measured) -> Result<Model> {
      return CalibrateOn(measured, *samples, {.axis = 1, .threads = settings.threads}).model;
    };
    return Unwrap(quantize::Quantize(Unwrap(options.measure(model)), options));
  });
  const nb::list ledger = LedgerRows(done.ledger);
  return nb::make_tuple(std::move(done.model), ledger);
}

}  // namespace

void BindQuantize(nb::module_& module) {
  module.def("calibrate", Calibrate, nb::arg("model"), nb::arg("samples"), nb::arg("axis").none(),
             nb::arg("bins"), nb::arg("threads"), nb::arg("skip_bad_samples"));
  nb::class_<QuantizeSettings>(module, "QuantizeSettings")
      .def(nb::init<>())
      .def_rw("activations", &QuantizeSettings::activations)
      .def_rw("weights", &QuantizeSettings::weights)
      .def_rw("range", &QuantizeSettings::range)
      .def_rw("weight_range", &QuantizeSettings::weight_range)
      .def_rw("rules", &QuantizeSettings::rules)
      .def_rw("quantized_io", &QuantizeSettings::quantized_io)
      .def_rw("equalize", &QuantizeSettings::equalize)
      .def_rw("correct_bias", &QuantizeSettings::correct_bias)
      .def_rw("threads", &QuantizeSettings::threads);
  module.def("quantize", Quantize, nb::arg("model"), nb::arg("settings"),
             nb::arg("samples").none());
}

}  // namespace qtx::python

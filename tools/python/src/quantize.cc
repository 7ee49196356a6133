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
  const auto execution = Unwrap(cli::FloatExecution::Prepare(model, 1));
  options.executor = execution.name();
  return Unwrap(calibrate::Calibrate(model, samples, execution.make(), options));
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

nb::tuple Quantize(const Model& model, const std::string& activations, const std::string& weights,
                   const std::string& range, const std::string& weight_range,
                   const std::string& rules, bool quantized_io, bool equalize, bool correct_bias,
                   nb::object given, int threads) {
  std::optional<PythonSamples> samples;
  if (!given.is_none()) samples.emplace(std::move(given));
  quantize::Quantized done = WithoutGil([&] {
    quantize::Options options;
    options.settings.activations =
        InSetting("activations", quantize::ParseActivations(activations));
    options.settings.weights = InSetting("weights", quantize::ParseWeights(weights));
    options.settings.activation_range = InSetting("range", quantize::ParseRangeMethods(range));
    options.settings.weight_range =
        InSetting("weight_range", quantize::ParseRangeMethods(weight_range));
    if (!rules.empty()) options.rules = Unwrap(quantize::ParseRules(rules, "rules"));
    options.quantized_io = quantized_io;
    options.equalize = equalize;
    options.correct_bias = correct_bias;
    if (!samples) return Unwrap(quantize::Quantize(model, options));
    options.measure = [&](const Model& measured) -> Result<Model> {
      return CalibrateOn(measured, *samples, {.axis = 1, .threads = threads}).model;
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
  module.def("quantize", Quantize, nb::arg("model"), nb::arg("activations"), nb::arg("weights"),
             nb::arg("range"), nb::arg("weight_range"), nb::arg("rules"), nb::arg("quantized_io"),
             nb::arg("equalize"), nb::arg("correct_bias"), nb::arg("samples").none(),
             nb::arg("threads"));
}

}  // namespace qtx::python

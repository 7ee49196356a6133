#include "python_backend.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "qtx/backend/backend.h"
#include "qtx/backend/serve.h"

namespace qtx::python {
namespace {

using format::Tensor;
using Outputs = std::vector<Tensor>;

// Python's answer to a request. The adapter catches exceptions of what it adapts; one that it lets
// pass is its own fault.
template <typename Request>
auto Ask(Request request) -> decltype(request()) {
  const nb::gil_scoped_acquire acquired;
  try {
    return request();
  } catch (const nb::python_error& fault) {
    return Error{ErrorCode::kInternal, "qtx", fault.what()};
  } catch (const nb::cast_error&) {
    return Error{ErrorCode::kInternal, "qtx", "an answer of another type than expected"};
  }
}

class Prepared : public backend::PreparedModel {
 public:
  explicit Prepared(nb::object model) : model_(std::move(model)) {}

  Result<Outputs> Run(std::span<const Tensor> inputs) override {
    return Ask([&]() -> Result<Outputs> {
      const nb::object answer = (*model_).attr("run")(List(inputs));
      if (nb::isinstance<Error>(answer)) return nb::cast<Error>(answer);
      return nb::cast<Outputs>(answer);
    });
  }

  Result<std::vector<double>> Measure(std::span<const Tensor> inputs, int repetitions) override {
    return Ask([&]() -> Result<std::vector<double>> {
      const nb::object answer = (*model_).attr("measure")(List(inputs), repetitions);
      if (nb::isinstance<Error>(answer)) return nb::cast<Error>(answer);
      return nb::cast<std::vector<double>>(answer);
    });
  }

 private:
  static nb::list List(std::span<const Tensor> inputs) {
    nb::list list;
    for (const Tensor& input : inputs) list.append(input);
    return list;
  }

  Kept model_;
};

class PythonBackend : public backend::Backend {
 public:
  explicit PythonBackend(std::shared_ptr<Kept> adapter) : adapter_(std::move(adapter)) {}

  Result<backend::Description> Describe() override {
    return Ask([&]() -> Result<backend::Description> {
      const nb::object row = (**adapter_).attr("description")();
      return backend::Description{nb::cast<std::string>(row[0]), nb::cast<std::string>(row[1]),
                                  nb::cast<std::vector<std::string>>(row[2]),
                                  nb::cast<std::string>(row[3])};
    });
  }

  Result<std::unique_ptr<backend::PreparedModel>> Prepare(const format::Model& model,
                                                          std::string_view arithmetic) override {
    return Ask([&]() -> Result<std::unique_ptr<backend::PreparedModel>> {
      nb::object answer = (**adapter_).attr("prepare")(model, Text(arithmetic));
      if (nb::isinstance<Error>(answer)) return nb::cast<Error>(answer);
      return std::unique_ptr<backend::PreparedModel>(std::make_unique<Prepared>(std::move(answer)));
    });
  }

 private:
  std::shared_ptr<Kept> adapter_;
};

}  // namespace

conformance::BackendSource PythonSource(nb::object adapter) {
  conformance::BackendSource source;
  source.name = nb::cast<std::string>(adapter.attr("name"));
  auto kept = std::make_shared<Kept>(std::move(adapter));
  source.make = [kept]() -> Result<std::unique_ptr<backend::Backend>> {
    return std::unique_ptr<backend::Backend>(std::make_unique<PythonBackend>(kept));
  };
  return source;
}

int ServePython(nb::object adapter, int in_fd, int out_fd) {
  PythonBackend served(std::make_shared<Kept>(std::move(adapter)));
  return WithoutGil([&] { return backend::Serve(served, in_fd, out_fd); });
}

}  // namespace qtx::python

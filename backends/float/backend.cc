// Float execution as a backend: --backend float:threads=2,kernels=avx2.
#include "float/float_model.h"
#include "qtx/backend/options.h"

namespace qtx::backend {
namespace {

constexpr std::string_view kArithmetic = "float32";

class FloatBackend : public Backend {
 public:
  FloatBackend(int threads, std::string kernels)
      : threads_(threads), kernels_(std::move(kernels)) {}

  Result<Description> Describe() override {
    return Description{"float",
                       QTX_VERSION,
                       {std::string(kArithmetic)},
                       kernels_ + ", threads " + std::to_string(threads_)};
  }

  Result<std::unique_ptr<PreparedModel>> Prepare(const format::Model& model,
                                                 std::string_view arithmetic) override {
    if (!arithmetic.empty() && arithmetic != kArithmetic) {
      return Error{ErrorCode::kUnsupported, "arithmetic", "'" + std::string(arithmetic) + "'"};
    }
    QTX_ASSIGN_OR_RETURN(auto prepared, FloatModel::Prepare(model, threads_, {}, kernels_));
    return prepared;
  }

  bool RunsAtOnce() const override { return true; }

 private:
  int threads_;
  std::string kernels_;
};

}  // namespace

Result<std::unique_ptr<Backend>> Make_float(std::string_view options) {
  QTX_ASSIGN_OR_RETURN(const Options given, Options::Parse(options, {"threads", "kernels"}));
  QTX_ASSIGN_OR_RETURN(const int threads, given.Threads());
  std::string names;
  for (const std::string& name : FloatKernels()) {
    if (given.Text("kernels", name) == name) return std::make_unique<FloatBackend>(threads, name);
    names += (names.empty() ? "" : ", ") + name;
  }
  return Options::Refuse("kernels", given.Text("kernels"), names);
}

}  // namespace qtx::backend

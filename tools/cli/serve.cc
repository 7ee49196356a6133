// qtx serve: a backend of this program behind the protocol, on stdin and stdout.
#include "qtx/backend/serve.h"

#include "backends.h"
#include "commands.h"
#include "feature_option.h"

namespace qtx::cli {

int Serve(const ServeOptions& options) {
  const auto source = FindInProcess(options.backend, FeaturesOf(options.features, options.without));
  if (!source.has_value()) return Fail(source.error());
  if (!*source) {
    return Fail({ErrorCode::kUsage, "--backend " + options.backend, "expected a built-in name"});
  }
  const auto backend = (*source)->make();
  if (!backend.has_value()) return Fail(backend.error());
  return backend::Serve(**backend);
}

}  // namespace qtx::cli

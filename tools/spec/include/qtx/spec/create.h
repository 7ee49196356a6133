// Creates proposals, operators, cases and backends from the specification's templates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::spec {

struct Created {
  std::vector<std::string> files;  // files written
  std::vector<std::string> next;   // remaining manual steps, one line each
};

/// The functions below only create files. `folder` is the specification with its templates/.
/// Errors: kUsage for a malformed name; kIo, also for an existing file.

/// `slug` is words of a-z and 0-9, joined by -; `date` as 2026-01-31. The number is the next free
/// one: proposals/NNNN-slug/proposal.md and examples/slug.yaml.
Result<Created> NewProposal(std::string_view slug, const std::string& folder,
                            std::string_view date);

/// Likewise a proposal of text alone: also overlay/arithmetic/exact.md, a clause as the text has it
/// with a claim, and without a feature. `qtx review` runs it as it is written.
Result<Created> NewOverlay(std::string_view slug, const std::string& folder, std::string_view date);

/// Creates ops/stem.md and an empty folder for the cases in `suite`. `op_type` is ONNX's.
Result<Created> NewOperator(std::string_view op_type, const std::string& folder,
                            const std::string& suite);

/// Creates a case document in the folder of cases. `name` is STEM/what_it_shows with the STEM of a
/// chapter.
Result<Created> NewCase(std::string_view name, const std::string& folder, const std::string& suite);

/// Creates `backends`/`name`/backend.py, a backend in Python that passes as it is written, since
/// the reference computes for it. `name` is words of a-z and 0-9, joined by -.
Result<Created> NewBackend(std::string_view name, const std::string& folder,
                           const std::string& backends);

}  // namespace qtx::spec

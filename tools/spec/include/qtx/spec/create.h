// New proposals, operators and cases, from the templates of the specification.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::spec {

struct Created {
  std::vector<std::string> files;  // written
  std::vector<std::string> next;   // what remains to be written by hand, a line each
};

/// Each writes new files only. `folder` is the specification, whose templates/ are filled in.
/// Errors: kInvalid for a name of another form, or where a file of that name is there already; kIo.

/// `slug` is words of a-z and 0-9 with - between them; `date` as 2026-01-31. The number is the next
/// free one: proposals/NNNN-slug/proposal.md and examples/slug.yaml.
Result<Created> NewProposal(std::string_view slug, const std::string& folder,
                            std::string_view date);

/// `op_type` is ONNX's: ops/stem.md, and an empty folder for its cases in `suite`.
Result<Created> NewOperator(std::string_view op_type, const std::string& folder,
                            const std::string& suite);

/// `name` is STEM/what_it_shows, STEM that of a chapter: a document in the folder of its cases.
Result<Created> NewCase(std::string_view name, const std::string& folder, const std::string& suite);

}  // namespace qtx::spec

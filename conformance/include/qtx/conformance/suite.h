// A folder of cases, and how to choose among them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

struct Suite {
  std::string folder;
  std::vector<Case> cases;  // by path of the file, then in the file's order
};

inline constexpr std::int64_t kMaxCases = 1'000'000;  // of one suite

/// Every *.yaml below `folder`, recursively; symbolic links to folders are not followed. A folder
/// without any is taken for third-party data: ONNX's as LoadTestData, and, given a `load` that
/// converts, TFLite models with golden outputs. The cases load their models by `load`.
/// Errors: those of ParseCases; kIo; kInvalid when two cases have one id, or there is no case;
/// kTooLarge for more than kMaxCases, or a golden file of more than kMaxExpansion inputs.
Result<Suite> LoadSuite(const std::string& folder, const ModelLoader& load = {});

/// ONNX test data as they are: a case for each folder test_data_set_N that lies beside a
/// model.onnx, in `folder` or below. Ids are the paths of the model's folder, with "[set=N]" where
/// there are several sets. They hold in `float32`, integers bit for bit and floats by ONNX's own
/// tolerance; and in `exact`, where the exact result passes as well.
/// Errors: kIo; kInvalid for a set without input_0.pb, output_0.pb, ..., or when there is no case.
Result<Suite> LoadTestData(const std::string& folder);

/// One part of a suite that is run in `count` parts, 1 <= index <= count.
struct Shard {
  std::int64_t index = 1;
  std::int64_t count = 1;
};
/// "2/4".  Errors: kInvalid.
Result<Shard> ParseShard(std::string_view text);

struct Selection {
  std::vector<std::string> filters;  // globs on the id; none = all; a case needs one that matches
  std::string level;                 // empty = all
  Shard shard;                       // counted over what the filters leave
};
std::vector<Case> Select(std::span<const Case> cases, const Selection& selection);

/// `*` any characters, `?` one; everything else, brackets too, is itself. At most |pattern| *
/// |text| steps.
bool GlobMatches(std::string_view pattern, std::string_view text);

}  // namespace qtx::conformance

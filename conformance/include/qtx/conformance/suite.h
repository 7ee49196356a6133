// A suite: loading a folder of cases, and selecting among them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/text_answers.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

struct Suite {
  std::string folder;
  std::vector<Case> cases;            // by path of the file, then in the file's order
  std::string digest;                 // of the case files; of the ids alone for third-party data
  TextAnswers text_answers;           // of the folder's file; none for third-party data
  std::vector<std::string> left_out;  // third-party outputs that are no cases: "where: why"
};

inline constexpr std::int64_t kMaxCases = 1'000'000;  // of one suite

/// Every *.yaml below `folder`, recursively; symbolic links to folders are not followed. A folder
/// without any is read as third-party data: ONNX test data (LoadTestData), and TFLite models with
/// golden outputs if `load` is given. The cases load their models with `load`. With globs `filters`
/// documents whose cases have ids that match none of them may be left out: they are not parsed, so
/// that their faults go unseen, and the suite may be empty.
/// Errors: those of ParseCases and TextAnswers::Load; kUnreadable; kInvalid for a repeated id and
/// for a suite without cases; kTooLarge for more than kMaxCases, or a golden file of more than
/// kMaxExpansion inputs.
Result<Suite> LoadSuite(const std::string& folder, const ModelLoader& load = {},
                        std::span<const std::string> filters = {});

/// ONNX test data: one case for each folder test_data_set_N that lies beside a model.onnx, in
/// `folder` or below. Ids are the paths of the model's folder, with "[set=N]" where there are
/// several sets. They run in `float32`, integers bit for bit and floats with ONNX's own tolerance,
/// and in `exact`, where the exact result passes too.
/// Errors: kUnreadable; kInvalid for a set without input_0.pb, output_0.pb, ..., and when there is
/// none.
Result<Suite> LoadTestData(const std::string& folder);

/// Part `index` of `count`, 1 <= index <= count.
struct Shard {
  std::int64_t index = 1;
  std::int64_t count = 1;
};
/// "2/4", the value of `option`, which errors name.  Errors: kUsage.
Result<Shard> ParseShard(std::string_view option, std::string_view text);

struct Selection {
  std::vector<std::string> filters;  // globs on the id, one of which must match; none = all
  std::string level;                 // empty = all
  Shard shard;                       // applied after the filters
};
std::vector<Case> Select(std::span<const Case> cases, const Selection& selection);

/// `*` matches any characters, `?` one; all else, brackets too, is literal. At most |pattern| *
/// |text| steps.
bool GlobMatches(std::string_view pattern, std::string_view text);

}  // namespace qtx::conformance

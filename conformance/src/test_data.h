// Cases from ONNX test data: model.onnx and test_data_set_N/{input_i,output_i}.pb.
#pragma once

#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

/// One case for each data set of `like.test_data`, a folder below `like.folder` ("" is that folder
/// itself); everything else is as in `like`. With several sets ids end in "[set=N]".
/// Errors: kInvalid for a path that leaves the folder, no model.onnx, no data set, or a set without
/// files.
Result<std::vector<Case>> ExpandTestData(const Case& like);

/// The cases of every folder below `folder` that holds a model.onnx beside data sets.
/// Errors: those of FindFiles and ExpandTestData.
Result<std::vector<Case>> FindTestData(const std::string& folder);

}  // namespace qtx::conformance

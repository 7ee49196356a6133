// The chapters of the specification: its Markdown files, and the examples they hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/suite.h"
#include "qtx/format/result.h"
#include "qtx/spec/document.h"

namespace qtx::spec {

/// The Markdown files of a specification; without those of proposals, templates and the text for
/// ONNX, which state nothing of it.  Errors: as conformance::FindFiles.
Result<std::vector<std::string>> FindChapters(const std::string& folder);

/// All of these, read.  Errors: as FindChapters and ReadDocument.
Result<std::vector<Document>> ReadChapters(const std::string& folder);

/// What of `path` lies below `folder`, which it begins with.
std::string PathBelow(std::string_view folder, std::string_view path);

/// The cases of a chapter's ```yaml blocks, with the lines of the Markdown.
/// Errors: as conformance::ParseCases.
Result<std::vector<conformance::Case>> ExamplesOf(const Document& chapter);

/// Those of all chapters, as a suite.
/// Errors: as ReadChapters and ExamplesOf; kInvalid when two have one id, or there is none.
Result<conformance::Suite> LoadExamples(const std::string& folder);

}  // namespace qtx::spec

// Chapters: the Markdown files of the specification, and the examples in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qtx/conformance/suite.h"
#include "qtx/format/result.h"
#include "qtx/spec/document.h"

namespace qtx::spec {

/// The Markdown files of a specification, without proposals, overlays, templates and the text for
/// ONNX, which state no rules of this version.  Errors: as conformance::FindFiles.
Result<std::vector<std::string>> FindChapters(const std::string& folder);

/// Reads all chapters.  Errors: as FindChapters and ReadDocument.
Result<std::vector<Document>> ReadChapters(const std::string& folder);

/// `path` relative to `folder`, with which it begins.
std::string PathBelow(std::string_view folder, std::string_view path);

/// The cases in a chapter's ```yaml blocks; their lines are those of the Markdown file.
/// Errors: as conformance::ParseCases.
Result<std::vector<conformance::Case>> ExamplesOf(const Document& chapter);

/// The examples of all chapters as a suite.
/// Errors: as ReadChapters and ExamplesOf; kInvalid for a repeated id, and without examples.
Result<conformance::Suite> LoadExamples(const std::string& folder);

}  // namespace qtx::spec

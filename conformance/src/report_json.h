// The parts of the JSON report that the journal shares with it.
#pragma once

#include <rapidjson/document.h>

#include <string>
#include <string_view>

#include "qtx/conformance/report.h"
#include "qtx/format/json_reader.h"
#include "qtx/format/json_writer.h"
#include "qtx/format/result.h"

namespace qtx::conformance {

using format::JsonFields;
using format::JsonWriter;

void WriteProvenance(JsonWriter& writer, const Provenance& provenance);
void WriteCase(JsonWriter& writer, const CaseResult& result);
void WriteTensor(JsonWriter& writer, std::string_view name, const format::Tensor& tensor);

/// Of a report, and of a line of a journal.
inline constexpr format::JsonBounds kReportBounds = {.depth = 16, .values = std::int64_t{1} << 24};

/// The inverse of WriteProvenance. Each value has the form that the schema in
/// tools/cli/schema/common.schema.json states.  Errors: as ReadCase.
Result<Provenance> ReadProvenance(const rapidjson::Value& json, const std::string& where);
/// The inverse of WriteCase.  Errors: kInvalid at "where: key".
Result<CaseResult> ReadCase(const rapidjson::Value& json, const std::string& where);
/// The inverse of WriteTensor. The result is consistent in sizes, types and parameters.  Errors: as
/// ReadCase.
Result<Evidence::Value> ReadTensor(const rapidjson::Value& json, const std::string& where);

}  // namespace qtx::conformance

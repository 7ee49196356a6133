#include "version.h"

#include "backends.h"
#include "build_facts.h"
#include "json.h"
#include "qtx/conformance/sandbox.h"
#include "qtx/format/feature.h"
#include "qtx/format/model.h"

namespace qtx::cli {
namespace {

void WriteFormat(Json& json) {
  json.Key("format");
  json.BeginObject();
  json.Field("domain", format::kDomain);
  json.Field("version", format::Features::Current().LatestVersion());
  json.Objects("features", format::AllFeatures(), [&json](const format::FeatureRow& row) {
    json.Field("name", row.name);
    json.Field("proposal", row.proposal);
    json.Field("promoted", row.promoted);
    json.Field("version", row.version);
  });
  json.EndObject();
}

void WriteBuild(Json& json) {
  json.Key("build");
  json.BeginObject();
  json.Field("compile", kCompileFlags);
  json.Field("link", kLinkFlags);
  json.Objects("packages", BuildPackages(), [&json](const BuildPackage& package) {
    json.Field("name", package.name);
    json.Field("version", package.version);
  });
  json.EndObject();
}

}  // namespace

std::string VersionJson() {
  Json json("version");
  json.BeginObject();
  WriteFormat(json);
  json.Field("backends", AvailableBackends());
  json.Key("sandbox");
  json.BeginObject();
  json.Field("landlock", conformance::LandlockVersion());
  json.EndObject();
  WriteBuild(json);
  json.EndObject();
  return json.Text();
}

}  // namespace qtx::cli

#include "site/search.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string_view>

#include "qtx/format/json.h"
#include "qtx/spec/site.h"
#include "site/html.h"

namespace qtx::spec {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

}  // namespace

// Arrays without keys: there are thousands of entries.
std::string SearchScript(const std::vector<SearchedPage>& pages,
                         const std::vector<SearchEntry>& entries) {
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.StartObject();
  writer.Key("pages");
  writer.StartArray();
  for (const SearchedPage& page : pages) {
    writer.StartArray();
    format::WriteText(writer, page.page);
    format::WriteText(writer, page.title);
    writer.EndArray();
  }
  writer.EndArray();
  writer.Key("entries");
  writer.StartArray();
  for (const SearchEntry& entry : entries) {
    writer.StartArray();
    writer.Uint64(entry.page);
    format::WriteText(writer, entry.text.anchor);
    format::WriteText(writer, entry.text.title);
    writer.Uint(entry.text.is_clause ? 1 : 0);
    format::WriteText(writer, Cut(entry.text.text, kMaxFindableBytes));
    writer.EndArray();
  }
  writer.EndArray();
  writer.EndObject();
  return "searchIndex(" + std::string(buffer.GetString(), buffer.GetSize()) + ");\n";
}

}  // namespace qtx::spec

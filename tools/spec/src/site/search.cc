#include "site/search.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string_view>

#include "qtx/spec/site.h"
#include "site/html.h"

namespace qtx::spec {
namespace {

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void Text(std::string_view text, Writer& writer) {
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

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
    Text(page.page, writer);
    Text(page.title, writer);
    writer.EndArray();
  }
  writer.EndArray();
  writer.Key("entries");
  writer.StartArray();
  for (const SearchEntry& entry : entries) {
    writer.StartArray();
    writer.Uint64(entry.page);
    Text(entry.text.anchor, writer);
    Text(entry.text.title, writer);
    writer.Uint(entry.text.is_clause ? 1 : 0);
    Text(Cut(entry.text.text, kMaxFindableBytes), writer);
    writer.EndArray();
  }
  writer.EndArray();
  writer.EndObject();
  return "searchIndex(" + std::string(buffer.GetString(), buffer.GetSize()) + ");\n";
}

}  // namespace qtx::spec

#include "site/search.h"

#include <string_view>

#include "qtx/format/json_writer.h"
#include "qtx/spec/site.h"
#include "site/html.h"

namespace qtx::spec {
// Arrays without keys: there are thousands of entries.
std::string SearchScript(const std::vector<SearchedPage>& pages,
                         const std::vector<SearchEntry>& entries) {
  format::JsonWriter writer(format::JsonWriter::Layout::kLine);
  writer.BeginObject();
  writer.Key("pages");
  writer.BeginArray();
  for (const SearchedPage& page : pages) {
    writer.BeginArray();
    writer.Value(page.page);
    writer.Value(page.title);
    writer.EndArray();
  }
  writer.EndArray();
  writer.Key("entries");
  writer.BeginArray();
  for (const SearchEntry& entry : entries) {
    writer.BeginArray();
    writer.Value(entry.page);
    writer.Value(entry.text.anchor);
    writer.Value(entry.text.title);
    writer.Value(entry.text.is_clause ? 1 : 0);
    writer.Value(Cut(entry.text.text, kMaxFindableBytes));
    writer.Value(entry.text.section);
    if (!entry.text.others.empty()) writer.Value(entry.text.others);
    writer.EndArray();
  }
  writer.EndArray();
  writer.EndObject();
  return "searchIndex(" + writer.Text() + ");\n";
}

}  // namespace qtx::spec

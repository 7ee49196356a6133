# cmake -DOUTPUT=... -DFOLDER=... -P embed_chapters.cmake: writes the C++ source OUTPUT, which defines
# qtx::formula::kChapters as the chapters of FOLDER.
file(GLOB paths RELATIVE ${FOLDER} ${FOLDER}/format/*.md ${FOLDER}/arithmetic/*.md ${FOLDER}/ops/*.md)
set(source "// Made by embed_chapters.cmake.\n#include \"chapters.h\"\n\nnamespace qtx::formula {\n\n")
string(APPEND source "static const EmbeddedChapter kAll[] = {\n")
foreach(path IN LISTS paths)
  file(READ "${FOLDER}/${path}" text)
  string(APPEND source "    {\"${path}\", R\"qtx_text(${text})qtx_text\"},\n")
endforeach()
string(APPEND source "};\nconst std::span<const EmbeddedChapter> kChapters = kAll;\n\n}  // namespace qtx::formula\n")
file(WRITE "${OUTPUT}" "${source}")

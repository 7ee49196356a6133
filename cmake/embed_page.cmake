# cmake -DFOLDER=… -DSCRIPTS=FILE,… [-DLIBRARY=…] -DOUTPUT=… -DHEADER=… -DVARIABLE=… -P embed_page.cmake: joins page.html,
# page.css and SCRIPTS of FOLDER, with page/base.css and page/base.js of this folder before them, into one page and writes
# it as the C++ source OUTPUT, which includes HEADER and defines the string_view VARIABLE. LIBRARY is a script that stays
# apart, as it need not be strict. The content security policy of the page names the style sheet and the scripts by their
# digests, so that nothing else on it can run.

# The base64 form of the SHA-256 of `text`. Source: the `hash-source` of CSP level 3; RFC 4648.
function(qtx_csp_digest text result)
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 hex "${text}")
  string(APPEND hex "00")  # 32 bytes are 42 sextets and 4 bits
  set(digest "")
  foreach(start RANGE 0 63 3)
    string(SUBSTRING "${hex}" ${start} 3 digits)
    math(EXPR high "0x${digits} >> 6")
    math(EXPR low "0x${digits} & 63")
    string(SUBSTRING "${alphabet}" ${high} 1 first)
    string(SUBSTRING "${alphabet}" ${low} 1 second)
    string(APPEND digest "${first}${second}")
  endforeach()
  string(SUBSTRING "${digest}" 0 43 digest)
  set(${result} "sha256-${digest}=" PARENT_SCOPE)
endfunction()

file(READ "${FOLDER}/page.html" page)
file(READ "${CMAKE_CURRENT_LIST_DIR}/page/base.css" css)
file(READ "${FOLDER}/page.css" own)
string(APPEND css "${own}")
file(READ "${CMAKE_CURRENT_LIST_DIR}/page/base.js" js)
string(REPLACE "," ";" SCRIPTS "${SCRIPTS}")
foreach(script ${SCRIPTS})
  file(READ "${script}" own)
  string(APPEND js "${own}")
endforeach()
set(library "")
if(LIBRARY)
  file(READ "${LIBRARY}" library)
endif()
qtx_csp_digest("${css}" css_digest)
qtx_csp_digest("${js}" js_digest)
qtx_csp_digest("${library}" library_digest)
foreach(name css_digest js_digest library_digest css js library)
  string(REPLACE "@${name}@" "${${name}}" page "${page}")
endforeach()
file(WRITE "${OUTPUT}" "// Made from ${FOLDER} by embed_page.cmake.
#include \"${HEADER}\"

const std::string_view ${VARIABLE} = R\"qtx_page(${page})qtx_page\";
")

# cmake -DFOLDER=… -DOUTPUT=… -P embed_page.cmake: joins page.html, page.css and page.js of FOLDER into one
# page and writes it as the C++ source OUTPUT. The content security policy of the page names the
# style sheet and the script by their digests, so that nothing else on it can run.

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
file(READ "${FOLDER}/page.css" css)
file(READ "${FOLDER}/page.js" js)
qtx_csp_digest("${css}" css_digest)
qtx_csp_digest("${js}" js_digest)
foreach(name css_digest js_digest css js)
  string(REPLACE "@${name}@" "${${name}}" page "${page}")
endforeach()
file(WRITE "${OUTPUT}" "// Made from ${FOLDER} by embed_page.cmake.
#include \"report_page.h\"

const std::string_view qtx::conformance::kReportPage = R\"qtx_page(${page})qtx_page\";
")

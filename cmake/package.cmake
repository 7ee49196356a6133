# Packages for Debian and archives of the same files, by `cpack` in a build folder: qtx (programs, suite, text, schemas, completion,
# manual page) and libqtx-dev (libraries, headers, protos). tools/scripts/package builds what they are made of.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME qtx)
set(CPACK_PACKAGE_CONTACT "The QTX developers <developers@qtx.example>")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL qtx dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_QTX_PACKAGE_NAME qtx)
set(CPACK_DEBIAN_QTX_PACKAGE_SECTION science)
set(CPACK_DEBIAN_QTX_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libqtx-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "libprotobuf-dev, libexpected-dev, libgmp-dev, libmpfr-dev, libmpfi-dev, libyaml-cpp-dev, libfmt-dev, libflatbuffers-dev")
include(CPack)

# What `cmake --install` puts where, and what `cpack` makes of it: Debian packages of the server, the client and the
# bundled model, and one archive of all three. scripts/package does both; the images install the packages.
include(GNUInstallDirs)

install(TARGETS salient-server COMPONENT server)
# The server opens it at run time.
install(TARGETS salient_sentencepiece LIBRARY DESTINATION lib/salient COMPONENT server)
install(TARGETS salient COMPONENT client)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models/en-de DESTINATION ${CMAKE_INSTALL_DATADIR}/salient/models
        COMPONENT model)
foreach(part IN ITEMS server:salient-server client:salient)
  string(REPLACE ":" ";" part ${part})
  list(GET part 0 component)
  list(GET part 1 package)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright
          COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_VENDOR "The Salient authors")
set(CPACK_PACKAGE_CONTACT "The Salient authors <salient@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/package)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL server client model)
set(CPACK_ARCHIVE_FILE_NAME salient-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION text)

set(CPACK_DEBIAN_SERVER_PACKAGE_NAME salient-server)
set(CPACK_COMPONENT_SERVER_DESCRIPTION
    "Translates documents over gRPC and HTTP, at the sparsity and depth that each request asks for")
set(CPACK_DEBIAN_CLIENT_PACKAGE_NAME salient)
set(CPACK_COMPONENT_CLIENT_DESCRIPTION "Translates documents with a salient-server")
set(CPACK_DEBIAN_MODEL_PACKAGE_NAME salient-model-en-de)
set(CPACK_DEBIAN_MODEL_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_MODEL_PACKAGE_SHLIBDEPS OFF)
set(CPACK_COMPONENT_MODEL_DESCRIPTION "Salient's bundled model, English to German")
include(CPack)

# oneDNN by its library and headers: Debian's dnnl-config.cmake insists on OpenCL, which a CPU engine has no use for.
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
add_library(salient_dnnl INTERFACE)
target_link_libraries(salient_dnnl INTERFACE ${DNNL_LIBRARY})
target_include_directories(salient_dnnl INTERFACE ${DNNL_INCLUDE_DIR})

# The CUDA backend's sources: compiled by nvcc for devices (SALIENT_CUDA), and as plain C++ for the emulation that the
# tests run everywhere (tests/cuda). Kernels live beside their operation.
set(SALIENT_CUDA_KERNELS
    engine/attention/cuda/append.cu engine/attention/cuda/attend_rows.cu engine/attention/cuda/attend_tiles.cu
    engine/attention/cuda/project.cu engine/attention/cuda/select.cu engine/attention/cuda/tile_plan.cu
    engine/depth/cuda/exit.cu engine/depth/cuda/fill.cu
    engine/linear/cuda/linear_few.cu engine/linear/cuda/linear_f32.cu engine/linear/cuda/linear_many.cu
    engine/linear/cuda/packed.cu engine/norm/cuda/norm.cu
    engine/recurrence/cuda/ssru.cu engine/search/cuda/advance.cu engine/search/cuda/align.cu
    engine/search/cuda/beam.cu engine/search/cuda/candidates.cu)
set(SALIENT_CUDA_HOST
    engine/backend/cuda/cuda_backend.cc engine/core/cuda/cuda_memory.cc engine/core/cuda/device.cc
    engine/backend/cuda/open.cc engine/linear/cuda/gemm_choice.cc)
set(SALIENT_CUDA_ONLY engine/core/cuda/device_nvcc.cu)  # the emulation has its own
list(TRANSFORM SALIENT_CUDA_KERNELS PREPEND ${PROJECT_SOURCE_DIR}/)
list(TRANSFORM SALIENT_CUDA_HOST PREPEND ${PROJECT_SOURCE_DIR}/)
list(TRANSFORM SALIENT_CUDA_ONLY PREPEND ${PROJECT_SOURCE_DIR}/)

# Machine code for Ampere, Ada and Hopper by default, and PTX of compute_90 for what comes after them: four compilations
# of each file. For a machine with an H100 or H200, "90a" without PTX is one.
set(SALIENT_CUDA_ARCHITECTURES "80;89;90a" CACHE STRING "Compute capabilities to compile CUDA kernels for")
option(SALIENT_CUDA_PTX "Add PTX, from which the driver compiles for later GPUs" ON)
# A toolkit may come without cuBLASLt; the one of PyPI (nvidia-cublas) will do, too.
set(SALIENT_CUBLASLT_ROOT "" CACHE PATH
    "A folder with include/cublasLt.h and lib/libcublasLt.so*, if not the toolkit's")

# salient_find_cublaslt(target): sets `target` to what is to be linked, or to nothing where there is no cuBLASLt.
function(salient_find_cublaslt target)
  set(${target} "" PARENT_SCOPE)
  if(SALIENT_CUBLASLT_ROOT)
    file(GLOB libraries ${SALIENT_CUBLASLT_ROOT}/lib/libcublasLt.so*)
    if(libraries AND EXISTS ${SALIENT_CUBLASLT_ROOT}/include/cublasLt.h)
      list(GET libraries 0 library)
      add_library(salient_cublaslt SHARED IMPORTED)
      set_target_properties(salient_cublaslt PROPERTIES IMPORTED_LOCATION ${library}
                            INTERFACE_INCLUDE_DIRECTORIES ${SALIENT_CUBLASLT_ROOT}/include)
      set(${target} salient_cublaslt PARENT_SCOPE)
      return()
    endif()
    message(WARNING "no cuBLASLt in ${SALIENT_CUBLASLT_ROOT}")
  endif()
  find_path(SALIENT_CUBLASLT_HEADER cublasLt.h PATHS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
  if(TARGET CUDA::cublasLt AND SALIENT_CUBLASLT_HEADER)
    set(${target} CUDA::cublasLt PARENT_SCOPE)
  endif()
endfunction()

# salient_cuda_library(): the CUDA backend for devices, as salient_cuda. SALIENT_CUDA_REPORT prints registers, shared
# memory and spills of every kernel.
function(salient_cuda_library)
  salient_find_cublaslt(cublaslt)
  if(cublaslt)
    set(gemm ${PROJECT_SOURCE_DIR}/engine/linear/cuda/gemm_cublaslt.cc)
  else()
    message(WARNING "No cuBLASLt (-DSALIENT_CUBLASLT_ROOT=FOLDER): own kernels compute the encoder's layers, "
                    "which is slower")
    set(gemm ${PROJECT_SOURCE_DIR}/engine/linear/cuda/no_gemm.cc)
  endif()
  foreach(architecture IN LISTS SALIENT_CUDA_ARCHITECTURES)
    list(APPEND machines -gencode=arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  add_library(salient_cuda STATIC ${SALIENT_CUDA_KERNELS} ${SALIENT_CUDA_HOST} ${SALIENT_CUDA_ONLY} ${gemm})
  target_include_directories(salient_cuda PUBLIC ${PROJECT_SOURCE_DIR})
  set_source_files_properties(${SALIENT_CUDA_KERNELS} ${SALIENT_CUDA_HOST} ${SALIENT_CUDA_ONLY} ${gemm}
                              PROPERTIES LANGUAGE CUDA)
  set_target_properties(salient_cuda PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_ARCHITECTURES OFF)
  target_compile_options(salient_cuda PRIVATE
    --expt-relaxed-constexpr $<$<BOOL:${SALIENT_WERROR}>:-Werror=all-warnings>
    -diag-suppress=2810  # nvcc takes the assignment of an absl::Status for one that is ignored
    ${machines} $<$<BOOL:${SALIENT_CUDA_PTX}>:-gencode=arch=compute_90,code=compute_90>
    "-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers"
    $<$<BOOL:${SALIENT_CUDA_REPORT}>:-Xptxas=-v>)
  target_link_libraries(salient_cuda PUBLIC CUDA::cudart_static ${cublaslt} absl::status absl::statusor absl::strings)
endfunction()

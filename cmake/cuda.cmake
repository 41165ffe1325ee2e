# The CUDA backend's sources: compiled by nvcc for devices (SALIENT_CUDA), and as plain C++ for the emulation that the tests
# run everywhere (tests/cuda). Kernels live beside their operation.
set(SALIENT_CUDA_KERNELS
    engine/attention/cuda/append.cu engine/attention/cuda/attend_rows.cu engine/attention/cuda/attend_tiles.cu
    engine/attention/cuda/select.cu engine/attention/cuda/select_attend.cu engine/attention/cuda/tile_plan.cu
    engine/depth/cuda/exit.cu engine/depth/cuda/fill.cu engine/linear/cuda/linear_few.cu engine/linear/cuda/linear_f32.cu
    engine/linear/cuda/linear_many.cu engine/linear/cuda/packed.cu engine/norm/cuda/norm.cu
    engine/recurrence/cuda/ssru.cu engine/search/cuda/advance.cu engine/search/cuda/align.cu
    engine/search/cuda/beam.cu engine/search/cuda/candidates.cu)
set(SALIENT_CUDA_HOST
    engine/backend/cuda/cuda_backend.cc engine/core/cuda/cuda_memory.cc engine/core/cuda/device.cc
    engine/backend/cuda/open.cc engine/linear/cuda/gemm_choice.cc)
set(SALIENT_CUDA_ONLY engine/core/cuda/device_nvcc.cu engine/linear/cuda/gemm_cublaslt.cc)  # the emulation has its own
list(TRANSFORM SALIENT_CUDA_KERNELS PREPEND ${PROJECT_SOURCE_DIR}/)
list(TRANSFORM SALIENT_CUDA_HOST PREPEND ${PROJECT_SOURCE_DIR}/)
list(TRANSFORM SALIENT_CUDA_ONLY PREPEND ${PROJECT_SOURCE_DIR}/)

# salient_cuda_library(): the CUDA backend for devices, as salient_cuda: machine code for Ampere, Ada and Hopper, and PTX for
# what comes after. SALIENT_CUDA_REPORT prints registers, shared memory and spills of every kernel.
function(salient_cuda_library)
  add_library(salient_cuda STATIC ${SALIENT_CUDA_KERNELS} ${SALIENT_CUDA_HOST} ${SALIENT_CUDA_ONLY})
  target_include_directories(salient_cuda PUBLIC ${PROJECT_SOURCE_DIR})
  set_source_files_properties(${SALIENT_CUDA_KERNELS} ${SALIENT_CUDA_HOST} ${SALIENT_CUDA_ONLY} PROPERTIES LANGUAGE CUDA)
  set_target_properties(salient_cuda PROPERTIES CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_ARCHITECTURES OFF)
  target_compile_options(salient_cuda PRIVATE
    --expt-relaxed-constexpr -Werror=all-warnings
    -diag-suppress=2810  # nvcc takes the assignment of an absl::Status for one that is ignored
    -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_89,code=sm_89 -gencode=arch=compute_90a,code=sm_90a
    -gencode=arch=compute_90,code=compute_90
    "-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers"
    $<$<BOOL:${SALIENT_CUDA_REPORT}>:-Xptxas=-v>)
  target_link_libraries(salient_cuda PUBLIC CUDA::cudart_static CUDA::cublasLt absl::status absl::statusor absl::strings)
endfunction()

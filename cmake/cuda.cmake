# The CUDA backend's sources: compiled by nvcc for devices (SALIENT_CUDA), and as plain C++ for the emulation that the tests
# run everywhere (tests/cuda). Kernels live beside their operation.
set(SALIENT_CUDA_KERNELS
    engine/attention/cuda/append.cu engine/attention/cuda/attend_rows.cu engine/attention/cuda/attend_tiles.cu
    engine/attention/cuda/select.cu engine/attention/cuda/tile_plan.cu engine/depth/cuda/exit.cu
    engine/depth/cuda/fill.cu engine/linear/cuda/linear_bf16.cu engine/linear/cuda/linear_f32.cu
    engine/linear/cuda/packed.cu engine/norm/cuda/norm.cu engine/search/cuda/candidates.cu)
set(SALIENT_CUDA_HOST
    engine/backend/cuda/cuda_backend.cc engine/backend/cuda/cuda_memory.cc engine/backend/cuda/device.cc
    engine/backend/cuda/open.cc)
list(TRANSFORM SALIENT_CUDA_KERNELS PREPEND ${PROJECT_SOURCE_DIR}/)
list(TRANSFORM SALIENT_CUDA_HOST PREPEND ${PROJECT_SOURCE_DIR}/)

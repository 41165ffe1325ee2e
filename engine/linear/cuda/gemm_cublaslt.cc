// The library of products on a GPU: cuBLASLt.
//
// cuBLASLt counts columns first. y = x W^T in rows is y^T = W x^T in columns: A is W, transposed, B is x, and the bias
// runs along the columns of D.

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/linear/cuda/gemm.h"

namespace salient::cuda {
namespace {

constexpr int kAsked = 16;  // algorithms
constexpr int32_t kTriedRows[] = {1, 2, 17, 64, 200, 513, 1000, 4096};

struct Destroy {
  void operator()(cublasLtMatmulDesc_t description) const { cublasLtMatmulDescDestroy(description); }
  void operator()(cublasLtMatrixLayout_t layout) const { cublasLtMatrixLayoutDestroy(layout); }
  void operator()(cublasLtMatmulPreference_t preference) const { cublasLtMatmulPreferenceDestroy(preference); }
  void operator()(cublasLtHandle_t handle) const { cublasLtDestroy(handle); }
};
template <typename T>
using Owned = std::unique_ptr<std::remove_pointer_t<T>, Destroy>;

Owned<cublasLtMatrixLayout_t> Layout(cudaDataType type, int32_t rows, int32_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  cublasLtMatrixLayoutCreate(&layout, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), rows);
  return Owned<cublasLtMatrixLayout_t>(layout);
}

// The operation and its matrices; null members where cuBLASLt has no memory for them, which its calls then refuse.
struct Product {
  Product(const GemmShape& shape, int32_t rows, const float* bias)
      : a(Layout(CUDA_R_16BF, shape.inputs, shape.outputs)),
        b(Layout(CUDA_R_16BF, shape.inputs, rows)),
        d(Layout(CUDA_R_32F, shape.outputs, rows)) {
    cublasLtMatmulDesc_t made = nullptr;
    cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    description.reset(made);
    const cublasOperation_t transposed = CUBLAS_OP_T, plain = CUBLAS_OP_N;
    const cublasLtEpilogue_t epilogue = shape.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    const cudaDataType bias_type = CUDA_R_32F;
    Set(CUBLASLT_MATMUL_DESC_TRANSA, transposed);
    Set(CUBLASLT_MATMUL_DESC_TRANSB, plain);
    Set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    Set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias_type);
    Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  }

  void Fill(int32_t multiprocessors) { Set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, multiprocessors); }

  Owned<cublasLtMatmulDesc_t> description;
  Owned<cublasLtMatrixLayout_t> a, b, d;

 private:
  template <typename T>
  void Set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof(value));
  }
};

class LtAlgorithm final : public GemmAlgorithm {
 public:
  LtAlgorithm(cublasLtHandle_t handle, const GemmShape& shape, const cublasLtMatmulAlgo_t& algorithm)
      : handle_(handle), shape_(shape), algorithm_(algorithm) {}

  // Divides no sum among blocks, works in kGemmWorkspaceBytes, and takes every number of rows.
  bool Suits() const {
    if (Config<int32_t>(CUBLASLT_ALGO_CONFIG_SPLITK_NUM) > 1) return false;
    if (Config<uint32_t>(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) != CUBLASLT_REDUCTION_SCHEME_NONE) return false;
    for (const int32_t rows : kTriedRows) {
      const Product product(shape_, rows, nullptr);
      cublasLtMatmulHeuristicResult_t result = {};
      if (cublasLtMatmulAlgoCheck(handle_, product.description.get(), product.a.get(), product.b.get(), product.d.get(),
                                  product.d.get(), &algorithm_, &result) != CUBLAS_STATUS_SUCCESS ||
          result.workspaceSize > kGemmWorkspaceBytes) {
        return false;
      }
    }
    return true;
  }

  absl::Status Run(Device& device, const GemmCall& call) override {
    if (!device.ok()) return device.status();
    Product product(shape_, call.rows, call.bias);
    if (call.multiprocessors > 0) product.Fill(call.multiprocessors);
    const float one = 1.0f, kept = call.accumulate ? 1.0f : 0.0f;
    const cublasStatus_t status =
        cublasLtMatmul(handle_, product.description.get(), &one, call.weight, product.a.get(), call.x, product.b.get(),
                       &kept, call.y, product.d.get(), call.y, product.d.get(), &algorithm_, call.workspace,
                       kGemmWorkspaceBytes, static_cast<cudaStream_t>(device.stream()));
    if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
    cudaGetLastError();  // a refused launch inside the library is no error of the next call
    return absl::UnavailableError(absl::StrCat("cublasLtMatmul says ", cublasLtGetStatusName(status)));
  }

  std::string Name() const override {
    return absl::StrCat("cuBLASLt algorithm ", Config<int32_t>(CUBLASLT_ALGO_CONFIG_ID), ", tile ",
                        Config<uint32_t>(CUBLASLT_ALGO_CONFIG_TILE_ID), ", stages ",
                        Config<uint32_t>(CUBLASLT_ALGO_CONFIG_STAGES_ID));
  }

 private:
  template <typename T>
  T Config(cublasLtMatmulAlgoConfigAttributes_t attribute) const {
    T value = {};
    size_t written = 0;
    cublasLtMatmulAlgoConfigGetAttribute(&algorithm_, attribute, &value, sizeof(value), &written);
    return value;
  }

  const cublasLtHandle_t handle_;
  const GemmShape shape_;
  const cublasLtMatmulAlgo_t algorithm_;
};

class LtLibrary final : public GemmLibrary {
 public:
  explicit LtLibrary(cublasLtHandle_t handle) : handle_(handle) {}

  std::vector<std::shared_ptr<GemmAlgorithm>> Algorithms(const GemmShape& shape, int32_t rows) override {
    cublasLtMatmulPreference_t made = nullptr;
    if (cublasLtMatmulPreferenceCreate(&made) != CUBLAS_STATUS_SUCCESS) return {};
    const Owned<cublasLtMatmulPreference_t> preference(made);
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      cublasLtMatmulPreferenceSetAttribute(made, attribute, &value, sizeof(value));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kGemmWorkspaceBytes});
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
    // 256 is what the library takes for granted where nothing is said.
    for (const auto matrix : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                              CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      set(matrix, uint32_t{kGemmAlignment});
    }
    const Product product(shape, rows, nullptr);
    std::array<cublasLtMatmulHeuristicResult_t, kAsked> results = {};
    int found = 0;
    if (cublasLtMatmulAlgoGetHeuristic(handle_.get(), product.description.get(), product.a.get(), product.b.get(),
                                       product.d.get(), product.d.get(), made, kAsked, results.data(),
                                       &found) != CUBLAS_STATUS_SUCCESS) {
      return {};
    }
    std::vector<std::shared_ptr<GemmAlgorithm>> algorithms;
    for (int i = 0; i < found; ++i) {
      if (results[i].state != CUBLAS_STATUS_SUCCESS) continue;
      auto algorithm = std::make_shared<LtAlgorithm>(handle_.get(), shape, results[i].algo);
      if (algorithm->Suits()) algorithms.push_back(std::move(algorithm));
    }
    return algorithms;
  }

 private:
  const Owned<cublasLtHandle_t> handle_;
};

}  // namespace

std::unique_ptr<GemmLibrary> OpenGemmLibrary() {
  cublasLtHandle_t handle = nullptr;
  if (cublasLtCreate(&handle) != CUBLAS_STATUS_SUCCESS) return nullptr;
  return std::make_unique<LtLibrary>(handle);
}

}  // namespace salient::cuda

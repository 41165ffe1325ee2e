// The backends of the host.

#include "tests/backend/backend_fixture.h"

namespace salient {

std::vector<BackendCase> BackendCases() {
  std::vector<BackendCase> cases = {{.name = "reference", .reference = true}};
  for (CpuIsa isa : {CpuIsa::kScalar, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx}) {
    if (isa > DetectCpuIsa()) break;
    for (const auto& [name, compute] : {std::pair{"f32", ComputeType::kF32}, std::pair{"bf16", ComputeType::kBF16},
                                        std::pair{"int8", ComputeType::kInt8}}) {
      cases.push_back({.name = std::string(name) + "_" + CpuIsaName(isa), .compute = compute, .isa = isa});
    }
  }
  return cases;
}

std::unique_ptr<Backend> MakeBackend(const BackendCase& backend) {
  if (backend.reference) return MakeReferenceBackend();
  return MakeCpuBackend({.threads = 3, .compute = backend.compute});
}

}  // namespace salient

// ParseOperatingPoints: any bytes. Every point that is taken suits the model and is found by its name.

#include "engine/model/config.h"
#include "engine/options/operating_points.h"
#include "engine/options/resolve.h"
#include "tests/fuzz/fuzz.h"
#include "tests/model/small_config.h"

namespace salient {

std::vector<std::string> Seeds() {
  return {
      R"({"points": [{"name": "best", "selection": {"policy": "dense"}, "depth": {"policy": "full"}, "search":
          {"beam": 4, "length_penalty": 0.8, "max_length_ratio": 2.5, "n_best": 2, "prefix": "x"}, "bleu": 30.5,
          "attention_cost_ratio": 1.0, "mean_exit": 4.0, "seconds_per_1000_tokens": 8.0}]})",
      R"({"points": [{"name": "a", "selection": {"policy": "mass", "value": 0.95, "cross_value": 0.8, "min_keys": 5},
          "depth": {"policy": "confidence", "thresholds": [0.8, 0.7, 0.6, 1], "min_exit": 2, "max_exit": 3}, "bleu": 1,
          "attention_cost_ratio": 0.1, "mean_exit": 2.5, "seconds_per_1000_tokens": 2.0},
          {"name": "b", "depth": {"policy": "fixed", "fixed_exit": 1}, "selection": {"policy": "window", "value": 20},
          "bleu": 0, "attention_cost_ratio": 0, "mean_exit": 1, "seconds_per_1000_tokens": 0.5}]})",
      R"({"points": []})",
      "",
  };
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using salient::Require;
  static const salient::ModelConfig config = salient::SmallConfig();
  const auto points = salient::ParseOperatingPoints({reinterpret_cast<const char*>(data), size}, config);
  if (!points.ok()) {
    Require(points.status().message().substr(0, 21) == "operating_points.json", "an error names the file");
    return 0;
  }
  for (const salient::OperatingPoint& point : *points) {
    Require(salient::Resolve(point.options, config).ok(), "a point suits the model");
    const auto found = salient::FindOperatingPoint(*points, point.name);
    Require(found.ok() && *found == &point, "a point is found by its name");
  }
  Require(salient::PointForLatency(*points, 1, 1000, [](double alone) { return alone; }).ok() == !points->empty(),
          "there is a point for every latency");
  return 0;
}

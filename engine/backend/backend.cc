#include "engine/backend/backend.h"

namespace salient {

void Backend::Project(const ProjectArgs& args) {
  const LayerNormArgs& norm = args.norm;
  if (args.normed != nullptr) {
    LayerNormArgs by_row = norm;
    by_row.output = args.normed;
    by_row.scatter = true;
    LayerNorm(by_row);
    GatherRows({norm.rows, args.normed, norm.width, norm.output});
  } else if (norm.weight != nullptr) {
    LayerNorm(norm);
  } else {
    GatherRows({norm.rows, norm.input, norm.width, norm.output});
  }
  for (const Projection& projection : args.projections) {
    Linear({.weight = projection.weight,
            .rows = projection.rows,
            .input = norm.output,
            .activation = projection.activation,
            .output = projection.output});
    if (projection.rotary_positions != nullptr) {
      Rotate({.rows = projection.rows,
              .values = projection.output,
              .stride = projection.weight->outputs(),
              .heads = projection.heads,
              .head_width = projection.head_width,
              .positions = projection.rotary_positions,
              .base = projection.base});
    }
    if (projection.key_value != nullptr) AppendKeyValue(*projection.key_value);
    if (projection.selection != nullptr) AppendSelection(*projection.selection);
  }
}

}  // namespace salient

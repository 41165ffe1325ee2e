// Layer norm and embedding: the small row-wise operations on states.

#pragma once

#include <cstdint>

#include "engine/core/rows.h"

namespace salient {

// out[i] = (x[rows[i]] - mean) / sqrt(variance + epsilon) * weight + bias
struct LayerNormArgs {
  Rows rows;
  const float* input = nullptr;  // [., width] by row number
  int32_t width = 0;
  const float* weight = nullptr;  // [sets, width]
  const float* bias = nullptr;    // [sets, width]
  const int32_t* set = nullptr;   // [.] by row number: which weights; null: the first. Exits have a norm each.
  float epsilon = 1e-5f;
  float* output = nullptr;  // [rows.capacity, width]
  bool scatter = false;     // result i goes to output row rows[i] instead of i
};

// out[r] = table[token[r]] * scale + sinusoid(offset[r] + first_position); row numbers as in `rows`. Component c < half
// of a sinusoid is sin(p * base^(-c / half)), and component c + half the cosine of the same.
struct EmbedArgs {
  Rows rows;
  const float* table = nullptr;      // [vocabulary, width]
  const int32_t* tokens = nullptr;   // [.] by row number
  const int32_t* offsets = nullptr;  // [.] by row number; null: no position is added
  int32_t width = 0;
  float scale = 1;
  int32_t first_position = 0;
  double base = 10000.0;
  float* output = nullptr;  // [., width] by row number
};

// Rotary positions, halves paired, in place: for c < half of a head's width,
//   (x_c, x_{c+half}) <- (x_c cos a - x_{c+half} sin a, x_{c+half} cos a + x_c sin a),  a = position * base^(-c / half)
// Used on queries and keys (heads of the attention) and on selection queries and keys (one head).
struct RotateArgs {
  Rows rows;
  float* values = nullptr;  // [rows.capacity, stride]; the first heads * head_width values of row i are turned
  int32_t stride = 0;
  int32_t heads = 0, head_width = 0;
  const int32_t* positions = nullptr;  // [.] by row number
  float base = 10000.0f;
};

// output[i] = input[rows[i]]
struct GatherRowsArgs {
  Rows rows;
  const float* input = nullptr;  // [., width] by row number
  int32_t width = 0;
  float* output = nullptr;  // [rows.capacity, width]
};

// output = the mean of `rows` consecutive rows, summed in their order.
struct MeanRowsArgs {
  const float* input = nullptr;  // [rows, width]
  int32_t rows = 0, width = 0;
  float* output = nullptr;  // [width]
};

void GatherRows(const GatherRowsArgs& args);
void MeanRows(const MeanRowsArgs& args);

void LayerNormReference(const LayerNormArgs& args);
void EmbedReference(const EmbedArgs& args);
void RotateReference(const RotateArgs& args);

}  // namespace salient

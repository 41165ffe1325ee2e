// Selection and attention on a CUDA device; contracts in engine/attention. All pointers are the device's.

#pragma once

#include <functional>

#include "engine/attention/attend.h"
#include "engine/attention/project.h"
#include "engine/attention/select.h"
#include "engine/core/cuda/device.h"

namespace salient::cuda {

void AppendKeyValue(Device& device, const AppendKeyValueArgs& args);
void AppendSelection(Device& device, const AppendSelectionArgs& args);

// How far one position turns each of `half` components, in turns of the circle, on the device.
using TurnsOf = std::function<const double*(int32_t half, double base)>;
// A step's projections in one kernel; does nothing and says false for what that kernel does not take (project.cu).
// `rounded`: of an even number of outputs, which go to Projection::output in bf16.
bool Project(Device& device, const ProjectArgs& args, const TurnsOf& turns_of, bool rounded = false);

// `mass_table`: MassTable() of mass.h, on the device.
void Select(Device& device, const SelectArgs& args, const uint32_t* mass_table);

// What Attend works in, on the device: allocated once, for the largest call.
struct AttendSpace {
  // Partial results of rows whose keys are split among blocks, and how many of a row's are done (zero between calls).
  float* partial = nullptr;
  int32_t* done = nullptr;
  int32_t rows = 0;  // rows that there is room for
  // Which rows of a call are computed together (attend_tiles.cu).
  struct TilePlan* plan = nullptr;
  int32_t plan_rows = 0;
};
// Bytes of AttendSpace's arrays.
size_t PartialBytes(int32_t rows, int32_t width);
size_t PlanBytes(int32_t rows);

// Each query by itself: one block a row, or several for many keys. With a plan, the rows that no tile has.
void AttendRows(Device& device, const AttendArgs& args, const AttendSpace& space);
// Documents' queries on tensor cores, bf16 keys. PlanTiles says which; the others are AttendRows'.
bool TilesTake(const KvLayout& layout, int32_t heads);
void PlanTiles(Device& device, const AttendArgs& args, const AttendSpace& space);
void AttendTiles(Device& device, const AttendArgs& args, const AttendSpace& space);

}  // namespace salient::cuda

// Selection and attention on the CPU; contracts in engine/attention.

#pragma once

#include "engine/attention/attend.h"
#include "engine/attention/select.h"

namespace salient {

class ThreadPool;

void AppendKeyValueCpu(const AppendKeyValueArgs& args, ThreadPool& pool);
void AttendCpu(const AttendArgs& args, ThreadPool& pool);

void AppendSelectionCpu(const AppendSelectionArgs& args, ThreadPool& pool);
void SelectCpu(const SelectArgs& args, ThreadPool& pool);

}  // namespace salient

#include "tests/cuda/emulation/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifndef __x86_64__
#include <ucontext.h>
#endif

#ifdef __x86_64__
// Saves what a function must keep for its caller on the stack, changes stacks, and takes it from there.
asm(R"(
.text
.globl salient_switch_stacks
.type salient_switch_stacks, @function
salient_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size salient_switch_stacks, .-salient_switch_stacks
)");
extern "C" void salient_switch_stacks(void** save, void* load);
#endif

namespace salient::emulation {

struct Fiber::Context {
  std::byte* stack = nullptr;
  size_t bytes = 0;
#ifdef __x86_64__
  void* pointer = nullptr;
#else
  ucontext_t context;
#endif
  void* sanitizer_stack = nullptr;
  void (*function)() = nullptr;
};

namespace {

Fiber* g_entering = nullptr;  // the fiber that is switched to, for its first moments

#if defined(__SANITIZE_ADDRESS__)
// The stack that the host thread runs on, which the sanitizer must know to come back to it.
struct HostStack {
  HostStack() {
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &bottom, &bytes);
    pthread_attr_destroy(&attributes);
  }
  void* bottom = nullptr;
  size_t bytes = 0;
};
#endif

}  // namespace

Fiber::Fiber() : context_(std::make_unique<Context>()) {}

Fiber::Fiber(size_t stack_bytes) : Fiber() {
  void* memory = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "emulation: no memory for a stack of %zu bytes\n", stack_bytes);
    std::abort();
  }
  context_->stack = static_cast<std::byte*>(memory);
  context_->bytes = stack_bytes;
}

Fiber::~Fiber() {
  if (context_->stack != nullptr) munmap(context_->stack, context_->bytes);
}

void Fiber::Enter() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  g_entering->context_->function();
}

void Fiber::Start(void (*function)()) {
  context_->function = function;
  context_->sanitizer_stack = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  // Whoever ended here before came back from all it had called; only the outermost frames were never left.
  constexpr size_t kOutermost = 4096;
  __asan_unpoison_memory_region(context_->stack + context_->bytes - kOutermost, kOutermost);
#endif
#ifdef __x86_64__
  // As if the function had been called: six registers, its address, and the address that a call leaves behind.
  auto* top = reinterpret_cast<void**>(context_->stack + context_->bytes) - 1;
  *top = nullptr;
  *--top = reinterpret_cast<void*>(&Fiber::Enter);
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  context_->pointer = top;
#else
  getcontext(&context_->context);
  context_->context.uc_stack.ss_sp = context_->stack;
  context_->context.uc_stack.ss_size = context_->bytes;
  context_->context.uc_link = nullptr;
  makecontext(&context_->context, &Fiber::Enter, 0);
#endif
}

void Fiber::Switch(Fiber& from, Fiber& to) {
  g_entering = &to;
#if defined(__SANITIZE_ADDRESS__)
  static thread_local const HostStack host;
  const bool to_host = to.context_->stack == nullptr;
  __sanitizer_start_switch_fiber(&from.context_->sanitizer_stack, to_host ? host.bottom : to.context_->stack,
                                 to_host ? host.bytes : to.context_->bytes);
#endif
#ifdef __x86_64__
  salient_switch_stacks(&from.context_->pointer, to.context_->pointer);
#else
  swapcontext(&from.context_->context, &to.context_->context);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.context_->sanitizer_stack, nullptr, nullptr);
#endif
}

}  // namespace salient::emulation

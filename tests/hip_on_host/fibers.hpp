// A work-item of its own stack: where it goes on, and what sanitizers must be told when the thread
// changes from one to the other. A switch saves what the calling convention of x86-64 wants; other
// machines use ucontext, whose switches take a system call.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#ifdef _ES_THREAD
#include <sanitizer/tsan_interface.h>
#endif
#ifdef _ES_ADDRESS
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__) && !defined(_ES_UCONTEXT)
extern "C" void _es_switch(void **left, void *entered);
asm(R"(
.text
.globl _es_switch
.hidden _es_switch
.type _es_switch, @function
_es_switch:
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
.size _es_switch, .-_es_switch
)");
#else
#include <ucontext.h>
#endif

constexpr size_t STACK = 256 * 1024;

// Where a fiber, or the thread itself, goes on.
struct Context {
#if defined(__x86_64__) && !defined(_ES_UCONTEXT)
    void *pointer = nullptr;
    void prepare(char *stack, void (*entry)()) {
        void **top = reinterpret_cast<void **>(stack + STACK) - 2;  // as after a call
        *top = reinterpret_cast<void *>(entry);
        pointer = top - 6;
    }
    static void change(Context &left, Context &entered) {
        _es_switch(&left.pointer, entered.pointer);
    }
#else
    ucontext_t own{};
    void prepare(char *stack, void (*entry)()) {
        getcontext(&own);
        own.uc_stack.ss_sp = stack;
        own.uc_stack.ss_size = STACK;
        own.uc_link = nullptr;
        makecontext(&own, entry, 0);
    }
    static void change(Context &left, Context &entered) { swapcontext(&left.own, &entered.own); }
#endif
    // What sanitizers know of it.
    void *known = nullptr;
    const void *bottom = nullptr;
    size_t size = 0;
};

// A stack with a page below it that nobody may touch.
struct Fiber {
    Context context;
    char *stack = nullptr;

    Fiber() {
        const size_t page = sysconf(_SC_PAGESIZE);
        void *got = mmap(nullptr, STACK + page, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED) abort();
        mprotect(got, page, PROT_NONE);
        stack = static_cast<char *>(got) + page;
        context.bottom = stack;
        context.size = STACK;
#ifdef _ES_THREAD
        context.known = __tsan_create_fiber(0);
#endif
    }
    void prepare(void (*entry)()) {
        context.prepare(stack, entry);
#ifdef _ES_ADDRESS
        context.known = nullptr;
#endif
    }
    // It was left in the middle of its work: what sanitizers noted of its frames is void.
    void abandon() {
#ifdef _ES_THREAD
        __tsan_destroy_fiber(context.known);
        context.known = __tsan_create_fiber(0);
#endif
#ifdef _ES_ADDRESS
        __asan_unpoison_memory_region(stack, STACK);
#endif
    }
};

// Go on in `entered`; `over` if nobody will come back to `left`.
inline void change(Context &left, Context &entered, [[maybe_unused]] bool over = false) {
#ifdef _ES_THREAD
    __tsan_switch_to_fiber(entered.known, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef _ES_ADDRESS
    __sanitizer_start_switch_fiber(over ? nullptr : &left.known, entered.bottom, entered.size);
#endif
    Context::change(left, entered);
#ifdef _ES_ADDRESS
    __sanitizer_finish_switch_fiber(left.known, nullptr, nullptr);
#endif
}

// The first thing that a fiber does; tells where the thread's own stack is.
inline void arrived(Context &from) {
#ifdef _ES_ADDRESS
    __sanitizer_finish_switch_fiber(nullptr, &from.bottom, &from.size);
#endif
    (void)from;
}

// Order between work-items, as ThreadSanitizer shall see it; the place is only a name.
inline void publish(void *place) {
#ifdef _ES_THREAD
    __tsan_release(place);
#endif
    (void)place;
}
inline void observe(void *place) {
#ifdef _ES_THREAD
    __tsan_acquire(place);
#endif
    (void)place;
}

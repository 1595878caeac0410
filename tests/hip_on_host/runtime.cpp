// Runs the work-items of a launch as fibers of the calling thread, one until it waits, then the
// next, and reports what would hang or fail a device: items at different barriers, at a barrier that
// others have left, lanes that never come. Compiled once for each sanitizer, never instrumented
// itself; what ThreadSanitizer shall take for ordered is told to it, and nothing else:
// launch and items, the items of a group at a barrier, the lanes of an exchange. Not the groups.
#include "fibers.hpp"
#include "groups.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

extern "C" {
Place _es_now;
}

namespace {

enum Status { ILLEGAL_ADDRESS = 700, LAUNCH_FAILURE = 719 };
constexpr unsigned char PATTERN = 0xcd;  // of memory of groups that nobody has written
[[maybe_unused]] constexpr size_t MANY = 512;  // items of a batch of groups under ThreadSanitizer

pthread_mutex_t one_launch = PTHREAD_MUTEX_INITIALIZER;
const Launch *launch;
Context main_context;
Item *current;
std::deque<Item *> ready;
std::vector<Fiber *> fibers, idle;
std::deque<Group> batch;
std::string message;
int status;
char start_of_launch, end_of_launch, fences, launches;
unsigned long long draws;  // permutations so far
unsigned yields;
bool moved;  // since the clock was looked at
double since;

double seconds() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

// No function of the C library: sanitizers would look at what it does.
void copy(void *to, const void *from, size_t bytes) {
    auto *t = static_cast<volatile unsigned char *>(to);
    auto *f = static_cast<const volatile unsigned char *>(from);
    for (size_t n = 0; n < bytes; ++n) t[n] = f[n];
}
void fill(unsigned char *start, size_t bytes) {
    auto *t = reinterpret_cast<volatile unsigned long long *>(start);
    size_t n = 0;
    for (; n < bytes / 8; ++n) t[n] = PATTERN * 0x0101010101010101ull;
    for (n *= 8; n < bytes; ++n) static_cast<volatile unsigned char *>(start)[n] = PATTERN;
}

// -- memory of groups ----------------------------------------------------------------------------

#ifdef _ES_THREAD
// An allocator that ThreadSanitizer knows would be a writer to it.
std::vector<std::pair<size_t, unsigned char *>> spare;
unsigned char *take(size_t bytes) {
    for (auto &s : spare)
        if (s.second && s.first == bytes) return std::exchange(s.second, nullptr);
    void *got = mmap(nullptr, std::max<size_t>(bytes, 1), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) abort();
    return static_cast<unsigned char *>(got);
}
void give(unsigned char *start, size_t bytes) {
    for (auto &s : spare)
        if (!s.second) {
            s = {bytes, start};
            return;
        }
    spare.emplace_back(bytes, start);
}
#else
unsigned char *take(size_t bytes) {
    void *got = nullptr;
    if (posix_memalign(&got, 16, bytes)) abort();
    return static_cast<unsigned char *>(got);
}
void give(unsigned char *start, size_t) { free(start); }
#endif

// -- what is told of faults ----------------------------------------------------------------------

std::string text(Axes a) {
    return "(" + std::to_string(a.x) + ", " + std::to_string(a.y) + ", " + std::to_string(a.z) + ")";
}
// Numbers as in "0-30, 32".
std::string ranges(const std::vector<unsigned> &numbers) {
    std::string out;
    for (size_t n = 0; n < numbers.size();) {
        size_t last = n;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        out += (out.empty() ? "" : ", ") + std::to_string(numbers[n]);
        if (last > n) out += "-" + std::to_string(numbers[last]);
        n = last + 1;
    }
    return out;
}
std::string of_mask(unsigned long long mask) {
    std::vector<unsigned> lanes;
    for (unsigned n = 0; n < 64; ++n)
        if (mask >> n & 1) lanes.push_back(n);
    return ranges(lanes);
}
std::string where(const Group &g) {
    return std::string("kernel '") + launch->name + "', group " + text(g.place) + ": ";
}

// What each work-item of a group does.
std::string standings(const Group &g) {
    std::string out;
    std::vector<bool> told(g.items.size());
    for (size_t n = 0; n < g.items.size(); ++n) {
        const Item &i = g.items[n];
        if (told[n]) continue;
        std::vector<unsigned> same;
        for (size_t k = n; k < g.items.size(); ++k) {
            const Item &o = g.items[k];
            const bool waits = i.state == State::barrier || i.state == State::lanes;
            if (o.state != i.state || (waits && o.statement != i.statement)) continue;
            if (i.state == State::lanes && (o.wave != i.wave || o.mask != i.mask)) continue;
            told[k] = true;
            same.push_back(o.number);
        }
        out += (out.empty() ? "" : "; ") + std::string("work-items ") + ranges(same);
        const std::string line = " in line " + std::to_string(i.line);
        if (i.state == State::barrier) out += " wait at the barrier" + line;
        else if (i.state == State::done) out += " have returned";
        else if (i.state != State::lanes) out += " go on";
        else {
            out += " (wave " + std::to_string(i.wave) + ") wait" + line + " for lanes ";
            for (const Meeting &m : g.meetings)
                if (m.wave == i.wave && m.mask == i.mask) out += of_mask(m.mask & ~m.arrived);
        }
    }
    return out;
}

void fault(Status what, const std::string &told) {
    if (status) return;
    status = what;
    message = told;
}
void suspend() { change(current->fiber->context, main_context); }
[[noreturn]] void fail(const std::string &told) {
    fault(LAUNCH_FAILURE, where(*current->group) + told);
    suspend();
    abort();
}

// -- who goes on ---------------------------------------------------------------------------------

// The place of number n of `count` in the order that the launch asks for; `draw` makes it another.
size_t ordered(size_t n, size_t count, unsigned long long draw) {
    if (launch->order == 0) return n;
    if (launch->order == 1) return count - 1 - n;
    unsigned long long r = (launch->seed + 1) * 0x9e3779b97f4a7c15ull + draw * 0xd1342543de82ef95ull;
    r ^= r >> 29;
    size_t step = r % count | 1;
    while (std::gcd(step, count) != 1) step += 2;
    return static_cast<size_t>((static_cast<unsigned __int128>(step) * n + (r >> 32)) % count);
}
void wake(std::vector<Item *> &items) {
    ++draws;
    for (size_t n = 0; n < items.size(); ++n) {
        Item *i = items[ordered(n, items.size(), draws)];
        if (i->state != State::fresh) i->state = State::ready;
        ready.push_back(i);
    }
    moved = true;
}

void run_item() {
    arrived(main_context);
    Item *me = current;
    observe(&start_of_launch);
    launch->run(launch->parameters);
    publish(&end_of_launch);
    me->state = State::done;
    ++me->group->done;
    moved = true;
#ifndef _ES_THREAD
    idle.push_back(me->fiber);
#endif
    change(me->fiber->context, main_context, true);
    abort();
}

void resume(Item *i) {
    const Group &g = *i->group;
    current = i;
    _es_now = {i->place, g.place, launch->size, launch->groups, static_cast<int>(i->lane), g.dynamic};
    if (i->state == State::fresh) {
        if (idle.empty()) {
            fibers.push_back(new Fiber);
            idle.push_back(fibers.back());
        }
        i->fiber = idle.back();
        idle.pop_back();
        i->fiber->prepare(run_item);
    }
    i->state = State::ready;
    change(main_context, i->fiber->context);
    current = nullptr;
}

void begin(Group &g, size_t number) {
    const Axes n = launch->groups, size = launch->size;
    g.place.x = number % n.x;
    g.place.y = number / n.x % n.y;
    g.place.z = number / n.x / n.y;
    g.items.resize(size_t(size.x) * size.y * size.z);
    g.meetings.clear();
    g.waiting = g.done = 0;
    for (unsigned k = 0; k < g.items.size(); ++k) {
        const Axes p = {k % size.x, k / size.x % size.y, k / size.x / size.y};
        g.items[k] = {};
        g.items[k].group = &g;
        g.items[k].place = p;
        g.items[k].number = k;
        g.items[k].wave = k / launch->wave;
        g.items[k].lane = k % launch->wave;
    }
    for (Block &b : g.blocks) fill(b.start, b.bytes);
    if (!g.dynamic) g.dynamic = take(launch->shared);
    fill(g.dynamic, launch->shared);
}

// Groups that run at the same time, with their fibers.
void run_batch(size_t first, size_t count, size_t all) {
    std::vector<Item *> items;
    while (batch.size() < count) batch.emplace_back();
    for (size_t n = 0; n < count; ++n) {
        begin(batch[n], ordered(first + n, all, 0));
        items.clear();
        for (Item &i : batch[n].items) items.push_back(&i);
        wake(items);
    }
#ifdef _ES_THREAD  // they begin before any of the batch does
    while (fibers.size() < count * batch[0].items.size()) fibers.push_back(new Fiber);
    idle.assign(fibers.rbegin(), fibers.rend());
#endif
    publish(&start_of_launch);
    while (!status && !ready.empty()) {
        Item *next = ready.front();
        ready.pop_front();
        resume(next);
    }
    ready.clear();
    for (size_t n = 0; n < count; ++n) {
        Group &g = batch[n];
        if (g.done == g.items.size()) continue;
        fault(LAUNCH_FAILURE, where(g) + "a deadlock: " + standings(g) + ".");
        for (Item &i : g.items)
            if (i.fiber && i.state != State::done) {
                i.fiber->abandon();
                idle.push_back(i.fiber);
            }
    }
    observe(&end_of_launch);
}

// -- accesses of no memory, which sanitizers report themselves -----------------------------------

struct sigaction before[2];
const int SIGNALS[] = {SIGSEGV, SIGBUS};

[[maybe_unused]] void on_signal(int number, siginfo_t *info, void *) {
    if (!current) {
        sigaction(number, &before[number == SIGBUS], nullptr);
        return;  // and again, for whoever was there before
    }
    char address[32];
    snprintf(address, sizeof address, "%p", info->si_addr);
    fault(ILLEGAL_ADDRESS, where(*current->group) + "work-item " + std::to_string(current->number) +
                               " reads or writes at " + address + ", which is no memory.");
    suspend();
}
void watch(bool on) {
#if !defined(_ES_THREAD) && !defined(_ES_ADDRESS)
    static stack_t stack = {}, old;
    if (!stack.ss_sp) {
        stack.ss_sp = malloc(64 * 1024);
        stack.ss_size = 64 * 1024;
    }
    struct sigaction own = {};
    own.sa_sigaction = on_signal;
    own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    if (on) sigaltstack(&stack, &old);
    for (int k = 0; k < 2; ++k)
        sigaction(SIGNALS[k], on ? &own : &before[k], on ? &before[k] : nullptr);
    if (!on) sigaltstack(&old, nullptr);
#endif
    (void)on;
}

}  // namespace

// -- what the text of kernels calls --------------------------------------------------------------

extern "C" {

void _es_host_barrier(int line, int statement) {
    Item *me = current;
    Group &g = *me->group;
    char *order = &g.order[g.turn];  // of the next barrier it is the other one, until all came
    me->state = State::barrier;
    me->line = line;
    me->statement = statement;
    publish(order);
    if (++g.waiting == g.items.size()) {
        std::vector<Item *> all;
        for (Item &i : g.items) {
            if (i.statement != statement)
                fail("work-items of a group are at different barriers: " + standings(g) + ".");
            all.push_back(&i);
        }
        g.waiting = 0;
        g.turn ^= 1;
        wake(all);
    }
    suspend();
    observe(order);
}

void _es_host_lanes(unsigned long long mask, const void *value, void *result, size_t bytes,
                    int source, int line, int statement) {
    Item *me = current;
    Group &g = *me->group;
    auto wrong = [&](const char *form, int number) {
        char told[160];
        snprintf(told, sizeof told, form, number);
        fail("work-item " + std::to_string(me->number) + " in line " + std::to_string(line) +
             " names lanes " + of_mask(mask) + told);
    };
    if (launch->wave < 64 && mask >> launch->wave) wrong("; its wave has %d.", launch->wave);
    if (!(mask >> me->lane & 1)) wrong("; itself it is lane %d.", me->lane);
    Meeting *m = nullptr;
    for (Meeting &o : g.meetings)
        if (o.wave == me->wave && o.mask == mask) m = &o;
    if (!m) {
        g.meetings.emplace_back();
        m = &g.meetings.back();
        m->wave = me->wave;
        m->mask = mask;
    }
    char *order = &m->order[m->turn];
    me->state = State::lanes;
    me->line = line;
    me->statement = statement;
    me->mask = mask;
    me->value = value;
    me->result = result;
    me->bytes = bytes;
    me->source = source;
    m->members[me->lane] = me;
    m->arrived |= 1ull << me->lane;
    publish(order);
    if (m->arrived == mask) {
        std::vector<Item *> all;
        for (unsigned n = 0; n < launch->wave; ++n)
            if (mask >> n & 1) all.push_back(m->members[n]);
        for (Item *i : all) {
            if (i->statement != statement)
                fail("lanes of a wave are at different statements: " + standings(g) + ".");
            if (!i->value) continue;
            const bool of_them = i->source >= 0 && i->source < 64 && mask >> i->source & 1;
            if (of_them) copy(i->result, m->members[i->source]->value, i->bytes);
            else fill(static_cast<unsigned char *>(i->result), i->bytes);  // nobody may use it
        }
        m->arrived = 0;
        m->turn ^= 1;
        wake(all);
    }
    suspend();
    observe(order);
}

// Others go on first. Whoever waits for what nobody will do is found by the clock.
void _es_host_yield() {
    if (++yields % 4096 == 0) {
        const double now = seconds();
        if (moved) since = now;
        moved = false;
        if (now - since > launch->patience)
            fail("work-items wait in a loop for what none does, for more than " +
                 std::to_string(launch->patience) + " s: " + standings(*current->group) + ".");
    }
    if (ready.empty()) return;
    ready.push_back(current);
    suspend();
}

// A work-item may look at memory until another one writes it. It lets others go on now and then only:
// if it did so between looking and writing, all would write in vain but one.
void _es_host_look() {
    if (++current->looks % 32 == 0) _es_host_yield();
}

void *_es_host_shared(int key, size_t bytes) {
    Group &g = *current->group;
    size_t all = launch->shared + bytes;
    for (Block &b : g.blocks) {
        if (b.key == key && b.bytes == bytes) return b.start;
        all += b.bytes;
    }
    if (all > launch->most_shared)
        fail("it takes " + std::to_string(all) + " bytes of memory of the group; the device has " +
             std::to_string(launch->most_shared) + ".");
    g.blocks.push_back({key, bytes, take(bytes)});
    fill(g.blocks.back().start, bytes);
    return g.blocks.back().start;
}

// ThreadSanitizer knows no fences: as a step of one place in memory that all take.
void _es_host_fence() {
    observe(&fences);
    publish(&fences);
}

// Run a launch to its end; 0, or a number of hipError_t, and then the text of the fault.
int _es_host_launch(const Launch *given, char *told, size_t room) {
    pthread_mutex_lock(&one_launch);
    launch = given;
    observe(&launches);  // those before, of any thread
    status = 0;
    moved = true;
    yields = 0;
    draws = 0;
    since = seconds();
#ifdef _ES_THREAD
    main_context.known = __tsan_get_current_fiber();
#endif
    const size_t all = size_t(given->groups.x) * given->groups.y * given->groups.z;
    size_t together = std::max(1u, given->resident);
#ifdef _ES_THREAD
    const size_t items = size_t(given->size.x) * given->size.y * given->size.z;
    together = std::max({together, size_t(2), MANY / items});
#endif
    watch(true);
    for (size_t first = 0; first < all && !status; first += together)
        run_batch(first, std::min(together, all - first), all);
    watch(false);
    for (Group &g : batch) {
        for (Block &b : g.blocks) give(b.start, b.bytes);
        if (g.dynamic) give(g.dynamic, given->shared);
    }
    batch.clear();
    publish(&launches);
    const int found = status;
    if (room) {
        const size_t length = std::min(message.size(), room - 1);
        memcpy(told, message.data(), length);
        told[found ? length : 0] = 0;
    }
    pthread_mutex_unlock(&one_launch);
    return found;
}

}  // extern "C"

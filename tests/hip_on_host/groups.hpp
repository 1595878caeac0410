// A launch, its groups and their work-items, and lanes that wait for each other: what is known of
// them while they run.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "fibers.hpp"

struct Axes {
    unsigned x, y, z;
};
struct Place {
    Axes item, group, size, groups;
    int lane;
    unsigned char *group_memory;
};
// As pretended/launching.py has it.
struct Launch {
    void (*run)(void **);
    void **parameters;
    const char *name;
    Axes groups, size;
    unsigned shared, most_shared, wave, resident, order;
    unsigned long long seed;
    double patience;
};

enum class State { fresh, ready, barrier, lanes, done };
struct Group;
struct Item {
    Group *group;
    Axes place;
    unsigned number, wave, lane, looks;
    State state;
    Fiber *fiber;
    int line, statement;  // where it waits
    unsigned long long mask;
    const void *value;
    void *result;
    size_t bytes;
    int source;
};
// Lanes of a wave that wait for each other.
struct Meeting {
    unsigned wave;
    unsigned long long mask, arrived = 0;
    Item *members[64] = {};
    char order[2] = {};
    int turn = 0;
};
struct Block {
    int key;
    size_t bytes;
    unsigned char *start;
};
struct Group {
    Axes place;
    std::vector<Item> items;
    std::deque<Meeting> meetings;  // they keep their addresses
    std::vector<Block> blocks;
    unsigned char *dynamic = nullptr;
    unsigned waiting = 0, done = 0;
    char order[2] = {};
    int turn = 0;
};

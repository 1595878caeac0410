// Stands in for a profiler: prints what NVTX is told, in the order in which it comes.
// NVTX loads it from NVTX_INJECTION64_PATH and asks it to put functions into its tables.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Function)(void);
typedef struct { // nvtxEventAttributes_t
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message; // a string, or what register_string returned
} Attributes;
typedef struct {
    size_t size;
    int (*function_table)(int module, Function ***table, unsigned *size);
} Callbacks;

static uint64_t ranges;

static void mark(void *domain, const Attributes *a) { printf("mark %s\n", a->message); }

static uint64_t start(void *domain, const Attributes *a) {
    printf("start %s #%llu colour %06x\n", a->message, (unsigned long long)++ranges, a->color & 0xffffff);
    return ranges;
}

static void end(void *domain, uint64_t range) { printf("end #%llu\n", (unsigned long long)range); }

static int push(void *domain, const Attributes *a) {
    printf("push %s\n", a->message);
    return 0;
}

static int pop(void *domain) {
    printf("pop\n");
    return 0;
}

static void name_category(void *domain, uint32_t category, const char *name) {
    printf("category %s\n", name);
}

static void *register_string(void *domain, const char *text) { return strdup(text); }

static void *create(const char *name) {
    printf("domain %s\n", name);
    return strdup(name);
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t)) {
    const Callbacks *callbacks = export_table(1); // NVTX_ETID_CALLBACKS
    Function **table;
    unsigned size;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (!callbacks || !callbacks->function_table(5, &table, &size) || size < 13) // CORE2
        return 0;
    *table[1] = (Function)mark;
    *table[2] = (Function)start;
    *table[3] = (Function)end;
    *table[4] = (Function)push;
    *table[5] = (Function)pop;
    *table[8] = (Function)name_category;
    *table[10] = (Function)register_string;
    *table[12] = (Function)create;
    return 1;
}

/* Stands in for ROCm's library of annotations: prints what it is told. */
#include <stdint.h>
#include <stdio.h>

static uint64_t last = 0;

void roctxMarkA(const char *message) {
    printf("mark %s\n", message);
    fflush(stdout);
}

int roctxRangePushA(const char *message) {
    printf("push %s\n", message);
    fflush(stdout);
    return 0;
}

int roctxRangePop(void) {
    printf("pop\n");
    fflush(stdout);
    return 0;
}

uint64_t roctxRangeStartA(const char *message) {
    printf("start %s #%lu\n", message, (unsigned long)++last);
    fflush(stdout);
    return last;
}

void roctxRangeStop(uint64_t range) {
    printf("stop #%lu\n", (unsigned long)range);
    fflush(stdout);
}

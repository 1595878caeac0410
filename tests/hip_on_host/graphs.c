// The functions for graphs of a library called libamdhip64.so; graphs.py says what they do.

typedef unsigned long long u64;

static int (*functions[7])(void *, void *, void *, void *);

void _es_give(int n, void *function) {
    functions[n] = (int (*)(void *, void *, void *, void *))function;
}

int hipStreamBeginCapture(void *stream, int mode) {
    return functions[0](stream, (void *)(u64)mode, 0, 0);
}
int hipStreamEndCapture(void *stream, void **graph) { return functions[1](stream, graph, 0, 0); }
int hipGraphInstantiateWithFlags(void **made, void *graph, u64 flags) {
    return functions[2](made, graph, (void *)flags, 0);
}
int hipGraphLaunch(void *executable, void *stream) {
    return functions[3](executable, stream, 0, 0);
}
int hipGraphExecUpdate(void *executable, void *graph, void **node, int *result) {
    return functions[4](executable, graph, node, result);
}
int hipGraphExecDestroy(void *executable) { return functions[5](executable, 0, 0, 0); }
int hipGraphDestroy(void *graph) { return functions[6](graph, 0, 0, 0); }

/* Batches of N x N matrices, WIDTH of which lie side by side, by hand: a vector has the same element
   of each. N is a constant of the compilation, as it is in libraries that generate such code. */
typedef double V __attribute__((vector_size(8 * WIDTH)));
typedef long J __attribute__((vector_size(8 * WIDTH)));
#define INLINE static inline __attribute__((always_inline))
/* Tiles that are in registers: of triangles, and of products, which read B as it lies. */
constexpr int R = 4, S = 4, ROWS = 2, COLUMNS = 8, ELEMENTS = N * N, PANEL = N <= 8 ? N : 4;

/* acc += sign A B, of rows from i on and columns from j on, both tiles of registers. */
INLINE void products(V acc[R][COLUMNS], double sign, const V *A, const V *B, int i, int j, int rows,
                     int columns, int end)
{
    for (int q = 0; q < end; ++q)
        for (int r = 0; r < rows; ++r)
            for (int s = 0; s < columns; ++s)
                acc[r][s] += sign * A[(i + r) * N + q] * B[q * N + j + s];
}

INLINE void gemm_tile(const V *A, const V *B, V *C, int i, int j, int rows, int columns)
{
    V acc[R][COLUMNS] = {};
    products(acc, 1, A, B, i, j, rows, columns, N);
    for (int r = 0; r < rows; ++r)
        for (int s = 0; s < columns; ++s) C[(i + r) * N + j + s] = acc[r][s];
}

INLINE void trsm_tile(const V *A, V *B, const V *inverse, int i, int j, int rows, int columns)
{
    V acc[R][COLUMNS];
    for (int r = 0; r < rows; ++r)
        for (int s = 0; s < columns; ++s) acc[r][s] = B[(i + r) * N + j + s];
    products(acc, -1, A, B, i, j, rows, columns, i);
    for (int r = 0; r < rows; ++r)
        for (int s = 0; s < columns; ++s) {
            for (int p = 0; p < r; ++p) acc[r][s] -= A[(i + r) * N + i + p] * acc[p][s];
            acc[r][s] *= inverse[r];
            B[(i + r) * N + j + s] = acc[r][s];
        }
}

INLINE void trmm_tile(const V *A, V *B, int i, int j, int rows, int columns)
{
    V acc[R][COLUMNS];
    for (int r = 0; r < rows; ++r)
        for (int s = 0; s < columns; ++s) {
            acc[r][s] = A[(i + r) * N + i + r] * B[(i + r) * N + j + s];
            for (int p = 0; p < r; ++p) acc[r][s] += A[(i + r) * N + i + p] * B[(i + p) * N + j + s];
        }
    products(acc, 1, A, B, i, j, rows, columns, i);
    for (int r = 0; r < rows; ++r)
        for (int s = 0; s < columns; ++s) B[(i + r) * N + j + s] = acc[r][s];
}

INLINE void gemm_rows(const V *A, const V *B, V *C, int i, int rows)
{
    for (int j = 0; j + COLUMNS <= N; j += COLUMNS) gemm_tile(A, B, C, i, j, rows, COLUMNS);
    if (N % COLUMNS) gemm_tile(A, B, C, i, N - N % COLUMNS, rows, N % COLUMNS);
}

INLINE void trsm_rows(const V *A, V *B, int i, int rows)
{
    V inverse[R];
    for (int r = 0; r < rows; ++r) inverse[r] = 1 / A[(i + r) * (N + 1)];
    for (int j = 0; j + S <= N; j += S) trsm_tile(A, B, inverse, i, j, rows, S);
    if (N % S) trsm_tile(A, B, inverse, i, N - N % S, rows, N % S);
}

INLINE void trmm_rows(const V *A, V *B, int i, int rows)
{
    for (int j = 0; j + S <= N; j += S) trmm_tile(A, B, i, j, rows, S);
    if (N % S) trmm_tile(A, B, i, N - N % S, rows, N % S);
}

INLINE void gemm_one(const V *A, const V *B, V *C)
{
    for (int i = 0; i + ROWS <= N; i += ROWS) gemm_rows(A, B, C, i, ROWS);
    if (N % ROWS) gemm_rows(A, B, C, N - N % ROWS, N % ROWS);
}

INLINE void trsm_one(const V *A, V *B)
{
    for (int i = 0; i + R <= N; i += R) trsm_rows(A, B, i, R);
    if (N % R) trsm_rows(A, B, N - N % R, N % R);
}

INLINE void trmm_one(const V *A, V *B)
{
    if (N % R) trmm_rows(A, B, N - N % R, N % R);
    for (int i = N - N % R - R; i >= 0; i -= R) trmm_rows(A, B, i, R);
}

/* Columns from left to right of tiles of rows, where the inverse of the rows before is there. */
INLINE void trtri_rows(V *A, int i, int rows)
{
    for (int r = 0; r < rows; ++r) A[(i + r) * (N + 1)] = 1 / A[(i + r) * (N + 1)];
    for (int j = 0; j < i; ++j) {
        V acc[R] = {};
        for (int q = j; q < i; ++q)
            for (int r = 0; r < rows; ++r) acc[r] += A[(i + r) * N + q] * A[q * N + j];
        for (int r = 0; r < rows; ++r) {
            for (int p = 0; p < r; ++p) acc[r] += A[(i + r) * N + i + p] * acc[p];
            acc[r] *= -A[(i + r) * (N + 1)];
        }
        for (int r = 0; r < rows; ++r) A[(i + r) * N + j] = acc[r];
    }
    for (int j = i; j < i + rows; ++j)
        for (int r = j + 1; r < i + rows; ++r) {
            V total = A[r * N + j] * A[j * (N + 1)];
            for (int p = j + 1; p < r; ++p) total += A[r * N + p] * A[p * N + j];
            A[r * N + j] = -total * A[r * (N + 1)];
        }
}

INLINE void trtri_one(V *A)
{
    for (int i = 0; i + R <= N; i += R) trtri_rows(A, i, R);
    if (N % R) trtri_rows(A, N - N % R, N % R);
}

/* Columns of a panel from `first` on are changed by those before them. */
INLINE void update_tile(V *A, int first, int i, int j, int rows, int columns)
{
    V acc[R][COLUMNS];
    for (int r = 0; r < rows; ++r)
        for (int s = 0; s < columns; ++s) acc[r][s] = A[(i + r) * N + j + s];
    products(acc, -1, A, A, i, j, rows, columns, i < first ? i : first);
    for (int r = 0; r < rows; ++r)
        for (int s = 0; s < columns; ++s) {
            if (i < first)
                for (int p = 0; p < r; ++p) acc[r][s] -= A[(i + r) * N + i + p] * acc[p][s];
            A[(i + r) * N + j + s] = acc[r][s];
        }
}

INLINE void update_rows(V *A, int first, int end, int i, int rows)
{
    for (int j = first; j + S <= end; j += S) update_tile(A, first, i, j, rows, S);
    if (N % S && end == N) update_tile(A, first, i, N - N % S, rows, N % S);
}

INLINE void getrf_one(V *A, int *pivots, int *info)
{
    J found = {};
    for (int first = 0; first < N; first += PANEL) {
        const int end = first + PANEL < N ? first + PANEL : N;
        if (first) {
            for (int i = 0; i + R <= N; i += R) update_rows(A, first, end, i, R);
            if (N % R) update_rows(A, first, end, N - N % R, N % R);
        }
        for (int k = first; k < end; ++k) {
            V largest = A[k * (N + 1)];
            largest = largest < 0 ? -largest : largest;
            J place = k - (J){};
            for (int i = k + 1; i < N; ++i) {
                V size = A[i * N + k];
                size = size < 0 ? -size : size;
                J larger = size > largest;
                largest = larger ? size : largest;
                place = larger ? i - (J){} : place;
            }
            for (int l = 0; l < WIDTH; ++l) {
                const long other = place[l];
                pivots[l * N + k] = other;
                if (other != k) {
                    double *a = (double *)(A + k * N) + l, *b = (double *)(A + other * N) + l;
                    for (int j = 0; j < N; ++j) {
                        const double kept = a[j * WIDTH];
                        a[j * WIDTH] = b[j * WIDTH];
                        b[j * WIDTH] = kept;
                    }
                }
            }
            const V pivot = A[k * (N + 1)], inverse = 1 / pivot;
            const J zero = pivot == 0;
            found = zero & (found == 0) ? k + 1 - (J){} : found;
            for (int i = k + 1; i < N; ++i) {
                const V factor = zero ? (V){} : A[i * N + k] * inverse;
                A[i * N + k] = zero ? A[i * N + k] : factor;
                for (int j = k + 1; j < end; ++j) A[i * N + j] -= factor * A[k * N + j];
            }
        }
    }
    for (int l = 0; l < WIDTH; ++l) info[l] = found[l];
}

#define EACH(name, parameters, call)                                                             \
    extern "C" void name parameters                                                              \
    {                                                                                            \
        _Pragma("omp parallel for num_threads(threads) schedule(static)")                        \
        for (long g = 0; g < groups; ++g) call;                                                  \
    }

EACH(gemm, (const V *A, const V *B, V *C, int *pivots, int *info, long groups, int threads),
     gemm_one(A + g * ELEMENTS, B + g * ELEMENTS, C + g * ELEMENTS))
EACH(trsm, (const V *A, V *B, V *C, int *pivots, int *info, long groups, int threads),
     trsm_one(A + g * ELEMENTS, B + g * ELEMENTS))
EACH(trmm, (const V *A, V *B, V *C, int *pivots, int *info, long groups, int threads),
     trmm_one(A + g * ELEMENTS, B + g * ELEMENTS))
EACH(trtri, (V *A, V *B, V *C, int *pivots, int *info, long groups, int threads),
     trtri_one(A + g * ELEMENTS))
EACH(getrf, (V *A, V *B, V *C, int *pivots, int *info, long groups, int threads),
     getrf_one(A + g * ELEMENTS, pivots + g * WIDTH * N, info + g * WIDTH))

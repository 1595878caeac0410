"""What a C programmer would write for the cases of teams: blocks in place of teams, buffers on the
stack in place of scratch memory, and OpenMP's threads over blocks.

Sums are strict, as C's are: `simd` in place of `@SIMD@` says that this one may be reordered.
"""

from __future__ import annotations

from benchmarks.common.c_loops import Function

SIMD = "#pragma omp simd reduction(+ : sum)"


def _variants(name: str, arrays: str, integers: str, body: str) -> dict[str, Function]:
    """The strict function, and the one that says which sums may be reordered."""
    return {
        suffix: Function(
            f"{name}_{suffix}", tuple(arrays.split()), tuple(integers.split()),
            body.replace("@SIMD@", pragma),
        )
        for suffix, pragma in (("strict", ""), ("simd", SIMD))
    }  # fmt: skip


F1_FLAT = Function(
    "f1_flat", ("b", "a"), ("points", "reach"),
    """\
    const int n = points, m = reach;
    #pragma omp parallel for
    for (int i = 0; i < n; ++i) {
        double sum = 0.0;
        for (int j = i - m; j <= i + m; ++j)
            sum += a[(j + n) % n] * (1.0 - __builtin_abs(j) / (double) m);
        b[i] = sum;
    }
""",
)  # fmt: skip

_BLOCKS = """\
    const int n = points, m = reach, block = per_block, length = block + 2 * m;
    #pragma omp parallel @REDUCTION@
    {
        double products[length];
        #pragma omp for
        for (int first = 0; first < n; first += block) {
            for (int k = 0; k < length; ++k) {
                const int j = first - m + k;
                products[k] = @SINE@ * (1.0 - __builtin_abs(j) / (double) m);
            }
            const int own = block < n - first ? block : n - first;
            for (int p = 0; p < own; ++p) {
                double sum = 0.0;
                @SIMD@
                for (int k = 0; k <= 2 * m; ++k) sum += products[p + k];
                @STORE@
            }
        }
    }
"""
F1_BLOCKED = _variants(
    "f1_blocked", "b a", "points reach per_block",
    _BLOCKS.replace("@REDUCTION@", "").replace("@SINE@", "a[(j + n) % n]")
    .replace("@STORE@", "b[first + p] = sum;"),
)  # fmt: skip
F1_WITHOUT_ARRAYS = _variants(
    "f1_without_arrays", "unused", "points reach per_block",
    _BLOCKS.replace("@REDUCTION@", "reduction(+ : result)")
    .replace("@SINE@", "sin(j * (2.0 * M_PI / n))").replace("@STORE@", "result += sum;"),
)  # fmt: skip

YAX = _variants(
    "yax", "y A x", "rows columns",
    """\
    #pragma omp parallel for reduction(+ : result)
    for (long i = 0; i < rows; ++i) {
        double sum = 0.0;
        @SIMD@
        for (long j = 0; j < columns; ++j) sum += A[i * columns + j] * x[j];
        result += y[i] * sum;
    }
""",
)  # fmt: skip

_COLUMN = """\
    double *restrict lower = (double *) below, *restrict height = (double *) phi;
    double *restrict weight = (double *) mass;
    const double r = @R@, cp = @CP@, g = @G@, top = @TOP@;
    #pragma omp parallel reduction(+ : result)
    {
        double ratio[levels];
        #pragma omp for
        for (long e = 0; e < elements; ++e) {
            double energy = 0.0;
            for (long c = 0; c < points; ++c) {
                const long column = e * points + c, q = column * levels;
                double above = 0.0, warmth = 0.0, under = 0.0;
                @DOWN@
                weight[column] = above / g;
                energy += weights[c] * (cp * warmth + ground[column] * above) / g;
                for (long k = levels - 1; k >= 0; --k) {
                    height[q + k] = ground[column] + under + 0.5 * ratio[k];
                    under += ratio[k];
                }
            }
            result += energy;
        }
    }
"""
_FUSED = """\
for (long k = 0; k < levels; ++k) {
                    const double h = dp[q + k], middle = top + above + 0.5 * h;
                    pressure[q + k] = middle;
                    above += h;
                    lower[q + k] = top + above;
                    ratio[k] = r * temperature[q + k] * h / middle;
                    warmth += temperature[q + k] * h;
                }"""
_SPLIT = """\
for (long k = 0; k < levels; ++k) {
                    pressure[q + k] = top + above + 0.5 * dp[q + k];
                    above += dp[q + k];
                    lower[q + k] = top + above;
                }
                #pragma omp simd reduction(+ : warmth)
                for (long k = 0; k < levels; ++k) {
                    const double heat = temperature[q + k] * dp[q + k];
                    ratio[k] = r * heat / pressure[q + k];
                    warmth += heat;
                }"""


def column(r: float, cp: float, g: float, top: float) -> dict[str, Function]:
    """Columns of an atmosphere: one loop downwards, or two of which the second is vectorised."""
    text = _COLUMN
    for name, value in (("R", r), ("CP", cp), ("G", g), ("TOP", top)):
        text = text.replace(f"@{name}@", repr(value))
    arrays = "pressure below phi mass dp temperature ground weights".split()
    return {
        name: Function(
            f"column_{name.split()[0]}", tuple(arrays), ("elements", "points", "levels"),
            text.replace("@DOWN@", down),
        )
        for name, down in (("one loop", _FUSED), ("two loops", _SPLIT))
    }  # fmt: skip


_BITONIC = """\
    const int *restrict unsorted = (const int *) input;
    int *restrict rows = (int *) output;
    #pragma omp parallel
    {
        int at[n];
        #pragma omp for
        for (long row = 0; row < arrays; ++row) {
            for (int k = 0; k < n; ++k) at[k] = unsorted[row * n + k];
            for (int run = 2; run <= n; run *= 2)
                for (int apart = run / 2; apart > 0; apart /= 2) {
                    @STEP@
                }
            for (int k = 0; k < n; ++k) rows[row * n + k] = at[k];
        }
    }
"""
_PAIRS = """\
for (int pair = 0; pair < n / 2; ++pair) {
                        const int low = 2 * pair - (pair & (apart - 1)), high = low + apart;
                        const int a = at[low], b = at[high];
                        if ((a > b) == ((low & run) == 0)) {
                            at[low] = b;
                            at[high] = a;
                        }
                    }"""
_NESTED = """\
for (int start = 0; start < n; start += 2 * apart) {
                        const int down = start & run;
                        int *restrict l = at + start, *restrict h = at + start + apart;
                        #pragma omp simd
                        for (int k = 0; k < apart; ++k) {
                            const int a = l[k], b = h[k];
                            const int least = a < b ? a : b, most = a < b ? b : a;
                            l[k] = down ? most : least;
                            h[k] = down ? least : most;
                        }
                    }"""
BITONIC = {
    name: Function(
        f"bitonic_{name.split()[0]}", ("output", "input"), ("arrays", "n"),
        _BITONIC.replace("@STEP@", step),
    )
    for name, step in (("pairs", _PAIRS), ("nested loops", _NESTED))
}  # fmt: skip

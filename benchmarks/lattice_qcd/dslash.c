/* The Dslash of examples/lattice_qcd by hand, as a C programmer writes it for one core or more:
 * complex numbers as structs, site by site, links and spinors of a site side by side. REAL is
 * float or double. */

typedef struct { REAL re, im; } number;

static inline number madd(number s, number a, number b)
{
    number r = { s.re + a.re * b.re - a.im * b.im, s.im + a.re * b.im + a.im * b.re };
    return r;
}

static inline number madd_conj(number s, number a, number b)
{
    number r = { s.re + a.re * b.re + a.im * b.im, s.im + a.re * b.im - a.im * b.re };
    return r;
}

static inline number plus(number a, number b, int sign)
{
    number r = { a.re + sign * b.re, a.im + sign * b.im };
    return r;
}

static inline number plus_i(number a, number b, int sign)
{
    number r = { a.re - sign * b.im, a.im + sign * b.re };
    return r;
}

static inline __attribute__((always_inline)) void hop(number out[4][3], const number (*p)[3],
    const number (*u)[3], int mu, int s, int adjoint)
{
    number h0[3], h1[3];
    for (int c = 0; c < 3; c++) {
        if (mu == 0) { h0[c] = plus_i(p[0][c], p[3][c], s); h1[c] = plus_i(p[1][c], p[2][c], s); }
        if (mu == 1) { h0[c] = plus(p[0][c], p[3][c], -s); h1[c] = plus(p[1][c], p[2][c], s); }
        if (mu == 2) { h0[c] = plus_i(p[0][c], p[2][c], s); h1[c] = plus_i(p[1][c], p[3][c], -s); }
        if (mu == 3) { h0[c] = plus(p[0][c], p[2][c], s); h1[c] = plus(p[1][c], p[3][c], s); }
    }
    for (int a = 0; a < 3; a++) {
        number x = { 0, 0 }, y = { 0, 0 };
        for (int c = 0; c < 3; c++) {
            if (adjoint) { x = madd_conj(x, u[c][a], h0[c]); y = madd_conj(y, u[c][a], h1[c]); }
            else { x = madd(x, u[a][c], h0[c]); y = madd(y, u[a][c], h1[c]); }
        }
        out[0][a] = plus(out[0][a], x, 1);
        out[1][a] = plus(out[1][a], y, 1);
        if (mu == 0) { out[2][a] = plus_i(out[2][a], y, -s); out[3][a] = plus_i(out[3][a], x, -s); }
        if (mu == 1) { out[2][a] = plus(out[2][a], y, s); out[3][a] = plus(out[3][a], x, -s); }
        if (mu == 2) { out[2][a] = plus_i(out[2][a], x, -s); out[3][a] = plus_i(out[3][a], y, s); }
        if (mu == 3) { out[2][a] = plus(out[2][a], x, s); out[3][a] = plus(out[3][a], y, s); }
    }
}

void dslash(const number (*here)[4][3][3], const number (*there)[4][3][3],
    const number (*psi)[4][3], number (*result)[4][3], int nx, int ny, int nz, int nt, int parity,
    int isign)
{
    const int half = nx / 2;
#define AT(x, y, z, t) (((long)((t) * nz + (z)) * ny + (y)) * half + (x))
#pragma omp parallel for collapse(2) schedule(static)
    for (int t = 0; t < nt; t++)
        for (int z = 0; z < nz; z++)
            for (int y = 0; y < ny; y++)
                for (int x = 0; x < half; x++) {
                    const long site = AT(x, y, z, t);
                    const int odd = (y + z + t + parity) & 1;
                    number out[4][3] = { 0 };
                    long f = AT(odd ? (x + 1 == half ? 0 : x + 1) : x, y, z, t);
                    long b = AT(odd ? x : (x == 0 ? half - 1 : x - 1), y, z, t);
                    hop(out, psi[f], here[site][0], 0, -isign, 0);
                    hop(out, psi[b], there[b][0], 0, isign, 1);
                    f = AT(x, y + 1 == ny ? 0 : y + 1, z, t);
                    b = AT(x, y == 0 ? ny - 1 : y - 1, z, t);
                    hop(out, psi[f], here[site][1], 1, -isign, 0);
                    hop(out, psi[b], there[b][1], 1, isign, 1);
                    f = AT(x, y, z + 1 == nz ? 0 : z + 1, t);
                    b = AT(x, y, z == 0 ? nz - 1 : z - 1, t);
                    hop(out, psi[f], here[site][2], 2, -isign, 0);
                    hop(out, psi[b], there[b][2], 2, isign, 1);
                    f = AT(x, y, z, t + 1 == nt ? 0 : t + 1);
                    b = AT(x, y, z, t == 0 ? nt - 1 : t - 1);
                    hop(out, psi[f], here[site][3], 3, -isign, 0);
                    hop(out, psi[b], there[b][3], 3, isign, 1);
                    for (int spin = 0; spin < 4; spin++)
                        for (int a = 0; a < 3; a++) result[site][spin][a] = out[spin][a];
                }
}

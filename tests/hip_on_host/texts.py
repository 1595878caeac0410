"""Kernels by hand in the names of generated HIP source, right ones and faulty ones."""

from __future__ import annotations

# LANES is replaced by the number of a wave's lanes less one, as printers write it.
RIGHT = {
    "add": """
typedef struct { long long _units; double _v0; } _args;
_ES_FUNCTION double _work(double a, double x, double y) { return a * x + y; }
_ES_KERNEL(128) es_for(const _args _a, const double *__restrict__ _b0, double *_b1) {
    const long long i = (long long)_ES_GROUP_ID(x) * _ES_GROUP_SIZE(x) + _ES_ITEM(x);
    if (i < _a._units) _b1[i] = _work(_a._v0, _b0[i], _b1[i]);
}
""",
    "reduce": """
typedef struct { long long _units; } _args;
_ES_KERNEL(256) es_reduce(const _args _a, const double *__restrict__ _b0, unsigned char *_scratch) {
    _ES_SHARED(double, _shared, [256]);
    _ES_SHARED(int, _last_of_group, );
    const int _lid = (int)_ES_ITEM(x);
    double _s = 0;
    for (long long i = _ES_GROUP_ID(x) * 256ll + _lid; i < _a._units; i += _ES_GROUPS(x) * 256ll)
        _s += _b0[i];
    _shared[_lid] = _s;
    for (int _w = 1; _w < 256; _w *= 2) {
        _ES_BARRIER();
        if (_lid % (2 * _w) == 0) _shared[_lid] += _shared[_lid + _w];
    }
    if (_lid == 0) {
        *(volatile double *)(_scratch + 64 + 16 * _ES_GROUP_ID(x)) = _shared[0];
        _last_of_group = _es_fetch_add((volatile int *)_scratch, 1) == (int)_ES_GROUPS(x) - 1;
    }
    _ES_BARRIER();
    const int _last = _last_of_group;
    if (_last) {
        _shared[_lid] = 0;
        if (_lid < (int)_ES_GROUPS(x))
            _shared[_lid] = *(volatile double *)(_scratch + 64 + 16 * _lid);
        for (int _w = 1; _w < 256; _w *= 2) {
            _ES_BARRIER();
            if (_lid % (2 * _w) == 0) _shared[_lid] += _shared[_lid + _w];
        }
        if (_lid == 0) *(double *)(_scratch + 16) = _shared[0];
    }
}
""",
    "wave": """
typedef struct { long long a; int b; } _pair;
_ES_KERNEL(256) es_wave(const int *_b0, int *_b1, _pair *_b2) {
    const int _lid = (int)_ES_ITEM(x), _lane = ((int)_ES_ITEM(x) & LANES);
    const unsigned long long all = LANES == 63 ? ~0ull : 0xffffffffull;
    int _s = _b0[_lid];
    for (int _w = 1; _w <= LANES; _w *= 2) {
        const int _o = _es_shuffle(all, _s, (_lane + _w) & LANES);
        if (_lane + _w <= LANES) _s += _o;
    }
    _b1[_lid] = _es_shuffle(all, _s, 0);
    // Parts of a wave exchange a struct, each for itself.
    const unsigned long long part = 0xffull << (_ES_LANE & ~7);
    _pair _p = {_lid * 10000000000ll, _lid};
    _ES_LANE_SYNC(part);
    _b2[_lid] = _es_shuffle(part, _p, _ES_LANE ^ 5);
}
""",
    "histogram": """
_ES_KERNEL(256) es_for(const int *_b0, int *_b1, double *_b2) {
    const int i = (int)(_ES_GROUP_ID(x) * _ES_GROUP_SIZE(x) + _ES_ITEM(x));
    _es_atomic_add(&_b1[_b0[i]], 1);
    _es_atomic_add((volatile double *)_b2, 0.5);
}
""",
    "dynamic": """
_ES_KERNEL(128) es_for(double *_b0) {
    _ES_GROUP_MEMORY;
    double *_own = (double *)_group_memory;
    _b0 += _ES_GROUP_ID(x) * _ES_GROUP_SIZE(x);
    _own[_ES_ITEM(x)] = _b0[_ES_ITEM(x)];
    _ES_BARRIER();
    _b0[_ES_ITEM(x)] = _own[_ES_GROUP_SIZE(x) - 1 - _ES_ITEM(x)];
}
""",
    "axes": """
_ES_KERNEL(64) es_for(int *_b0) {
    _ES_STRICT
    const unsigned int x = _ES_GROUP_ID(x) * _ES_GROUP_SIZE(x) + _ES_ITEM(x);
    const unsigned int y = _ES_GROUP_ID(y) * _ES_GROUP_SIZE(y) + _ES_ITEM(y);
    const unsigned int z = _ES_GROUP_ID(z) * _ES_GROUP_SIZE(z) + _ES_ITEM(z);
    const unsigned int ny = _ES_GROUPS(y) * _ES_GROUP_SIZE(y);
    _b0[(z * ny + y) * _ES_GROUPS(x) * _ES_GROUP_SIZE(x) + x] = 10000 * x + 100 * y + z;
}
""",
    # A group waits for what the one before it tells; those that wait and those that tell alternate.
    "tell": """
_ES_KERNEL(64) es_scan(int *_count, unsigned long long *_flags, long long *_b0) {
    _ES_SHARED(int, _number, );
    _ES_SHARED(long long, _before, );
    if (_ES_ITEM(x) == 0) _number = _es_fetch_add(_count, 1);
    _ES_BARRIER();
    if (_ES_ITEM(x) == 0) {
        _before = 0;
        if (_number > 0) {
            while (_es_load_acquire(&_flags[_number - 1]) != 7) {}
            _before = _b0[64 * _number - 1];
        }
    }
    _ES_BARRIER();
    _b0[64 * _number + _ES_ITEM(x)] = _before + _ES_ITEM(x) + 1;
    _ES_BARRIER();
    if (_ES_ITEM(x) == 0) _es_store_release(&_flags[_number], 7);
}
""",
    "fence": """
_ES_KERNEL(64) es_for(double *_b0, int *_flag) {
    if (_ES_ITEM(x) == 0 && _ES_GROUP_ID(x) == 0) {
        _b0[0] = 3;
        _ES_FENCE();
        _es_atomic_exchange(_flag, 1);
    }
    if (_ES_ITEM(x) == 0 && _ES_GROUP_ID(x) == 1) {
        while (_es_atomic_load(_flag) == 0) {}
        _ES_FENCE();
        _b0[1] = _b0[0];
    }
}
""",
    "order": """
_ES_KERNEL(64) es_for(int *_count, int *_b0) {
    _b0[_es_fetch_add(_count, 1)] = (int)(64 * _ES_GROUP_ID(x) + _ES_ITEM(x));
    _ES_BARRIER();
    _b0[_es_fetch_add(_count, 1)] = (int)(64 * _ES_GROUP_ID(x) + _ES_ITEM(x));
}
""",
    "numbers": """
_ES_KERNEL(1) es_for(const double *_b0, unsigned short *_b1, float *_b2, double *_b3, float *_b4) {
    for (int n = 0; n < 65536; ++n) {
        _b2[n] = _es_float_of((unsigned short)n);
        _b1[n] = _es_half_of(_b0[n]);
    }
    const double x = 0.3, nan = _es_bit_cast<double>(0x7ff8000000000000ull);
    const double found[] = {_es_sqrt(x), _es_exp2(x), _es_log1p(x), _es_asinh(x), _es_erfc(x),
        _es_tgamma(x), _es_lgamma(x), _es_rint(2.5), _es_atan2(x, 2.0), _es_pow(x, 2.5),
        _es_copysign(x, -1.0), _es_fmod(7.5, 2.0), (double)_es_isnan(nan),
        (double)_es_isinf(1.0f / 0.0f), (double)_es_isfinite(nan)};
    for (int n = 0; n < 15; ++n) _b3[n] = found[n];
    _b4[0] = _es_sinf(0.3f); _b4[1] = _es_powf(0.3f, 2.5f); _b4[2] = _es_fabsf(-0.3f);
    _b4[3] = _es_cbrtf(0.3f); _b4[4] = _es_bit_cast<float>(0x3f800001u);
}
""",
}

# Of every type all steps, from 12 with 10: what was there before, and what is there then.
_STEPS = ("add", "sub", "exchange", "min", "max", "and", "or", "xor")
_TYPES = ("int", "unsigned int", "long long", "unsigned long long", "float", "double")
RIGHT["atomics"] = "".join(
    f"_ES_KERNEL(1) es_{n}(double *_b0) {{\n"
    + f"{kind} x; {kind} old;\n"
    + "".join(
        f"x = 12; old = _es_atomic_{step}(&x, ({kind})10); "
        f"_b0[{2 * k}] = (double)old; _b0[{2 * k + 1}] = (double)x;\n"
        for k, step in enumerate(_STEPS)
        if n < 4 or step not in ("and", "or", "xor")
    )
    + f"x = 12; old = _es_atomic_compare_exchange(&x, ({kind})12, ({kind})3);"
    + " _b0[16] = (double)old; _b0[17] = (double)x;\n"
    + f"old = _es_atomic_compare_exchange(&x, ({kind})12, ({kind})4);"
    + " _b0[18] = (double)old; _b0[19] = (double)x;\n}\n"
    for n, kind in enumerate(_TYPES)
)

FAULTY = {
    # A sum that is not an atomic operation, by items of different groups.
    "race": """
_ES_KERNEL(64) es_for(double *_b0) { if (_ES_ITEM(x) == 0) _b0[0] += 1; }
""",
    # Told without order.
    "relaxed": RIGHT["fence"].replace("_ES_FENCE();", ""),
    "outside": """
_ES_KERNEL(64) es_for(const double *_b0, double *_b1) { _b1[_ES_ITEM(x)] = _b0[_ES_ITEM(x) + 1]; }
""",
    "outside_group": """
_ES_KERNEL(64) es_for(double *_b0) {
    _ES_SHARED(double, _own, [64]);
    _own[_ES_ITEM(x) + _ES_GROUPS(x)] = 1;  // one too far
    _ES_BARRIER();
    _b0[_ES_ITEM(x)] = _own[_ES_ITEM(x)];
}
""",
    "outside_dynamic": """
_ES_KERNEL(64) es_for(double *_b0) {
    _ES_GROUP_MEMORY;
    _b0[_ES_ITEM(x)] = _group_memory[16 * _ES_ITEM(x)];
}
""",
    "overflow": """
_ES_KERNEL(1) es_for(int *_b0) { _b0[0] = _b0[1] + _b0[2]; }
""",
    "unwritten": """
_ES_KERNEL(64) es_for(double *_b0) {
    _ES_SHARED(double, _own, [64]);
    _b0[_ES_ITEM(x)] = _own[_ES_ITEM(x)];
}
""",
    "returned": """
_ES_KERNEL(64) es_for(double *_b0) {
    if (_ES_ITEM(x) == 3) return;
    _ES_BARRIER();
    _b0[0] = 1;
}
""",
    "different": """
_ES_KERNEL(64) es_for(double *_b0) {
    if (_ES_ITEM(x) < 7) {
        _ES_BARRIER();
    } else {
        _ES_BARRIER();
    }
}
""",
    "lanes": """
_ES_KERNEL(64) es_for(double *_b0) {
    if (_ES_ITEM(x) < 8 && _ES_ITEM(x) % 2) _ES_LANE_SYNC(0xffull);
}
""",
    "stranger": """
_ES_KERNEL(64) es_for(int *_b0) {
    if (_ES_LANE < 8) _ES_LANE_SYNC(0xff00ull);
}
""",
    # The value of a lane that takes no part is none that anybody may use.
    "absent": """
_ES_KERNEL(64) es_for(double *_b0) {
    if (_ES_ITEM(x) < 8) _b0[_ES_LANE] = _es_shuffle(0xffull, 1.0, 8);
}
""",
    "never": """
_ES_KERNEL(64) es_for(unsigned long long *_b0) { while (_es_load_acquire(_b0) != 7) {} }
""",
    "nowhere": """
_ES_KERNEL(64) es_for(int **_b0) { if (_ES_ITEM(x) == 5) **_b0 = 1; }
""",
    "too_much": """
_ES_KERNEL(64) es_for(int *_b0) {
    _ES_SHARED(int, _own, [16385]);
    _own[_ES_ITEM(x)] = 1;
    _b0[0] = _own[0];
}
""",
    "syntax": "_ES_KERNEL(64) es_for(int *_b0) {\n    _b0[0] = missing;\n}\n",
}  # fmt: skip

"""Functions in LLVM IR for what takes more than a few instructions: Python's division of integers
and floats, powers of integers, square roots of complex numbers; and memory for launches.

They have no fast-math flags, so they are as exact in kernels with any options.
"""

from __future__ import annotations

from .spelling import FLOATS, float_constant

Needed = tuple[tuple[str, str], ...]
"""Names and declarations of the functions that a function calls."""

_FLOORDIV = """
define internal iN @floordiv.iN(iN %a, iN %b) alwaysinline {
  %zero = icmp eq iN %b, 0
  %minus = icmp eq iN %b, -1
  %either = or i1 %zero, %minus
  %d = select i1 %either, iN 1, iN %b
  %q = sdiv iN %a, %d
  %p = mul iN %q, %d
  %inexact = icmp ne iN %p, %a
  %x = xor iN %a, %d
  %signs = icmp slt iN %x, 0
  %less = and i1 %inexact, %signs
  %one = zext i1 %less to iN
  %floor = sub iN %q, %one
  %negated = sub iN 0, %a
  %usual = select i1 %minus, iN %negated, iN %floor
  %r = select i1 %zero, iN 0, iN %usual
  ret iN %r
}"""

_MOD = """
define internal iN @mod.iN(iN %a, iN %b) alwaysinline {
  %zero = icmp eq iN %b, 0
  %minus = icmp eq iN %b, -1
  %either = or i1 %zero, %minus
  %d = select i1 %either, iN 1, iN %b
  %m = srem iN %a, %d
  %inexact = icmp ne iN %m, 0
  %x = xor iN %m, %d
  %signs = icmp slt iN %x, 0
  %more = and i1 %inexact, %signs
  %add = select i1 %more, iN %d, iN 0
  %r = add iN %m, %add
  ret iN %r
}"""

_UNSIGNED_FLOORDIV = """
define internal iN @ufloordiv.iN(iN %a, iN %b) alwaysinline {
  %zero = icmp eq iN %b, 0
  %d = select i1 %zero, iN 1, iN %b
  %q = udiv iN %a, %d
  %r = select i1 %zero, iN 0, iN %q
  ret iN %r
}"""

_UNSIGNED_MOD = """
define internal iN @umod.iN(iN %a, iN %b) alwaysinline {
  %zero = icmp eq iN %b, 0
  %d = select i1 %zero, iN 1, iN %b
  %r = urem iN %a, %d
  ret iN %r
}"""

# Wraps. For b < 0 it is the truncated quotient of 1 and a**-b.
_POW = """
define internal i64 @pow.i64(i64 %a, i64 %b) {
entry:
  %negative = icmp slt i64 %b, 0
  br i1 %negative, label %inverse, label %square
inverse:
  %isone = icmp eq i64 %a, 1
  %isminus = icmp eq i64 %a, -1
  %bit = and i64 %b, 1
  %odd = icmp ne i64 %bit, 0
  %sign = select i1 %odd, i64 -1, i64 1
  %other = select i1 %isminus, i64 %sign, i64 0
  %r1 = select i1 %isone, i64 1, i64 %other
  ret i64 %r1
square:
  %r = call i64 @pow.u64(i64 %a, i64 %b)
  ret i64 %r
}"""

_UNSIGNED_POW = """
define internal i64 @pow.u64(i64 %a, i64 %b) {
entry:
  %none = icmp eq i64 %b, 0
  br i1 %none, label %end, label %loop
loop:
  %x = phi i64 [ %a, %entry ], [ %xx, %loop ]
  %n = phi i64 [ %b, %entry ], [ %half, %loop ]
  %p = phi i64 [ 1, %entry ], [ %p1, %loop ]
  %bit = and i64 %n, 1
  %odd = icmp ne i64 %bit, 0
  %px = mul i64 %p, %x
  %p1 = select i1 %odd, i64 %px, i64 %p
  %xx = mul i64 %x, %x
  %half = lshr i64 %n, 1
  %more = icmp ne i64 %half, 0
  br i1 %more, label %loop, label %end
end:
  %r = phi i64 [ 1, %entry ], [ %p1, %loop ]
  ret i64 %r
}"""

# The algorithm of Python's float_divmod, which NumPy uses, too.
_FLOAT_FLOORDIV = """
define internal REAL @floordiv.S(REAL %a, REAL %b) alwaysinline {
entry:
  %s = fdiv REAL %a, %b
  %zero = fcmp oeq REAL %b, ZERO
  br i1 %zero, label %end, label %rest
rest:
  %m = frem REAL %a, %b
  %am = fsub REAL %a, %m
  %q = fdiv REAL %am, %b
  %inexact = fcmp une REAL %m, ZERO
  %bneg = fcmp olt REAL %b, ZERO
  %mneg = fcmp olt REAL %m, ZERO
  %signs = xor i1 %bneg, %mneg
  %less = and i1 %inexact, %signs
  %q1 = fsub REAL %q, ONE
  %q2 = select i1 %less, REAL %q1, REAL %q
  %nothing = fcmp oeq REAL %q2, ZERO
  %signed = call REAL @llvm.copysign.S(REAL ZERO, REAL %s)
  %w = call REAL @llvm.floor.S(REAL %q2)
  %left = fsub REAL %q2, %w
  %up = fcmp ogt REAL %left, HALF
  %w1 = fadd REAL %w, ONE
  %w2 = select i1 %up, REAL %w1, REAL %w
  %r1 = select i1 %nothing, REAL %signed, REAL %w2
  br label %end
end:
  %r = phi REAL [ %s, %entry ], [ %r1, %rest ]
  ret REAL %r
}"""

_FLOAT_MOD = """
define internal REAL @mod.S(REAL %a, REAL %b) alwaysinline {
  %m = frem REAL %a, %b
  %zero = fcmp oeq REAL %b, ZERO
  %exact = fcmp oeq REAL %m, ZERO
  %signed = call REAL @llvm.copysign.S(REAL ZERO, REAL %b)
  %bneg = fcmp olt REAL %b, ZERO
  %mneg = fcmp olt REAL %m, ZERO
  %signs = xor i1 %bneg, %mneg
  %mb = fadd REAL %m, %b
  %r1 = select i1 %signs, REAL %mb, REAL %m
  %r2 = select i1 %exact, REAL %signed, REAL %r1
  %r = select i1 %zero, REAL %m, REAL %r2
  ret REAL %r
}"""

# As C's csqrt: the larger part first, to avoid cancellation; scaled if the modulus would overflow.
# For special values see C11, annex G.6.4.2.
_COMPLEX_SQRT = """
define internal { REAL, REAL } @csqrt.S(REAL %a, REAL %b) {
entry:
  %sizea = call REAL @llvm.fabs.S(REAL %a)
  %sizeb = call REAL @llvm.fabs.S(REAL %b)
  %za = fcmp oeq REAL %a, ZERO
  %zb = fcmp oeq REAL %b, ZERO
  %zero = and i1 %za, %zb
  %binf = fcmp oeq REAL %sizeb, INF
  %at0 = select i1 %zero, REAL ZERO, REAL INF
  %special = or i1 %zero, %binf
  br i1 %special, label %end, label %n1
n1:
  %nan = fcmp uno REAL %a, %a
  br i1 %nan, label %end, label %n2
n2:
  %ainf = fcmp oeq REAL %sizea, INF
  %aneg = fcmp olt REAL %a, ZERO
  br i1 %ainf, label %n3, label %n4
n3:
  %rest = fsub REAL %b, %b
  %sizer = call REAL @llvm.fabs.S(REAL %rest)
  %n3re = select i1 %aneg, REAL %sizer, REAL %a
  %n3from = select i1 %aneg, REAL %a, REAL %rest
  %n3im = call REAL @llvm.copysign.S(REAL %n3from, REAL %b)
  br label %end
n4:
  %la = fcmp ogt REAL %sizea, HUGE
  %lb = fcmp ogt REAL %sizeb, HUGE
  %large = or i1 %la, %lb
  %down = select i1 %large, REAL QUARTER, REAL ONE
  %up = select i1 %large, REAL TWO, REAL ONE
  %x = fmul REAL %a, %down
  %y = fmul REAL %b, %down
  %sizex = call REAL @llvm.fabs.S(REAL %x)
  %sizey = call REAL @llvm.fabs.S(REAL %y)
  %modulus = call REAL @HYPOT(REAL %x, REAL %y)
  %sum = fadd REAL %sizex, %modulus
  %halved = fmul REAL %sum, HALF
  %t = call REAL @llvm.sqrt.S(REAL %halved)
  %t2 = fmul REAL %t, TWO
  %from = select i1 %aneg, REAL %sizey, REAL %y
  %quotient = fdiv REAL %from, %t2
  %signed = call REAL @llvm.copysign.S(REAL %t, REAL %y)
  %re1 = select i1 %aneg, REAL %quotient, REAL %t
  %im1 = select i1 %aneg, REAL %signed, REAL %quotient
  %re = fmul REAL %re1, %up
  %im = fmul REAL %im1, %up
  br label %end
end:
  %r = phi REAL [ %at0, %entry ], [ %a, %n1 ], [ %n3re, %n3 ], [ %re, %n4 ]
  %i = phi REAL [ %b, %entry ], [ %a, %n1 ], [ %n3im, %n3 ], [ %im, %n4 ]
  %p = insertvalue { REAL, REAL } poison, REAL %r, 0
  %z = insertvalue { REAL, REAL } %p, REAL %i, 1
  ret { REAL, REAL } %z
}"""

# Memory that begins at a cache line; the address from malloc is stored before it.
_ALLOCATE = """
define internal ptr @allocate(i64 %nbytes) {
  %more = add i64 %nbytes, 128
  %given = call ptr @malloc(i64 %more)
  %address = ptrtoint ptr %given to i64
  %past = add i64 %address, 128
  %line = and i64 %past, -64
  %place = inttoptr i64 %line to ptr
  %before = getelementptr i8, ptr %place, i64 -8
  store ptr %given, ptr %before
  ret ptr %place
}"""

_RELEASE = """
define internal void @release(ptr %place) {
  %before = getelementptr i8, ptr %place, i64 -8
  %given = load ptr, ptr %before
  call void @free(ptr %given)
  ret void
}"""


def _intrinsic(name: str, kind: str, arity: int) -> tuple[str, str]:
    symbol, t = f"llvm.{name}.f{kind[-2:]}", FLOATS[kind]
    return symbol, f"declare {t} @{symbol}({', '.join([t] * arity)})"


_LARGEST = {"float32": 3.4028234663852886e38, "float64": 1.7976931348623157e308}
_NUMBERS = {"ZERO": 0.0, "ONE": 1.0, "TWO": 2.0, "HALF": 0.5, "QUARTER": 0.25, "INF": float("inf")}
_TEMPLATES = {
    "floordiv": (_FLOAT_FLOORDIV, ("copysign", "floor")),
    "mod": (_FLOAT_MOD, ("copysign",)),
    "csqrt": (_COMPLEX_SQRT, ("fabs", "copysign", "sqrt")),
}


def _table() -> dict[str, tuple[str, Needed]]:
    found: dict[str, tuple[str, Needed]] = {}
    integers = {
        "floordiv": _FLOORDIV, "mod": _MOD, "ufloordiv": _UNSIGNED_FLOORDIV, "umod": _UNSIGNED_MOD
    }  # fmt: skip
    for name, text in integers.items():
        for width in (32, 64):
            found[f"{name}.i{width}"] = text.replace("iN", f"i{width}").strip(), ()
    found["pow.u64"] = _UNSIGNED_POW.strip(), ()
    found["pow.i64"] = _POW.strip(), ()
    for kind, largest in _LARGEST.items():
        hypot = "hypot" if kind == "float64" else "hypotf"
        for name, (text, intrinsics) in _TEMPLATES.items():
            made = text.strip().replace("REAL", FLOATS[kind]).replace(".S(", f".f{kind[-2:]}(")
            for word, value in {**_NUMBERS, "HUGE": largest / 4}.items():
                made = made.replace(word, float_constant(value, kind))
            needs = [_intrinsic(i, kind, 1 + (i == "copysign")) for i in intrinsics]
            if "HYPOT" in made:
                made = made.replace("HYPOT", hypot)
                needs.append(
                    (hypot, f"declare {FLOATS[kind]} @{hypot}({FLOATS[kind]}, {FLOATS[kind]})")
                )
            found[f"{name}.f{kind[-2:]}"] = made, tuple(needs)
    found["allocate"] = _ALLOCATE.strip(), (("malloc", "declare ptr @malloc(i64)"),)
    found["release"] = _RELEASE.strip(), (("free", "declare void @free(ptr)"),)
    return found


LIBRARY = _table()
"""Name, without the sign, of each function -> its text, and what it needs declared."""

NEEDS = {"pow.i64": ("pow.u64",)}
"""Functions of `LIBRARY` that others call."""

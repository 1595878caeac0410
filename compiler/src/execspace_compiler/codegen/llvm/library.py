"""Functions in LLVM IR for what takes more than a few instructions: Python's division of integers
and floats, powers of integers, square roots of complex numbers, conversions of float16; and memory
for launches.

They have no fast-math flags, so they are as exact in kernels with any options.
"""

from __future__ import annotations

from .spelling import FLOATS, float_constant

Needed = tuple[tuple[str, str], ...]
"""Names and declarations of the functions that a function calls."""

# Divisions by 0 and -1 are set apart by a branch, which is predicted: processors divide slowly, and
# do not wait for a choice of the divisor then.
_FLOORDIV = """
define internal iN @floordiv.iN(iN %a, iN %b) alwaysinline {
entry:
  %next = add iN %b, 1
  %usual = icmp ugt iN %next, 1
  br i1 %usual, label %divide, label %special
special:
  %negated = sub iN 0, %a
  %zero = icmp eq iN %b, 0
  %other = select i1 %zero, iN 0, iN %negated
  br label %end
divide:
  %q = sdiv iN %a, %b
  %p = mul iN %q, %b
  %inexact = icmp ne iN %p, %a
  %x = xor iN %a, %b
  %signs = icmp slt iN %x, 0
  %less = and i1 %inexact, %signs
  %one = sext i1 %less to iN
  %floor = add iN %q, %one
  br label %end
end:
  %r = phi iN [ %other, %special ], [ %floor, %divide ]
  ret iN %r
}"""

# Seen along the divisor, a remainder below zero is on its other side. Tests for zero and for the
# signs would be a step more beside the division.
_MOD = """
define internal iN @mod.iN(iN %a, iN %b) alwaysinline {
entry:
  %next = add iN %b, 1
  %usual = icmp ugt iN %next, 1
  br i1 %usual, label %divide, label %end
divide:
  %m = srem iN %a, %b
  %below = icmp slt iN %b, 0
  %ones = sext i1 %below to iN
  %turned = xor iN %m, %ones
  %along = sub iN %turned, %ones
  %more = icmp slt iN %along, 0
  %add = select i1 %more, iN %b, iN 0
  %whole = add iN %m, %add
  br label %end
end:
  %r = phi iN [ 0, %entry ], [ %whole, %divide ]
  ret iN %r
}"""

_UNSIGNED_FLOORDIV = """
define internal iN @ufloordiv.iN(iN %a, iN %b) alwaysinline {
entry:
  %zero = icmp eq iN %b, 0
  br i1 %zero, label %end, label %divide
divide:
  %q = udiv iN %a, %b
  br label %end
end:
  %r = phi iN [ 0, %entry ], [ %q, %divide ]
  ret iN %r
}"""

_UNSIGNED_MOD = """
define internal iN @umod.iN(iN %a, iN %b) alwaysinline {
entry:
  %zero = icmp eq iN %b, 0
  br i1 %zero, label %end, label %divide
divide:
  %m = urem iN %a, %b
  br label %end
end:
  %r = phi iN [ 0, %entry ], [ %m, %divide ]
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

# float16 from and to float32 in integers, without branches, so that it is vectorised. Subnormal
# numbers of float16 are normal ones of float32, and none is subnormal on the way.
_HALF_WIDENED = """
define internal float @half.widened(half %h) alwaysinline {
  %short = bitcast half %h to i16
  %bits = zext i16 %short to i32
  %size = and i32 %bits, 32767
  %shifted = shl i32 %size, 13
  %normal = add i32 %shifted, 939524096
  %special = icmp uge i32 %size, 31744
  %beyond = or i32 %normal, 2139095040
  %large = select i1 %special, i32 %beyond, i32 %normal
  %tiny = icmp ult i32 %size, 1024
  %count = sitofp i32 %size to float
  %small = fmul float %count, SMALLEST
  %least = bitcast float %small to i32
  %positive = select i1 %tiny, i32 %least, i32 %large
  %high = shl i32 %bits, 16
  %sign = and i32 %high, -2147483648
  %all = or i32 %positive, %sign
  %x = bitcast i32 %all to float
  ret float %x
}"""

# To nearest, ties to even. Added to 0.5, whose last digit is the smallest float16, a subnormal
# result is rounded by the addition.
_HALF_ROUNDED = """
define internal half @half.rounded(float %x) alwaysinline {
  %bits = bitcast float %x to i32
  %size = and i32 %bits, 2147483647
  %last = lshr i32 %size, 13
  %odd = and i32 %last, 1
  %biased = add i32 %size, -939520001
  %up = add i32 %biased, %odd
  %normal = lshr i32 %up, 13
  %positive = bitcast i32 %size to float
  %sum = fadd float %positive, HALF
  %counted = bitcast float %sum to i32
  %subnormal = sub i32 %counted, 1056964608
  %tiny = icmp ult i32 %size, 947912704
  %finite = select i1 %tiny, i32 %subnormal, i32 %normal
  %large = icmp uge i32 %size, 1199566848
  %number = select i1 %large, i32 31744, i32 %finite
  %nan = icmp ugt i32 %size, 2139095040
  %payload = and i32 %last, 1023
  %quiet = or i32 %payload, 32256
  %value = select i1 %nan, i32 %quiet, i32 %number
  %high = lshr i32 %bits, 16
  %sign = and i32 %high, 32768
  %all = or i32 %value, %sign
  %short = trunc i32 %all to i16
  %h = bitcast i16 %short to half
  ret half %h
}"""

# A float64 as a float32, towards zero but with an odd last digit if that is not exact: then
# rounding it to float16 is rounding the float64 (Boldo and Melquiond 2008, "Emulation of FMA and
# correctly rounded sums: proved algorithms using rounding to odd"). The sign goes by itself: where
# LLVM knows that a number is a zero, it would make one conversion of two, which it has no code for.
_HALF_ODD = """
define internal float @half.odd(double %x) alwaysinline {
  %bits = bitcast double %x to i64
  %size = and i64 %bits, 9223372036854775807
  %rest = and i64 %size, 536870911
  %inexact = icmp ne i64 %rest, 0
  %cut = and i64 %size, -536870912
  %odd = or i64 %cut, 536870912
  %kept = select i1 %inexact, i64 %odd, i64 %cut
  %d = bitcast i64 %kept to double
  %positive = fptrunc double %d to float
  %single = bitcast float %positive to i32
  %high = lshr i64 %bits, 32
  %upper = trunc i64 %high to i32
  %sign = and i32 %upper, -2147483648
  %all = or i32 %single, %sign
  %f = bitcast i32 %all to float
  ret float %f
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
    found["half.widened"] = _float32(_HALF_WIDENED, SMALLEST=2.0**-24), ()
    found["half.rounded"] = _float32(_HALF_ROUNDED, HALF=0.5), ()
    found["half.odd"] = _HALF_ODD.strip(), ()
    found["allocate"] = _ALLOCATE.strip(), (("malloc", "declare ptr @malloc(i64)"),)
    found["release"] = _RELEASE.strip(), (("free", "declare void @free(ptr)"),)
    return found


def _float32(text: str, **numbers: float) -> str:
    """The text of a function with constants of float32 in it."""
    for word, value in numbers.items():
        text = text.replace(word, float_constant(value, "float32"))
    return text.strip()


LIBRARY = _table()
"""Name, without the sign, of each function -> its text, and what it needs declared."""

NEEDS = {"pow.i64": ("pow.u64",)}
"""Functions of `LIBRARY` that others call."""

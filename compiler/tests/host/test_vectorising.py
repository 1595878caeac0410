"""What is read from optimised LLVM IR: vector loops, what was packed without, and scalar loops."""

from __future__ import annotations

import textwrap

import pytest

from execspace_compiler.host.vectorising import describe_vectors


def told(*functions, metadata=""):
    """The lines for functions, each a name and the text of its body."""
    text = [
        f"define i32 @{name}() {{\n{textwrap.dedent(body).strip()}\n}}" for name, body in functions
    ]
    return describe_vectors("\n\n".join([*text, metadata]))


MARKED = """
!1 = distinct !{!1, !2, !3}
!2 = !{!"llvm.loop.isvectorized", i32 1}
!3 = !{!"llvm.loop.unroll.runtime.disable"}
"""

# Eight elements a round, in two vectors; and the scalar rest of the range.
VECTOR = """
    entry:
      br label %vector.body

    vector.body:
      %n = phi i64 [ 0, %entry ], [ %next, %vector.body ]
      %p = getelementptr double, ptr %x, i64 %n
      %q = getelementptr double, ptr %p, i64 4
      %a = load <4 x double>, ptr %p, align 8
      %b = load <4 x double>, ptr %q, align 8
      %c = fmul contract <4 x double> %a, %a
      %d = fmul contract <4 x double> %b, %b
      store <4 x double> %c, ptr %p, align 8
      store <4 x double> %d, ptr %q, align 8
      %next = add nuw i64 %n, 8
      %over = icmp eq i64 %next, %end
      br i1 %over, label %rest, label %vector.body, !llvm.loop !1

    rest:
      %m = phi i64 [ %end, %vector.body ], [ %m1, %rest ]
      %r = getelementptr double, ptr %x, i64 %m
      %v = load double, ptr %r, align 8
      store double %v, ptr %r, align 8
      %m1 = add nuw nsw i64 %m, 1
      %done = icmp eq i64 %m1, %last
      br i1 %done, label %exit, label %rest, !llvm.loop !1

    exit:
      ret i32 0
"""
TWO_VECTORS = (
    "1 innermost loop: vectors of 4 x float64, 2 interleaved "
    "(2 packed floating operations, 4 packed memory accesses)"
)

# A loop around a loop, with quoted names of blocks.
SCALAR = """
    "entry":
      br label %"outer"

    "outer":
      %k = phi i64 [ 0, %"entry" ], [ %k1, %"outer.end" ]
      br label %"inner"

    "inner":
      %n = phi i64 [ 0, %"outer" ], [ %n1, %"inner" ]
      %s = phi float [ 0.0, %"outer" ], [ %s1, %"inner" ]
      %p = getelementptr float, ptr %x, i64 %n
      %a = load float, ptr %p, align 4
      %s1 = fadd contract float %s, %a
      %n1 = add nuw nsw i64 %n, 1
      %over = icmp eq i64 %n1, %end
      br i1 %over, label %"outer.end", label %"inner"

    "outer.end":
      store float %s1, ptr %y, align 4
      %k1 = add nuw nsw i64 %k, 1
      %last = icmp eq i64 %k1, %rows
      br i1 %last, label %"exit", label %"outer"

    "exit":
      ret i32 0
"""
IN_ORDER = "each round adds to the floating number of the one before, in order"
ONE_SUM = f"1 innermost loop: not vectorised: {IN_ORDER} (1 scalar floating operation, 1 scalar memory access)"  # noqa: E501


def test_vector_loops_and_how_many_vectors_a_round_has():
    assert told(("part1", VECTOR), metadata=MARKED) == (TWO_VECTORS,)


def test_packed_statements_of_a_loop_that_the_vectoriser_left_alone():
    (line,) = told(("part1", VECTOR.partition("rest:")[0] + "rest:\n      ret i32 0"))
    assert line.startswith("1 innermost loop: no vector loop, but its statements were packed into")


def test_scalar_loops_say_what_keeps_them_from_vectors():
    assert told(("part1", SCALAR)) == (ONE_SUM,)
    assert told(("part1", SCALAR.replace("fadd contract", "fadd reassoc contract"))) == (
        ONE_SUM.replace(f": {IN_ORDER}", ""),
    )
    called = SCALAR.replace("fadd contract float %s, %a", "call float @erff(float %a)")
    (line,) = told(("part1", called))
    assert "not vectorised: it calls erff" in line
    atomic = SCALAR.replace("%a = load float,", "%a = load atomic float,")
    assert "it has atomic operations" in told(("part1", atomic))[0]


@pytest.mark.parametrize("part", ["part1", "part2", "f._chunk", "f._totals"])
def test_what_parts_of_the_range_do_counts_where_it_has_loops(part):
    functions = (("f._finish", SCALAR), (part, VECTOR))
    assert told(*functions, metadata=MARKED) == (TWO_VECTORS,)
    assert told(("f._finish", SCALAR), (part, "entry:\n  ret i32 0")) == (ONE_SUM,)


def test_loops_over_parts_do_not_count():
    parts = SCALAR.replace("%a = load float, ptr %p, align 4", "call void @part1(ptr %p, i64 %n)")
    assert told(("team_part1", parts), ("part1", VECTOR), metadata=MARKED) == (TWO_VECTORS,)
    assert told(("team_part1", parts)) == ("no loops are left in the machine code",)


def test_functions_of_the_user_have_his_names():
    called = SCALAR.replace("fadd contract float %s, %a", "call float @f.smooth(float %a)")
    assert "not vectorised: it calls smooth, " in told(("part1", called))[0]


def test_a_loop_that_was_copied_into_several_functions_counts_once():
    assert told(("part1", SCALAR), ("f._totals", SCALAR)) == (ONE_SUM,)


def test_the_function_for_python_does_not_count():
    body = "entry:\n  ret i32 0"
    nothing = ("no loops are left in the machine code",)
    assert told(("execspace_entry", SCALAR)) == told(("part1", body)) == nothing

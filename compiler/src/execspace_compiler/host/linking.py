"""Functions that Numba only links into others, without machine code of their own.

Numba compiles each function that another one calls to machine code, which for kernels takes a tenth
of the compile time, and keeps it until the process ends. Only launches are called.
"""
# Numba has no annotations.
# mypy: disable-error-code="no-untyped-call,misc"

from __future__ import annotations

from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering


class _Linked(JITCodeLibrary):
    """A module of LLVM that is optimised and linked into others, without code generation."""

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironments(self._codegen)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class _WithoutEnvironments:
    """A code generator without environments of functions, which only calls from Python use."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def set_env(self, name: str, env: Any) -> None:
        """Do nothing, since there is no machine code that would read it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "execspace_linked_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _Linked(state.targetctx.codegen(), state.func_id.func_qualname)
        lowered: bool = super().run_pass(state)
        return lowered


class _Pipeline(CompilerBase):
    def define_pipelines(self) -> list[Any]:
        manager = PassManager("execspace_linked")
        for steps in (
            DefaultPassBuilder.define_untyped_pipeline(self.state),
            DefaultPassBuilder.define_typed_pipeline(self.state),
            DefaultPassBuilder.define_nopython_lowering_pipeline(self.state),
        ):
            for step, what in steps.passes:
                manager.add_pass(_Lowering if step is NativeLowering else step, what)
        manager.finalize()
        return [manager]


def linked(**options: Any) -> Any:
    """As `numba.njit`, for a function that only such functions and launches call.

    It cannot be called from Python.
    """
    return numba.njit(
        pipeline_class=_Pipeline, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )

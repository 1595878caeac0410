"""Libraries that a benchmark compares with where they are installed, and says so where not."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


class NotThere(Exception):
    """What a contestant needs is not installed, or finds no device."""


def library(name: str) -> Any:
    """A module; NotThere if it cannot be imported."""
    try:
        return import_module(name)
    except ImportError as error:
        raise NotThere(f"{name}: {error}") from None


def cupy_on_device() -> Any:
    """CuPy; NotThere if it is not installed or finds no device."""
    cupy = library("cupy")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise NotThere(f"CuPy finds no device: {error}") from None
    if not count:
        raise NotThere("CuPy finds no device")
    return cupy


def torch_on_device() -> Any:
    """PyTorch; NotThere if it is not installed or cannot use a CUDA device."""
    torch = library("torch")
    if not torch.cuda.is_available():
        raise NotThere(f"PyTorch {torch.__version__} finds no CUDA device")
    return torch


def numba_cuda() -> Any:
    """Numba's module for CUDA; NotThere if it cannot be used."""
    numba = library("numba")
    cuda = library("numba.cuda")
    if not cuda.is_available():
        raise NotThere(f"Numba {numba.__version__} finds no CUDA device")
    numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # small launches are what is measured
    return cuda


def jax_in_float64(on_host: bool) -> tuple[Any, Any]:
    """JAX with float64, and one of its devices; NotThere if there is none of the kind."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else it takes most memory
    jax = library("jax")
    jax.config.update("jax_enable_x64", True)
    kind = "cpu" if on_host else "gpu"
    try:
        return jax, jax.devices(kind)[0]
    except RuntimeError as error:
        raise NotThere(f"JAX {jax.__version__} has no device of kind {kind!r}: {error}") from None

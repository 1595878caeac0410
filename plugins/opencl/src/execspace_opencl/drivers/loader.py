"""Prepares the OpenCL loader, before pyopencl uses it for the first time.

It shall see Intel's CPU runtime where that was installed from PyPI: its packages bring a driver but
no entry in the system's list of drivers. And PoCL shall keep what it compiles where execspace does.
Loader and drivers read their environment once.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from .pocl_cache import name_cache

_VENDORS = Path("/etc/OpenCL/vendors")
_CHOSEN = ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH")


def prepare_loader() -> None:
    """Load pyopencl such that it sees the system's drivers and Intel's from PyPI.

    Does nothing where the program has loaded pyopencl before; what the user says in the
    environment holds. Raises ImportError where pyopencl cannot be imported.
    """
    if "pyopencl" in sys.modules:
        return
    name_cache()
    driver = intel_driver()
    if driver is None or any(name in os.environ for name in _CHOSEN):
        return
    # The loader that pyopencl brings knows one folder of drivers, and no list beside it.
    with tempfile.TemporaryDirectory(prefix="execspace-") as folder:
        for entry in sorted(_VENDORS.glob("*.icd")):
            with contextlib.suppress(OSError):
                shutil.copyfile(entry, Path(folder) / entry.name)
        # Last, so that numbers of platforms stay what they are without it.
        Path(folder, "zz-intel.icd").write_text(f"{driver}\n", encoding="utf-8")
        os.environ["OCL_ICD_VENDORS"] = folder
        try:
            import pyopencl as cl

            with contextlib.suppress(cl.Error):
                cl.get_platforms()
        finally:  # programs that this one starts find no such folder
            del os.environ["OCL_ICD_VENDORS"]


def intel_driver() -> Path | None:
    """Path of the driver that the package intel-opencl-rt brings, or None."""
    try:
        installed = files("intel-opencl-rt") or []
    except PackageNotFoundError:
        return None
    for file in installed:
        if file.name == "libintelocl.so":
            path = Path(str(file.locate())).resolve()
            return path if path.exists() else None
    return None

"""Makes the OpenCL loader see Intel's CPU runtime where it was installed from PyPI.

Its packages bring a driver but no entry in the system's list of drivers. The loader reads that
list once, so this must happen before pyopencl is imported.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

_VENDORS = Path("/etc/OpenCL/vendors")


def prepare_runtime() -> None:
    """Name Intel's driver to the loader if it is installed and the user named none.

    Drivers of the system stay visible: each is named as well.
    """
    if "pyopencl" in sys.modules or "OCL_ICD_VENDORS" in os.environ:
        return
    driver = intel_driver()
    if driver is None or "OCL_ICD_FILENAMES" in os.environ:
        return
    # The loader reads OCL_ICD_FILENAMES beside the system's folder.
    os.environ["OCL_ICD_FILENAMES"] = str(driver)


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

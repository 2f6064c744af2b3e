"""NVIDIA's run-time compiler: CUDA C++ in, machine code out; needs no device and no driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .cuda_backend import OPTIONS

if TYPE_CHECKING:
    from .artifact import Artifact


class CompileError(RuntimeError):
    """NVRTC is missing or refused a text; the message holds its log."""


def compile_cuda(
    artifact: Artifact, arch: str = "sm_90", form: Literal["cubin", "ptx"] = "cubin"
) -> bytes:
    """The machine code (or PTX) of a ``cuda`` artifact's kernels for one architecture.

    ``arch`` is a real one for a cubin (``sm_90``); PTX is made for its virtual counterpart.
    Raises ``CompileError`` when NVRTC or its bindings are not installed, or refuse the text.
    """
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise CompileError(
            "NVRTC's bindings are not installed: pip install cuda-bindings nvidia-cuda-nvrtc"
        ) from error
    name, text = artifact.files[0]
    target = arch if form == "cubin" else arch.replace("sm_", "compute_")
    options = [option.encode() for option in (f"--gpu-architecture={target}", *OPTIONS)]
    try:
        done, program = nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, [], [])
    except RuntimeError as error:
        raise CompileError(f"NVRTC does not load: {error}") from error
    if done != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompileError(f"NVRTC makes no program: {done.name}")
    try:
        (done,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if done != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            _, size = nvrtc.nvrtcGetProgramLogSize(program)
            log = b" " * size
            nvrtc.nvrtcGetProgramLog(program, log)
            raise CompileError(f"NVRTC refuses {name} for {arch}: {log.decode().strip()}")
        measure, fetch = (
            (nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
            if form == "cubin"
            else (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        )
        _, size = measure(program)
        code: bytes = b" " * size
        fetch(program, code)
        return code
    finally:
        nvrtc.nvrtcDestroyProgram(program)

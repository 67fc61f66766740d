"""From loops to machine code: LLVM IR as text (`codegen`, `lanes`), functions written in it, and LLVM itself (`jit`).

Nothing here knows graphs. `run/` calls what comes out.

- `multiply` (products of matrices), `microtiles` (tiles of convolutions), `transposes` and `lane_transforms` (Fourier
  transforms of some lines at once, by `vector_text`) are functions in IR, compiled once a machine or once for each
  form; `vectormath` and `polynomials` are the elementary functions on vectors.
- `codegen` writes functions of loops: `arrays` says where arrays lie, `loop_shapes` what LLVM is told of a loop, and
  `values` and `lanes` write what is computed.
- `jit` chooses LLVM's effort by a module's length and its longest run of lines without a jump, so that time is
  linear in both; `libraries` loads SciPy's modules for BLAS without the packages around them.
  `benchmarks/startup.py` measures it.
"""

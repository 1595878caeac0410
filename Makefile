# `make demo` and `make test` set up all that they need in .venv and run it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MEMBERS := -e core -e compiler -e gpu -e plugins/serial -e plugins/openmp -e plugins/opencl \
	-e plugins/cuda -e plugins/hip -e tools -e kernels -e comm -e tests/conformance

.PHONY: demo test nightly test-all third-party on-device lint bench bench-mdrange bench-latency bench-graphs \
	bench-blas bench-matrices bench-lapack bench-batched bench-sparse bench-seeds bench-lattice-qcd lattice-qcd \
	interop clean help

help:
	@echo "make demo   run examples/hillslope.py on a real elevation model"
	@echo "make lattice-qcd  make a configuration of lattice QCD, and draw the mass of its pion"
	@echo "make test   run the tests"
	@echo "make third-party  the conformance kit on generated backends, in a fresh environment"
	@echo "make nightly  100000 random programs on the oracle and 5000 on compiled spaces"
	@echo "make test-all  both, with all levels of the kit on spaces that share their compiler, and"
	@echo "               tests whose subject others cover in make test (marked exhaustive)"
	@echo "make lint   ruff and mypy"
	@echo "make on-device SPACE=cuda  kit, plugin's tests, docs, checkers and benchmarks, into one JSON file"
	@echo "make bench  time execspace against NumPy, Numba and C/OpenMP, in pairs"
	@echo "make bench-latency  time launches, graphs, Views, copies and fences, beside other libraries"
	@echo "make bench-graphs  time chains, a solver and two instances, one by one, as graphs, and fused"
	@echo "make bench-batched time many small matrices against NumPy, LAPACK, C++ and PyTorch"
	@echo "make bench-blas    time dense vectors and matrices against NumPy, SciPy, CuPy and PyTorch"
	@echo "make bench-sparse  time products and sums of sparse matrices against SciPy, CuPy and PyTorch"
	@echo "make bench-seeds   time reductions over several dimensions, E3SM's tracers, and what small things cost"
	@echo "make bench-lattice-qcd  time the Dslash of lattice QCD against C by hand"
	@echo "make bench-mdrange  time multi-dimensional ranges against kernels by hand, on every space"
	@echo "make interop  install the libraries whose arrays are tested, such as PyTorch"
	@echo "make clean  remove the environment"

# What a kernel needs to run on this host, and what the example draws with: half of it all.
HOST := core compiler plugins/serial plugins/openmp
$(VENV)/demo-ready: Makefile requirements-demo.txt $(HOST:%=%/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "execspace needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(HOST:%=-e %) \
		-r requirements-demo.txt
	touch $@

$(VENV)/ready: $(VENV)/demo-ready requirements-dev.txt gpu/pyproject.toml \
		plugins/opencl/pyproject.toml plugins/cuda/pyproject.toml plugins/hip/pyproject.toml \
		tools/pyproject.toml kernels/pyproject.toml comm/pyproject.toml tests/conformance/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(MEMBERS) \
		-r requirements-dev.txt
	touch $@

demo: $(VENV)/demo-ready
	$(BIN)/python examples/hillslope.py

lattice-qcd: $(VENV)/ready
	$(BIN)/python examples/lattice_qcd $(LATTICE)

bench-lattice-qcd: $(VENV)/ready
	$(BIN)/python -m benchmarks.lattice_qcd.run

# Tests start hundreds of processes: with bytecode on disk each starts in half the time, and without
# threads for linear algebra, which none needs, each takes less of a machine that is busy with others.
test test-all: export PYTHONDONTWRITEBYTECODE =
test test-all: export OPENBLAS_NUM_THREADS = 1

test: $(VENV)/ready
	$(BIN)/python -m pytest -n auto --dist worksteal

test-all: $(VENV)/ready
	$(BIN)/python -m pytest -n auto --dist worksteal -o execspace_levels= -m ''
	$(BIN)/python tests/support/fresh_environment.py

# For example: make nightly NIGHTLY="--seed 7 --minutes 30 --json nightly.json"
nightly: $(VENV)/ready
	$(BIN)/python tests/support/nightly.py $(NIGHTLY)

third-party: $(VENV)/ready
	$(BIN)/python tests/support/fresh_environment.py --levels threads=1

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

interop: $(VENV)/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-interop.txt

SPACE ?= cuda
RESULT ?= $(SPACE).json
on-device: $(VENV)/ready
	$(BIN)/python tests/on_device.py --space $(SPACE) --json $(RESULT)

bench: $(VENV)/ready
	$(BIN)/python -m benchmarks.host.run

# For example: make bench-mdrange MDRANGE="--quick --json mdrange.json"
bench-mdrange: $(VENV)/ready
	$(BIN)/python -m benchmarks.mdrange.run $(MDRANGE)

# For example: make bench-latency LATENCY="--space openmp --json latency.json"
bench-latency: $(VENV)/ready
	$(BIN)/python -m benchmarks.latency.run $(LATENCY)

# For example: make bench-graphs GRAPHS="--space openmp --only solver --json graphs.json"
bench-graphs: $(VENV)/ready
	$(BIN)/python -m benchmarks.graphs.run $(GRAPHS)

# For example: make bench-sparse SPARSE="--space openmp --only spmv --json sparse.json"
bench-sparse: $(VENV)/ready
	$(BIN)/python -m benchmarks.sparse.run $(SPARSE)

# For example: make bench-seeds SEEDS="--space openmp --quick"
bench-seeds: $(VENV)/ready
	$(BIN)/python -m benchmarks.seeds.mdrange_reductions $(SEEDS)
	$(BIN)/python -m benchmarks.seeds.tracer_phase $(SEEDS)
	$(BIN)/python -m benchmarks.seeds.costs $(SEEDS)

# For example: make bench-batched BATCHED="--space openmp --only gemm --json batched.json"
bench-batched: $(VENV)/ready
	$(BIN)/python -m benchmarks.batched.run $(BATCHED)

# For example: make bench-blas BLAS="--space openmp --only gemv --json blas.json"
bench-blas: $(VENV)/ready
	$(BIN)/python -m benchmarks.blas.run $(BLAS)

# For example: make bench-matrices MATRICES="--space openmp --only gemm --json matrices.json"
bench-matrices: $(VENV)/ready
	$(BIN)/python -m benchmarks.blas.matrices $(MATRICES)

# For example: make bench-lapack LAPACK="--space openmp --only getrf --json lapack.json"
bench-lapack: $(VENV)/ready
	$(BIN)/python -m benchmarks.lapack.run $(LAPACK)

clean:
	rm -rf $(VENV)

"""Every encoding of the 9,631 INEX 2005 trees: CPU time against one iteration of EM, size against what is not zero.

Fails if an encoding takes more than 60 iterations of EM on the same trees, if a matrix is larger than 12 bytes for each
value that is not zero plus its row offsets, or if the peak of memory exceeds eight times the matrix plus 256 MB.
``--quick`` uses a subsample and a smaller mixture.
"""

import argparse
import sys
import time
import tracemalloc

import numpy as np

from arbora import HiddenTreeMixture
from arbora.datasets import load_inex2005
from arbora.models.hidden_tree.encoding import ENCODINGS

N_ITER = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 trees, 11 components of 4 states")
    quick = parser.parse_args().quick
    forest = load_inex2005()
    if quick:
        forest = forest.take(np.sort(np.random.default_rng(0).permutation(forest.n_trees)[:1000]))
    n_components, n_states = (11, 4) if quick else (22, 8)
    model = HiddenTreeMixture(n_components, n_states, init="random", max_iter=1, tol=0.0, random_state=0)
    model.fit(forest)  # compiles
    start = time.process_time()
    model.set_params(max_iter=N_ITER, warm_start=True).fit(forest)
    iteration = (time.process_time() - start) / N_ITER
    print(f"{forest.n_trees} trees, {n_components} components of {n_states} states; one iteration {iteration:.3f} s")
    failed = False
    for name in ENCODINGS:
        model.set_params(encoding=name, sparse_output=True)
        model.transform(forest[:10])  # compiles
        start = time.process_time()
        codes = model.transform(forest)
        seconds = time.process_time() - start
        tracemalloc.start()
        model.transform(forest)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        size = codes.data.nbytes + codes.indices.nbytes + codes.indptr.nbytes
        full = codes.shape[0] * codes.shape[1] * 8
        print(
            f"{name:10s} {seconds:6.2f} s, {seconds / iteration:5.1f} iterations; {codes.shape[1]:6d} columns, "
            f"{codes.nnz:9d} not zero, {size / 2**20:7.1f} MB (dense {full / 2**20:8.1f}), peak {peak / 2**20:7.1f} MB"
        )
        failed |= seconds > 60 * iteration and not quick
        failed |= size > 12 * codes.nnz + 4 * (forest.n_trees + 1)
        failed |= peak > 8 * size + 256 * 2**20
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

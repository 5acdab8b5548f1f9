// The passes of src/arbora/models/hidden_tree/kernels/upward_downward.py in C++, as an anchor of their speed.
//
// The number of states is a template argument, and four components make a block, one vector register; so the compiler
// unrolls all loops over states.  Every array is [block, ..., 4]: what belongs to a block lies together.  Same formulas
// in the same order, without pooled slots.  bench_passes.py compiles this file, compares results and takes times.

#include <cmath>
#include <cstdint>
#include <limits>

namespace {

constexpr int W = 4; // components of a block
// Arrays of numpy are aligned to 16 bytes at least, not to 32.
typedef double V __attribute__((vector_size(8 * W), aligned(8), may_alias));

constexpr double FLOOR = 1e-200; // as in upward_downward.py
constexpr double CEILING = 1e250;

struct Units { // distinct subtrees, children before parents
    int64_t n;
    const int32_t *label, *slot, *child_start, *child;
};

struct Sizes {
    int64_t n_blocks, n_slots, n_labels, n_trees;
};

template <int C> struct Row { // a number for each state and component
    V at[C];
};
template <int C, int J> struct Matrix { // child state, state
    V at[J][C];
};

template <int C> inline void add(const Row<C> &x, Row<C> &out) {
    for (int i = 0; i < C; i++) out.at[i] += x.at[i];
}

template <int C> struct Block { // arrays of one block of components; the last child state of an edge is absence
    const Row<C> *leaf, *emission, *tail;
    const Matrix<C, C + 1> *edge;
    Row<C> *up, *through;
    V *inverse, *log_prob;
};

template <int C> void upward(const Units &u, const Sizes &s, const Block<C> &b) {
    for (int64_t d = 0; d < u.n; d++) {
        const int lo = u.child_start[d], hi = u.child_start[d + 1], slot = u.slot[d];
        Row<C> prior = lo == hi ? b.leaf[slot >= 0 ? slot : s.n_slots] : b.tail[u.slot[u.child[hi - 1]] + 1];
        V below = {}, z = {}, log_z;
        int due = 0;
        for (int e = lo; e < hi; e++) {
            const int v = u.child[e];
            add<C>(b.through[v], prior);
            for (int l = due; l < u.slot[v]; l++)
                for (int i = 0; i < C; i++) prior.at[i] += b.edge[l].at[C][i];
            due = u.slot[v] + 1;
            below += b.log_prob[v];
        }
        if (u.label[d] >= 0)
            for (int i = 0; i < C; i++) prior.at[i] *= b.emission[u.label[d]].at[i];
        for (int i = 0; i < C; i++) z += prior.at[i];
        for (int k = 0; k < W; k++) log_z[k] = z[k] < FLOOR ? -std::numeric_limits<double>::infinity() : std::log(z[k]);
        b.log_prob[d] = log_z + below;
        z = z < FLOOR ? V{} : 1.0 / z;
        b.inverse[d] = z;
        for (int i = 0; i < C; i++) b.up[d].at[i] = prior.at[i] *= z;
        if (slot < 0) continue;
        const Matrix<C, C + 1> &edge = b.edge[slot];
        Row<C> sent;
        for (int i = 0; i < C; i++) sent.at[i] = edge.at[0][i] * prior.at[0];
        for (int j = 1; j < C; j++)
            for (int i = 0; i < C; i++) sent.at[i] += edge.at[j][i] * prior.at[j];
        b.through[d] = sent;
    }
}

template <int C> struct Sums {
    Row<C> *leaf, *emission, *gap, *tail;
    Matrix<C, C> *pair;
};

template <int C>
void downward(const Units &u, const Sizes &s, const Block<C> &b, const int64_t *root, const V *weight,
              const Sums<C> &sums) {
    Row<C> *pull = b.through; // what went up is not needed any more
    V *mass = b.log_prob;
    for (int64_t d = 0; d < u.n; d++) pull[d] = {}, mass[d] = V{};
    for (int64_t t = 0; t < s.n_trees; t++) mass[root[t]] += weight[t];
    for (int64_t d = u.n - 1; d >= 0; d--) {
        const int lo = u.child_start[d], hi = u.child_start[d + 1], slot = u.slot[d], label = u.label[d];
        const V own = mass[d];
        const Row<C> up = b.up[d];
        Row<C> outside;
        if (slot < 0) {
            for (int i = 0; i < C; i++) outside.at[i] = own;
        } else {
            const Row<C> here = pull[d];
            V rest = own;
            for (int j = 0; j < C; j++) {
                V h = b.edge[slot].at[j][0] * here.at[0];
                for (int i = 1; i < C; i++) h += b.edge[slot].at[j][i] * here.at[i];
                for (int i = 0; i < C; i++) sums.pair[slot].at[j][i] += here.at[i] * up.at[j];
                rest -= up.at[j] * h;
                outside.at[j] = h;
            }
            rest = rest > 0.0 ? rest : V{}; // rounding
            for (int j = 0; j < C; j++) outside.at[j] += rest;
        }
        Row<C> posterior;
        for (int i = 0; i < C; i++) posterior.at[i] = up.at[i] * outside.at[i];
        if (label >= 0) add<C>(posterior, sums.emission[label]);
        if (lo == hi) {
            add<C>(posterior, sums.leaf[slot >= 0 ? slot : s.n_slots]);
            continue;
        }
        if (label >= 0)
            for (int i = 0; i < C; i++) outside.at[i] *= b.emission[label].at[i];
        for (int i = 0; i < C; i++) {
            const V ratio = outside.at[i] * b.inverse[d];
            outside.at[i] = ratio < CEILING ? ratio : V{} + CEILING;
        }
        int due = 0;
        for (int e = lo; e < hi; e++) {
            const int v = u.child[e];
            add<C>(outside, pull[v]);
            mass[v] += own;
            for (int l = due; l < u.slot[v]; l++) add<C>(outside, sums.gap[l]);
            due = u.slot[v] + 1;
        }
        add<C>(outside, sums.tail[due]);
    }
}

// Arrays of all blocks, in the order of the NamedTuples of upward_downward.py.
struct Arrays {
    double *leaf, *emission, *edge, *tail;
    double *up, *through, *inverse, *log_prob;
    double *leaf_sum, *emission_sum, *pair_sum, *gap_sum, *tail_sum;
};

template <class Shape> Shape *part(double *x, int64_t rows, int64_t block) {
    return reinterpret_cast<Shape *>(x) + rows * block;
}

template <int C> Block<C> block_of(const Arrays &a, const Units &u, const Sizes &s, int64_t b) {
    return {part<Row<C>>(a.leaf, s.n_slots + 1, b), part<Row<C>>(a.emission, s.n_labels, b),
            part<Row<C>>(a.tail, s.n_slots + 1, b), part<Matrix<C, C + 1>>(a.edge, s.n_slots, b),
            part<Row<C>>(a.up, u.n, b),             part<Row<C>>(a.through, u.n, b),
            part<V>(a.inverse, u.n, b),             part<V>(a.log_prob, u.n, b)};
}

template <int C> void all_up(const Units &u, const Sizes &s, const Arrays &a) {
    for (int64_t b = 0; b < s.n_blocks; b++) upward<C>(u, s, block_of<C>(a, u, s, b));
}

template <int C> void all_down(const Units &u, const Sizes &s, const Arrays &a, const int64_t *root, double *weight) {
    for (int64_t b = 0; b < s.n_blocks; b++) {
        const Sums<C> sums = {part<Row<C>>(a.leaf_sum, s.n_slots + 1, b), part<Row<C>>(a.emission_sum, s.n_labels, b),
                              part<Row<C>>(a.gap_sum, s.n_slots + 1, b), part<Row<C>>(a.tail_sum, s.n_slots + 1, b),
                              part<Matrix<C, C>>(a.pair_sum, s.n_slots, b)};
        downward<C>(u, s, block_of<C>(a, u, s, b), root, part<V>(weight, s.n_trees, b), sums);
    }
}

} // namespace

#define PASSES(C)                                                                                                      \
    extern "C" void upward_##C(const Units *u, const Sizes *s, const Arrays *a) { all_up<C>(*u, *s, *a); }             \
    extern "C" void downward_##C(const Units *u, const Sizes *s, const Arrays *a, const int64_t *r, double *weight) {  \
        all_down<C>(*u, *s, *a, r, weight);                                                                            \
    }

PASSES(2)
PASSES(4)
PASSES(8)

"""Nodes of a well-formed XML text in UTF-8 without comments, instructions and sections, such as libxml2 writes.

Looking at every element through its Python wrapper costs more than the parse itself; writing the parsed document back
and running these loops over the bytes costs a fraction of it.  Most files are plain already and need not be written.
"""

import numpy as np

from ...jit import jit

ELEMENT, ATTRIBUTE, TEXT = range(3)


@jit
def scan(data, with_attributes, with_text):
    """Depth, kind and the bytes of the name (start and end) of every node, in document order."""
    most = 0
    for i in range(data.shape[0]):
        most += data[i] == 60 or (with_attributes and data[i] == 61)  # a node needs a < or, as an attribute, a =
    depth = np.empty(2 * most, np.int32)
    kind = np.empty(2 * most, np.int8)
    span = np.empty((2 * most, 2), np.int64)
    n, level, i = 0, 0, 0
    while i < data.shape[0]:
        if data[i] != 60:  # text up to the next <
            blank = True
            while i < data.shape[0] and data[i] != 60:
                blank &= data[i] == 32 or 9 <= data[i] <= 13
                i += 1
            if with_text and not blank and level > 0:
                depth[n], kind[n], span[n, 0], span[n, 1] = level, TEXT, 0, 0
                n += 1
            continue
        if data[i + 1] == 47:  # </name>
            level -= 1
            while data[i] != 62:
                i += 1
            i += 1
            continue
        start = i + 1
        while data[i] != 62 and data[i] != 47 and data[i] > 32:
            i += 1
        depth[n], kind[n], span[n, 0], span[n, 1] = level, ELEMENT, start, i
        n += 1
        level += 1
        while data[i] != 62:
            if data[i] == 47:  # />
                level -= 1
                i += 1
            elif data[i] <= 32:
                i += 1
            else:  # name="value"
                start = i
                while data[i] != 61 and data[i] > 32:
                    i += 1
                if with_attributes:
                    depth[n], kind[n], span[n, 0], span[n, 1] = level, ATTRIBUTE, start, i
                    n += 1
                while data[i] != 34 and data[i] != 39:
                    i += 1
                quote = data[i]
                i += 1
                while data[i] != quote:
                    i += 1
                i += 1
        i += 1
    return depth[:n], kind[:n], span[:n]


@jit
def distinct_names(data, kind, span, seed):
    """A number for each node, equal for equal kind and name, and one node of each number: a hash table of names.

    Numbers are given in the order of the nodes and do not depend on the seed, a number of 62 bits that nobody knows.
    """
    point = seed % 0x7FFFFFFE + 1  # a name is the value there of the polynomial of its bytes, modulo 2^31 - 1
    factor = (seed >> 31) | 1
    n = kind.shape[0]
    size = 8
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, np.int64)  # numbers, by hash
    number = np.empty(n, np.int32)
    example = np.empty(n, np.int64)
    n_names = 0
    for u in range(n):
        lo, hi = span[u, 0], span[u, 1]
        code = np.int64(kind[u]) + 1
        for i in range(lo, hi):
            code = code * point + data[i] + 1  # below 2^63, since code and point are hardly above 2^31
            code = (code & 0x7FFFFFFF) + (code >> 31)
            code = (code & 0x7FFFFFFF) + (code >> 31)
        place = (code * factor >> 15) & (size - 1)
        while table[place] >= 0:
            v = example[table[place]]
            same = kind[v] == kind[u] and span[v, 1] - span[v, 0] == hi - lo
            i = 0
            while same and i < hi - lo:
                same = data[span[v, 0] + i] == data[lo + i]
                i += 1
            if same:
                break
            place = (place + 1) & (size - 1)
        if table[place] < 0:
            table[place] = n_names
            example[n_names] = u
            n_names += 1
        number[u] = table[place]
    return number, example[:n_names]

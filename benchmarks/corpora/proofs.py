"""Proofs of a Metamath database as trees of the theorems they use."""

import re

_HEADER = re.compile(r"\$\(\s*#####*\s*\n\s*(\S.*?)\s*\n\s*####")
SYNTAX = ("wff", "class", "setvar")  # steps that only build formulas


def proof_trees(text):
    """Pairs of the part of the database and the tree of a proof, for every theorem with a proof of more than a step."""
    part = ""
    hypotheses: list = [[]]  # of each open block: (label, is a variable's type, its symbols)
    needs, kinds = {}, {}  # labels of the hypotheses of each statement; first symbol of each statement
    text = _HEADER.sub(lambda found: f" $PART {'_'.join(found[1].split())} $( ", text)
    tokens = iter(re.sub(r"\$\(.*?\$\)", " ", text, flags=re.DOTALL).split())
    label = ""
    for word in tokens:
        if word == "$PART":
            part = next(tokens).replace("_", " ")
        elif word == "${":
            hypotheses.append([])
        elif word == "$}":
            hypotheses.pop()
        elif word in ("$c", "$v", "$d"):
            _until(tokens, "$.")
        elif word in ("$f", "$e"):
            symbols = _until(tokens, "$.")
            hypotheses[-1].append((label, word == "$f", symbols))
            needs[label], kinds[label] = [], symbols[0]
        elif word in ("$a", "$p"):
            symbols = _until(tokens, "$." if word == "$a" else "$=")
            needs[label], kinds[label] = _mandatory(hypotheses, symbols), symbols[0]
            if word == "$p":
                tree = _tree(_until(tokens, "$."), needs, kinds, label)
                if tree:
                    yield part, tree
        else:
            label = word


def _until(tokens, end):
    found = []
    for word in tokens:
        if word == end:
            return found
        found.append(word)
    raise ValueError(f"no {end} before the end of the database")


def _mandatory(hypotheses, symbols):
    """Labels of the hypotheses that a statement needs, in order."""
    open_ = [hypothesis for block in hypotheses for hypothesis in block]
    used = set(symbols).union(*(set(words) for _, is_type, words in open_ if not is_type))
    return [name for name, is_type, words in open_ if not is_type or words[1] in used]


def _tree(proof, needs, kinds, theorem):
    """The tree of a compressed proof without steps that only build formulas; None if a step is unknown."""
    if not proof or proof[0] != "(" or "?" in proof:
        return None
    close = proof.index(")")
    labels = needs[theorem] + proof[1:close]
    stack, saved = [], []
    for number in _numbers("".join(proof[close + 1 :])):
        if number is None:
            saved.append(stack[-1])
        elif number <= len(labels):
            name = labels[number - 1]
            below = [stack.pop() for _ in needs[name]][::-1]
            node = (name, [child for child in below if child]) if kinds[name] not in SYNTAX else None
            stack.append(("hypothesis", []) if node and name in needs[theorem] else node)
        else:
            stack.append(saved[number - len(labels) - 1])
    return stack[-1] if len(stack) == 1 else None


def _numbers(letters):
    """Numbers of the compressed notation; None is the mark that saves a step."""
    number = 0
    for letter in letters:
        if letter == "Z":
            yield None
        elif letter >= "U":
            number = number * 5 + ord(letter) - ord("T")
        else:
            yield number * 20 + ord(letter) - ord("A") + 1
            number = 0

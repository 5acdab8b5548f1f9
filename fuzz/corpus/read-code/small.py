def f(x):
    # a comment
    return x + 1

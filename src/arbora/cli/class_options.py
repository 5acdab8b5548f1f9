"""Options of train-classifier."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Encoding(StrEnum):
    """Encodings of trees."""

    sum = "sum"
    weighted = "weighted"
    log = "log"
    posterior = "posterior"
    score = "score"


class Encoder(StrEnum):
    """What a classifier turns trees into."""

    patterns = "patterns"
    mixture = "mixture"


class Readout(StrEnum):
    """Ways to classify."""

    mlp = "mlp"
    logistic = "logistic"
    generative = "generative"


EncoderOption = Annotated[
    Encoder | None,
    typer.Option(
        "--encoder",
        show_default=False,
        help="Encoder of the trees: patterns, those that trees contain; mixture, the codes of a mixture of "
        "hidden trees. [default: patterns, or mixture if an option of it is given]",
    ),
]


ReadoutOption = Annotated[
    Readout | None,
    typer.Option(
        "--readout",
        show_default=False,
        help="Classifier on the codes: logistic, logistic regression; mlp, a neural network; generative, a model of "
        "the trees of each class. [default: logistic for patterns, mlp for a mixture]",
    ),
]


ClassComponents = Annotated[
    int | None,
    typer.Option(
        "--components",
        "-k",
        min=1,
        show_default=False,
        help="Components of the mixture, or of that of each class. [default: two for each class; generative: 1]",
    ),
]


ClassStates = Annotated[
    int | None,
    typer.Option("--states", min=1, help="Hidden states of each component. [default: 4]", show_default=False),
]


ClassEncoding = Annotated[
    Encoding | None,
    typer.Option("--encoding", help="How the mixture encodes trees. [default: score]", show_default=False),
]


Hidden = Annotated[
    str | None,
    typer.Option(
        "--hidden",
        metavar="N[,N...]",
        help="Hidden units of the network; of several, the best by cross-validation. [default: 100]",
        show_default=False,
    ),
]


Balanced = Annotated[
    bool, typer.Option("--balanced", help="Give all classes the same weight, whatever their numbers of trees.")
]


Calibrate = Annotated[
    bool, typer.Option("--calibrate", help="Calibrate probabilities on held-out trees; takes longer.")
]


Folds = Annotated[
    int | None,
    typer.Option(
        "--folds",
        min=0,
        show_default=False,
        help="Parts held out in turn to estimate the error; 0 for no estimate. [default: 3, or fewer if a class "
        "has fewer trees]",
    ),
]


Novelty = Annotated[
    float,
    typer.Option(
        "--novelty",
        min=0.0,
        max=1.0,
        help="classify flags trees more surprising than all but this share of the training trees.",
    ),
]


ClassMaxIter = Annotated[
    int | None, typer.Option("--max-iter", min=1, help="Most iterations of EM. [default: 200]", show_default=False)
]


SaveClassifier = Annotated[Path | None, typer.Option("--save", help="The fitted classifier: .arbora.")]


HeldOutTable = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Class given to each tree when held out: .csv, .json or .parquet."),
]

"""Traces of a small instrumented shop with injected faults, written by the OpenTelemetry SDK itself.

Run it in an environment that has ``opentelemetry-sdk`` and ``opentelemetry-exporter-otlp-proto-common``; Arbora is not
needed.  ``python benchmarks/make_traces.py FOLDER`` writes

- ``today.otlp.pb``: ten thousand traces in protobuf, as the collector's file exporter writes them, with faults;
- ``yesterday.otlp.pb``: as many without faults;
- ``classes.csv``: name of the tree and kind of each request, such as ``checkout`` or ``checkout: retries``;
- ``guilty.csv``: name of the tree and path of the spans that a fault made.

The clock is simulated, so that a slow query costs nothing here; spans, ids, contexts and the encoding are the SDK's.
"""

import argparse
import contextlib
import csv
import random
from pathlib import Path

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, Status, StatusCode

SERVICES = ("frontend", "catalogue", "cart", "payment", "stock", "accounts", "database", "cache")
FAULT_SHARE = 0.06  # of the requests of today
BATCH = 512  # spans per message, as the SDK's batch processor has it


class _Writer(SpanExporter):
    """Writes messages as the collector's file exporter does: each after its length in four bytes."""

    def __init__(self, path):
        self.file, self.waiting = open(path, "wb"), []  # noqa: SIM115 (closed by shutdown)

    def export(self, spans):
        self.waiting += spans
        if len(self.waiting) >= BATCH:
            self.flush()
        return SpanExportResult.SUCCESS

    def flush(self):
        message = encode_spans(self.waiting).SerializeToString()
        self.file.write(len(message).to_bytes(4, "big") + message)
        self.waiting = []

    def shutdown(self):
        self.flush()
        self.file.close()


class Shop:
    """The program: requests that call services, which call others; faults change what is called."""

    def __init__(self, path, seed):
        self.rng = random.Random(seed)  # noqa: S311 (a simulation)
        random.seed(seed)  # which the SDK draws its ids from
        self.writer = _Writer(path)
        self.tracers = {}
        for name in SERVICES:
            provider = TracerProvider(resource=Resource({"service.name": name}), shutdown_on_exit=False)
            provider.add_span_processor(SimpleSpanProcessor(self.writer))
            self.tracers[name] = provider.get_tracer("shop")
        self.now = 1_790_000_000_000_000_000
        self.path, self.guilty = [], []  # of the span at hand, and of those that faults made

    @contextlib.contextmanager
    def call(self, service, operation, kind=SpanKind.INTERNAL, ms=2.0, fault=False, error=False):
        """An operation of a service, as long as what happens in it and some milliseconds more."""
        span = self.tracers[service].start_span(operation, kind=kind, start_time=self.now)
        token = context.attach(trace.set_span_in_context(span))
        self.path.append(f"{service}:{operation}")
        if fault:
            self.guilty.append("/".join(self.path))
        try:
            yield
        finally:
            self.path.pop()
            self.now += int(1e6 * ms * self.rng.lognormvariate(0, 0.3))
            if error:
                span.set_status(Status(StatusCode.ERROR))
            context.detach(token)
            span.end(end_time=self.now)

    def leaf(self, service, operation, **more):
        with self.call(service, operation, **more):
            pass

    # ---- parts of requests ------------------------------------------------------------------------------------------

    def query(self, operation, **more):
        self.leaf("database", operation, kind=SpanKind.CLIENT, **more)

    def session(self):
        with self.call("accounts", "check session"):
            self.leaf("cache", "get session", kind=SpanKind.CLIENT, ms=0.4)
            if self.rng.random() < 0.2:
                self.query("select session")

    def item(self, fault=None):
        with self.call("catalogue", "load item"):
            self.leaf("cache", "get item", kind=SpanKind.CLIENT, ms=0.4)
            if fault == "cache stampede":
                self.query("scan items", ms=400, fault=True)
            elif self.rng.random() < 0.3:
                self.query("select item")

    # ---- requests ---------------------------------------------------------------------------------------------------

    def browse(self, fault):
        with self.call("frontend", "GET /items", kind=SpanKind.SERVER):
            self.session()
            n = self.rng.randint(1, 4)
            bad = self.rng.randrange(n)
            for x in range(n):
                self.item(fault if x == bad else None)
            self.leaf("frontend", "render page", ms=4)

    def search(self, fault):
        with self.call("frontend", "GET /search", kind=SpanKind.SERVER):
            with self.call("catalogue", "search"):
                self.query("full text query", ms=2500 if fault == "slow query" else 25, fault=fault == "slow query")
                for _ in range(self.rng.randint(0, 3)):
                    self.leaf("catalogue", "rank result", ms=1)
                if fault == "query per row":
                    for _ in range(self.rng.randint(8, 20)):
                        self.query("select price", fault=True)
            self.leaf("frontend", "render page", ms=4)

    def checkout(self, fault):
        failed = fault == "lost stock"
        with self.call("frontend", "POST /checkout", kind=SpanKind.SERVER, error=failed):
            self.session()
            with self.call("cart", "close cart"):
                self.query("select cart")
                for _ in range(self.rng.randint(1, 3)):
                    if failed:
                        self.leaf("stock", "release", fault=True, error=True)
                        continue
                    with self.call("stock", "reserve"):
                        self.query("update stock")
            with self.call("payment", "charge"):
                for _ in range(self.rng.randint(3, 6) if fault == "retries" else 0):
                    self.leaf("payment", "call bank", kind=SpanKind.CLIENT, ms=900, fault=True, error=True)
                self.leaf("payment", "call bank", kind=SpanKind.CLIENT, ms=80)
            self.query("insert order")

    def login(self, fault):
        with self.call("frontend", "POST /login", kind=SpanKind.SERVER, error=fault == "no session"):
            with self.call("accounts", "check password"):
                self.query("select user")
                self.leaf("accounts", "hash password", ms=60)
            if fault == "no session":
                self.leaf("accounts", "session refused", fault=True, error=True)
            else:
                self.leaf("cache", "put session", kind=SpanKind.CLIENT, ms=0.4)

    def export(self, fault):
        with self.call("frontend", "GET /report", kind=SpanKind.SERVER):
            for _ in range(self.rng.randint(3, 8)):
                with self.call("catalogue", "write page"):
                    self.query("select orders", ms=40)
            self.leaf("frontend", "send file", ms=30)


REQUESTS = {
    "browse": (0.40, ["cache stampede"]),
    "search": (0.25, ["query per row", "slow query"]),
    "checkout": (0.15, ["retries", "lost stock"]),
    "login": (0.15, ["no session"]),
    "export": (0.05, []),
}
FAULTS = [(request, fault) for request, (_, faults) in REQUESTS.items() for fault in faults]


def run(path, n, seed, fault_share):
    """Serve `n` requests; rows of the tables of classes and of guilty spans."""
    shop, classes, guilty = Shop(path, seed), [], []
    names, shares = list(REQUESTS), [share for share, _ in REQUESTS.values()]
    for _ in range(n):
        if shop.rng.random() < fault_share:
            request, fault = shop.rng.choice(FAULTS)
        else:
            (request,), fault = shop.rng.choices(names, shares), None
        shop.guilty = []
        context.attach(context.Context())
        first = shop.now
        with shop.call("frontend", "request", kind=SpanKind.SERVER, ms=0.1):
            number = f"{Path(path).name}#{trace.get_current_span().get_span_context().trace_id:032x}"
            getattr(shop, request)(fault)
        shop.now = first + 50_000_000
        classes.append((number, f"{request}: {fault}" if fault else request))
        guilty += [(number, path) for path in dict.fromkeys(shop.guilty)]
    shop.writer.shutdown()
    return classes, guilty


def write_table(path, title, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([title, *rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--traces", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    classes, guilty = run(given.folder / "today.otlp.pb", given.traces, given.seed, FAULT_SHARE)
    run(given.folder / "yesterday.otlp.pb", given.traces, given.seed + 1, 0.0)
    write_table(given.folder / "classes.csv", ("name", "class"), classes)
    write_table(given.folder / "guilty.csv", ("name", "path"), guilty)


if __name__ == "__main__":
    main()

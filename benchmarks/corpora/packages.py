"""Packages by name, version and checksum: fetched by the tools of their registries, and unpacked."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

CHECKSUMS = Path(__file__).parent / "checksums.json"


class Package(NamedTuple):
    """One package: ``kind`` is wheel, sdist, debian or npm."""

    kind: str
    name: str
    version: str

    def __str__(self):
        return f"{self.kind}:{self.name}={self.version}"


def wheel(name, version):
    return Package("wheel", name, version)


def sdist(name, version):
    return Package("sdist", name, version)


def debian(name, version):
    return Package("debian", name, version)


def npm(name, version):
    return Package("npm", name, version)


def _command(package):
    name, version = package.name, package.version
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", "."]
    return {
        "wheel": [*pip, "--only-binary", ":all:", f"{name}=={version}"],
        "sdist": [*pip, "--no-binary", name, f"{name}=={version}"],
        "debian": ["apt-get", "download", f"{name}={version}"],
        "npm": ["npm", "pack", "--silent", f"{name}@{version}"],
    }[package.kind]


def unpacked(package, folder, trust=False):
    """The folder of what is in a package; it is fetched first if need be, and its checksum compared."""
    place = folder / "packages" / str(package).replace("/", "+").replace(":", "+", 1)
    inside = place / "inside"
    if inside.is_dir():
        return inside
    archive = _fetched(package, place)
    check(package, archive, trust)
    partial = place / "partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    _unpack(archive, partial)
    os.replace(partial, inside)
    return inside


def _fetched(package, place):
    place.mkdir(parents=True, exist_ok=True)
    found = [path for path in place.iterdir() if path.is_file()]
    if not found:
        print(f"fetching {package}", flush=True)
        command = _command(package)
        done = subprocess.run(command, cwd=place, capture_output=True, text=True)
        found = [path for path in place.iterdir() if path.is_file()]
        if done.returncode or len(found) != 1:
            raise SystemExit(f"{package}: `{' '.join(command)}` failed: {done.stderr.strip()[-500:]}")
    return found[0]


def check(package, archive, trust):
    """Compare the checksum of a file with the one that is written down; with `trust`, write down that of a new one."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    known = json.loads(CHECKSUMS.read_text(encoding="utf-8")) if CHECKSUMS.exists() else {}
    if trust and str(package) not in known:
        known[str(package)] = digest
        CHECKSUMS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if known.get(str(package)) != digest:
        wanted = known.get(str(package), "none is written down; --trust does it")
        raise SystemExit(f"{archive.name}: sha256 is {digest}, wanted {wanted}; remove the file and try again")


def _unpack(archive, into):
    if archive.suffix == ".deb":
        subprocess.run(["dpkg", "-x", str(archive.resolve()), str(into.resolve())], check=True)  # noqa: S607
    elif archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as box:
            box.extractall(into)  # noqa: S202  (checksums are pinned)
    else:
        with tarfile.open(archive) as box:
            box.extractall(into, filter="data")

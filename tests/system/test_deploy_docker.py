"""The container image. It cannot be built here, so its stages are run as the script that they are, and its root is entered."""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from .brinkwatch import ROOT, binary, run
from .manifests import tool

DOCKER = ROOT / "deploy" / "docker"
DOCKERFILE = DOCKER / "Dockerfile"
INSTALLED = "/usr/bin/brinkwatch"
MANIFEST = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.M)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]


def stages() -> list[list[tuple[str, str]]]:
    found = []
    for word, rest in instructions():
        if word == "FROM":
            found.append([])
        if found:
            found[-1].append((word, rest))
    return found


def sent_to_the_builder() -> list[Path]:
    """The files of the tree that .dockerignore keeps."""
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [Path(name) for name in tracked if any(name == rule or fnmatch.fnmatch(name, f"{rule}/*") for rule in kept)]


def test_hadolint_finds_nothing():
    done = tool("venv/bin/hadolint", DOCKERFILE)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_is_built_by_the_oldest_rust_that_the_manifest_allows_or_a_newer_one():
    used = re.search(r"^ARG RUST_VERSION=([\d.]+)$", DOCKERFILE.read_text(), flags=re.M)[1]
    assert [int(part) for part in used.split(".")] >= [int(part) for part in MANIFEST["rust-version"].split(".")]


def test_every_file_that_the_build_read_is_sent_to_the_builder():
    """Cargo has written down what it read."""
    sent = {ROOT / path for path in sent_to_the_builder()}
    read = {Path(name) for name in binary().with_suffix(".d").read_text().split(": ", 1)[1].split()}
    # What the build itself has made lies in its own folder.
    read = {path for path in read if path.is_relative_to(ROOT) and not path.is_relative_to(binary().parent)}
    assert ROOT / "src" / "main.rs" in read
    assert read - sent == set()


def test_cargo_makes_sense_of_what_is_sent(tmp_path):
    """A manifest names tests and benches, and those are not sent."""
    for path in sent_to_the_builder():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    done = subprocess.run(["cargo", "metadata", "--locked", "--offline", "--format-version", "1"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """What the build stage lays out, for the program that is built already: without optimisation, and much sooner."""
    out = tmp_path_factory.mktemp("image") / "stage"
    (command,) = [rest for word, rest in stages()[0] if word == "RUN" and "deploy/docker/stage" in rest]
    build, stage = re.sub(r"--mount=\S+\s*", "", command).split(" && ")
    assert build == "cargo build --release --locked --bin brinkwatch"
    stage = stage.replace("target/release/brinkwatch", str(binary())).replace(" /stage", f" {out}")
    tools = Path(os.environ["BRINKWATCH_DEPLOY_TOOLS"]) / "bin"
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-euc", stage], cwd=ROOT, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_the_image_runs_without_a_shell_and_without_root(staged, tmp_path):
    """Its root holds what the stage made and what its base is known to have: glibc and libgcc, no shell, no tool."""
    root = tmp_path / "root"
    shutil.copytree(staged / "image", root)
    libraries = subprocess.run(["ldd", root / INSTALLED[1:]], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"(/\S+\.so\S*)", libraries):
        (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / library[1:])
    (smoke,) = [json.loads(rest) for word, rest in stages()[-1] if word == "RUN"]
    done = subprocess.run(["unshare", "--map-root-user", "chroot", root, *smoke], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and MANIFEST["version"] in done.stdout, done


def test_the_debugging_data_is_apart_and_names_the_program(staged):
    notes = subprocess.run(["readelf", "--notes", staged / "image" / INSTALLED[1:]], capture_output=True, text=True, check=True)
    build_id = re.search("Build ID: ([0-9a-f]+)", notes.stdout)[1]
    assert (staged / "symbols/usr/lib/debug/.build-id" / build_id[:2] / f"{build_id[2:]}.debug").stat().st_size > 1_000_000


def test_the_list_of_what_is_linked_in_is_complete(staged):
    listed = json.loads((staged / "image/usr/share/doc/brinkwatch/brinkwatch.cdx.json").read_text())
    assert listed["bomFormat"] == "CycloneDX"
    found = {(one["name"], one["version"]) for one in listed["components"]}
    tree = subprocess.run(["cargo", "tree", "--locked", "--offline", "--edges", "normal", "--prefix", "none", "--no-dedupe"],
                          cwd=ROOT, capture_output=True, text=True, check=True).stdout
    linked = {tuple(line.split()[:2]) for line in tree.splitlines() if "(proc-macro)" not in line}
    assert {(name, version[1:]) for name, version in linked} - found <= {(MANIFEST["name"], MANIFEST["version"])}
    for one in listed["components"]:
        assert one["purl"].startswith("pkg:cargo/") and one["licenses"], one


def test_the_runtime_image_has_no_root_no_shell_form_and_was_run_once():
    runtime = stages()[-1]
    assert "distroless/cc-debian13:nonroot" in runtime[0][1]
    for word, rest in runtime:
        if word in {"RUN", "ENTRYPOINT", "CMD"}:
            assert isinstance(json.loads(rest), list), f"{word} {rest}: there is no shell in this image"
    assert ("RUN", f'["{INSTALLED}", "--version"]') in runtime
    assert dict(runtime)["USER"].split(":")[0].isdigit()
    assert json.loads(dict(runtime)["ENTRYPOINT"]) == [INSTALLED]
    labels = set(re.findall(r"org\.opencontainers\.image\.([\w.]+)=", dict(runtime)["LABEL"]))
    assert labels >= {"title", "description", "licenses", "version", "revision", "source", "base.name"}
    assert ("ARG", f"VERSION={MANIFEST['version']}") in runtime


def test_the_list_is_made_by_the_version_that_is_tried_here():
    install = (ROOT / "tests" / "testbed" / "install-deploy").read_text()
    tried = re.search(r"cargo-cyclonedx --locked --version ([\d.]+)", install)[1]
    assert ("ARG", f"CYCLONEDX_VERSION={tried}") in stages()[0]


def test_the_image_answers_where_the_daemon_listens():
    exposed = dict(instructions())["EXPOSE"]
    shown = run("config", "show", "--config", "/dev/null")
    assert shown.code == 0, shown
    assert tomllib.loads(shown.out)["server"]["listen"].endswith(f":{exposed}")

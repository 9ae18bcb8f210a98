"""`deploy/reproduce` on a small program. On the real one it takes two clean builds, which is for a release and not for each run."""

import os
import shutil
import subprocess

from .brinkwatch import ROOT

MANIFEST = """
[package]
name = "brinkwatch"
version = "0.1.0"
edition = "2024"

[profile.dev]
debug = "line-tables-only"
"""
# A panic names the file; file!() and a backtrace's lines would name the folder.
SOURCE = """
mod word { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/word.rs")); }
fn main() { println!("{} {}", file!(), word::first(std::env::args().skip(1).collect()).unwrap()); }
"""
WORD = "pub fn first(words: Vec<String>) -> Option<String> { println!(\"{}\", file!()); words.into_iter().next() }\n"


def command(*argv, cwd, **env) -> subprocess.CompletedProcess:
    env = {**os.environ, "GIT_AUTHOR_DATE": "@1700000000 +0000", "GIT_COMMITTER_DATE": "@1700000000 +0000", **env}
    return subprocess.run(list(map(str, argv)), cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False)


def small_tree(folder, wrapper: str):
    (folder / "src").mkdir(parents=True)
    (folder / "deploy").mkdir()
    (folder / "Cargo.toml").write_text(MANIFEST)
    (folder / "src" / "main.rs").write_text(SOURCE)
    (folder / "src" / "word.rs").write_text(WORD)
    shutil.copy(ROOT / "deploy" / "reproduce", folder / "deploy")
    (folder / "deploy" / "rustc-without-paths").write_text(wrapper)
    (folder / "deploy" / "rustc-without-paths").chmod(0o755)
    me = ["-c", "user.name=Tests", "-c", "user.email=tests@localhost"]
    for words in (["cargo", "generate-lockfile", "--offline"], ["git", "init", "-q"], ["git", "add", "."],
                  ["git", *me, "commit", "-q", "-m", "A small program"]):
        done = command(*words, cwd=folder)
        assert done.returncode == 0, done
    return folder


def reproduce(tree, work) -> subprocess.CompletedProcess:
    return command(tree / "deploy" / "reproduce", "dev", work, cwd=tree)


def test_two_folders_make_one_program_without_their_names(tmp_path):
    tree = small_tree(tmp_path / "tree", (ROOT / "deploy" / "rustc-without-paths").read_text())
    done = reproduce(tree, tmp_path / "work")
    assert done.returncode == 0 and "the same" in done.stdout, done
    assert str(tmp_path / "work" / "first").encode() not in (tmp_path / "work" / "first" / "brinkwatch").read_bytes()
    assert str(tmp_path / "work" / "second").encode() not in (tmp_path / "work" / "second" / "brinkwatch").read_bytes()


def test_without_the_wrapper_the_difference_is_found(tmp_path):
    tree = small_tree(tmp_path / "tree", '#!/bin/sh\nexec "$@"\n')
    done = reproduce(tree, tmp_path / "work")
    assert done.returncode == 1 and "they differ" in done.stderr, done

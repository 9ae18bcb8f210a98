"""The Debian package: built by its script, read by lintian, installed, upgraded and purged by dpkg in a root of its own."""

import os
import re
import shutil
import subprocess

import pytest

from .brinkwatch import ROOT, binary, run

DEBIAN = ROOT / "deploy" / "debian"
# Quickly, not small: the tests' binary is large.
QUICK = {"DPKG_DEB_OPTIONS": "-Zgzip -z1", "SOURCE_DATE_EPOCH": "1700000000", "MAINTAINER": "Tests <tests@lists.debian.org>"}
CONFIG = "etc/brinkwatch/brinkwatch.toml"


def command(*argv, **env) -> str:
    done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=200, check=False,
                          env={**os.environ, **env})
    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
    return done.stdout


def build(program, folder):
    """The package and the one with its debugging data."""
    command(DEBIAN / "build", program, folder, **QUICK)
    (symbols,) = folder.glob("brinkwatch-dbgsym_*.deb")
    (package,) = folder.glob("brinkwatch_*.deb")
    return package, symbols


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(binary(), tmp_path_factory.mktemp("built"))


class Root:
    """A root of its own for dpkg. Scripts run outside of it, told by DPKG_ROOT: there is no shell inside."""

    def __init__(self, folder):
        self.folder = folder
        database = folder / "var" / "lib" / "dpkg"
        (database / "info").mkdir(parents=True)
        (database / "updates").mkdir()
        (database / "status").touch()
        (folder / "etc").mkdir()

    def dpkg(self, *arguments) -> str:
        return command("dpkg", f"--root={self.folder}", "--force-script-chrootless", "--force-depends", "--force-not-root",
                       "--log=/dev/null", *arguments)

    def path(self, name: str):
        return self.folder / name


@pytest.fixture
def root(tmp_path):
    return Root(tmp_path / "root")


def test_lintian_finds_nothing(built):
    package, _ = built
    said = command("lintian", "--fail-on=error,warning", "--allow-root", "--no-cfg", "--tag-display-limit=0", package)
    assert not re.search("^[EW]:", said, flags=re.M), said


def test_it_installs_and_the_installed_program_takes_the_installed_configuration(built, root):
    root.dpkg("--install", built[0])
    program = root.path("usr/bin/brinkwatch")
    assert run("--version", program=program).code == 0
    done = run("config", "check", "--config", root.path(CONFIG), program=program)
    assert done.code == 0, done
    unit = root.path("usr/lib/systemd/system/brinkwatch.service").read_text()
    assert unit == (ROOT / "deploy" / "systemd" / "brinkwatch.service").read_text()
    for name in re.findall(r"--config (\S+)", unit):
        assert name == f"/{CONFIG}"
    # The service's user, for the groups that may read checkpoints.
    assert re.search(r"^brinkwatch:.*:/var/lib/brinkwatch:/usr/sbin/nologin$", root.path("etc/passwd").read_text(), flags=re.M)


def test_it_needs_no_library_beyond_those_it_depends_on(built, root):
    root.dpkg("--install", built[0])
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", command("readelf", "--dynamic", root.path("usr/bin/brinkwatch")))
    assert set(needed) <= {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libgcc_s.so.1"}
    depends = command("dpkg-deb", "--field", built[0], "Depends")
    assert re.fullmatch(r"libc6 \(>= 2\.\d+\), libgcc-s1\n", depends)


def test_an_upgrade_keeps_the_configuration_and_purging_leaves_nothing(built, root):
    root.dpkg("--install", built[0])
    root.path(CONFIG).write_text("poll_interval = '60s'\n")
    state = root.path("var/lib/brinkwatch")
    state.mkdir()
    (state / "brinkwatch.sqlite").touch()
    root.dpkg("--install", built[0])
    assert root.path(CONFIG).read_text() == "poll_interval = '60s'\n"
    root.dpkg("--remove", "brinkwatch")
    assert not root.path("usr/bin/brinkwatch").exists()
    assert root.path(CONFIG).exists() and (state / "brinkwatch.sqlite").exists()
    root.dpkg("--purge", "brinkwatch")
    assert not root.path("etc/brinkwatch").exists() and not state.exists()


def test_the_symbols_are_those_of_the_program(built, root, tmp_path):
    root.dpkg("--install", *built)
    notes = command("readelf", "--notes", root.path("usr/bin/brinkwatch"))
    build_id = re.search("Build ID: ([0-9a-f]+)", notes)[1]
    symbols = root.path(f"usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
    assert ".debug_line" in command("readelf", "--sections", "--wide", symbols)
    assert ".debug_line" not in command("readelf", "--sections", "--wide", root.path("usr/bin/brinkwatch"))


def test_two_builds_of_one_binary_are_the_same_package(tmp_path):
    """Of a small program: how packages are made does not depend on what is in them."""
    small = shutil.copy("/bin/true", tmp_path / "brinkwatch")
    one, other = (build(small, tmp_path / name) for name in ("one", "other"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


def test_the_manual_names_every_command():
    commands = re.findall(r"^  ([a-z-]+) ", run("--help").out.split("Commands:")[1].split("Options:")[0], flags=re.M)
    manual = (DEBIAN / "brinkwatch.8").read_text().replace("\\-", "-")
    assert commands
    for name in commands:
        assert name == "help" or f"\n.B {name}\n" in manual, name

"""Certificates of the tests' own, made by openssl."""

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

# Only `openssl ca` can set the second in which a certificate ends.
CONFIGURATION = """
[ca]
default_ca = own
[own]
database = index.txt
new_certs_dir = issued
rand_serial = yes
default_md = sha256
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
[req]
distinguished_name = dn
[dn]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
"""
PASSWORD = "correct horse"


class Authority:
    """A certificate authority with a directory of its own. `certificate` is what others trust."""

    def __init__(self, folder: Path, name: str = "tests"):
        self.folder = folder
        self.certificate = folder / "ca.pem"
        (folder / "issued").mkdir(parents=True)
        (folder / "index.txt").touch()
        (folder / "openssl.cnf").write_text(CONFIGURATION)
        ca = ["-x509", "-extensions", "authority", "-subj", f"/CN={name}", "-days", "2"]
        self._openssl("req", "-config", "openssl.cnf", *ca, *KEY, "-nodes", "-keyout", "ca.key", "-out", "ca.pem")

    def issue(self, name: str, *, hosts: tuple[str, ...] = (), seconds: int = 86_400, file: str | None = None) -> "Pair":
        """A certificate for `name`, good for these hosts and for so many seconds from now."""
        pair = Pair(self.folder, file or name)
        alternatives = [f"IP:{host}" if host[0].isdigit() else f"DNS:{host}" for host in hosts]
        extensions = ["-addext", f"subjectAltName={','.join(alternatives)}"] if alternatives else []
        request = ["req", "-config", "openssl.cnf", "-new", "-subj", f"/CN={name}", *extensions, *KEY, "-nodes"]
        self._openssl(*request, "-keyout", pair.key, "-out", "request.pem")
        now = datetime.now(UTC)
        # A clock may be set back by a little; a certificate that ends in the past begins before that.
        begin, end = (moment.strftime("%y%m%d%H%M%SZ") for moment in (now - timedelta(days=1), now + timedelta(seconds=seconds)))
        signing = ["ca", "-config", "openssl.cnf", "-batch", "-notext", "-cert", "ca.pem", "-keyfile", "ca.key"]
        self._openssl(*signing, "-startdate", begin, "-enddate", end, "-in", "request.pem", "-out", pair.certificate)
        pair.both.write_text(pair.key.read_text() + pair.certificate.read_text())
        locked = ["pkcs8", "-topk8", "-v2", "aes-256-cbc", "-passout", f"pass:{PASSWORD}"]
        self._openssl(*locked, "-in", pair.key, "-out", pair.locked_key)
        return pair

    def _openssl(self, *arguments) -> None:
        openssl(*arguments, folder=self.folder)


KEY = ["-newkey", "rsa:2048"]


class Pair:
    """The files of one certificate. `locked_key` needs PASSWORD."""

    def __init__(self, folder: Path, name: str):
        self.certificate = folder / f"{name}.pem"
        self.key = folder / f"{name}.key"
        self.locked_key = folder / f"{name}.locked.key"
        # As a broker wants it: the key, and its certificate after it.
        self.both = folder / f"{name}.both.pem"

    def copy_to(self, other: "Pair") -> None:
        """Takes the place of another certificate, as a rotation does it."""
        for name in ("certificate", "key", "locked_key", "both"):
            shutil.copyfile(getattr(self, name), getattr(other, name))


def openssl(*arguments, folder: Path, stdin: bytes | None = None) -> bytes:
    argv = ["openssl", *map(str, arguments)]
    done = subprocess.run(argv, cwd=folder, input=stdin, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, f"{' '.join(argv)}:\n{done.stderr.decode()}"
    return done.stdout

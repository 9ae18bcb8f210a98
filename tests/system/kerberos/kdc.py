"""A KDC of the tests' own: MIT Kerberos on a free port, with its files in one folder. Nothing of the system is changed."""

import os
import subprocess
from pathlib import Path

from ..ports import free_port, is_open
from ..process import Process
from ..waiting import wait_until

REALM = "TESTS"


class Kdc:
    """`env` is what a program needs to find it."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True)
        self.folder = folder
        self.port = free_port()
        self.krb5 = folder / "krb5.conf"
        self.process: Process | None = None
        self.write_krb5(self.krb5, self.port)
        (folder / "kdc.conf").write_text(
            f"""[kdcdefaults]
  kdc_listen = ""
  kdc_tcp_listen = 127.0.0.1:{self.port}
[realms]
  {REALM} = {{
    database_name = {folder}/principal
    key_stash_file = {folder}/stash
    acl_file = {folder}/acl
  }}
[logging]
  kdc = FILE:{folder}/kdc.log
"""
        )
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "of no use elsewhere")

    @staticmethod
    def write_krb5(file: Path, port: int) -> None:
        """What clients read. Names of hosts are taken as they are: 127.0.0.1 is one."""
        file.write_text(
            f"""[libdefaults]
  default_realm = {REALM}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  {REALM} = {{
    kdc = 127.0.0.1:{port}
  }}
"""
        )

    @property
    def env(self) -> dict[str, str]:
        # Debian keeps the servers where only root looks.
        path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
        return {"KRB5_CONFIG": str(self.krb5), "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"), "PATH": path}

    def start(self) -> "Kdc":
        # By env, since the program lies where only the path of `env` leads.
        argv = ["env", "krb5kdc", "-n", "-r", REALM]
        self.process = Process(argv, self.folder / "krb5kdc.out", env=self.env)

        def answers() -> bool:
            self.process.check_alive()
            return is_open(self.port)

        wait_until(answers, 30, "the KDC listens")
        return self

    def stop(self) -> None:
        if self.process:
            self.process.stop()

    def add(self, principal: str, *, life: str = "1 hour") -> None:
        """A principal whose tickets live so long."""
        self._admin(f'add_principal -randkey -maxlife "{life}" {principal}')

    def remove(self, principal: str) -> None:
        self._admin(f"delete_principal -force {principal}")

    def keytab(self, principal: str, file: Path) -> Path:
        """Writes a keytab with new keys: those written before are good for nothing any more."""
        fresh = file.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        self._admin(f"ktadd -k {fresh} {principal}")
        fresh.replace(file)
        return file

    def log(self) -> str:
        return (self.folder / "kdc.log").read_text(errors="replace")

    def granted(self, client: str, service: str) -> int:
        """How many tickets were given out to a client, for a service."""
        wanted = f"{client}@{REALM} for {service}"
        return sum("ISSUE" in line and wanted in line for line in self.log().splitlines())

    def _admin(self, query: str) -> None:
        self._run("kadmin.local", "-r", REALM, "-q", query)

    def _run(self, *argv: str) -> None:
        done = subprocess.run(
            ["env", *argv], env={**os.environ, **self.env}, capture_output=True, text=True, timeout=60, check=False
        )
        # kadmin.local ends well even where what it was asked for failed.
        failed = done.returncode or "while" in done.stderr
        assert not failed, f"{argv}: {done.stdout}{done.stderr}"

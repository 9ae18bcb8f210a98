"""Object store servers, and one way to write to each of them. Brinkwatch itself only reads."""

import base64
import getpass
import hashlib
import hmac
import json
import os
import shutil
import urllib.parse
from datetime import datetime, timezone
from pathlib import Path

from . import brinkwatch, web
from .ports import free_port, is_open
from .process import Process
from .waiting import wait_until

PATIENCE = 60
# No server here checks them, but for Azurite, which knows this account and key from its documentation.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def installed(variable: str) -> str:
    """A program that `tests/testbed/install-stores` installs. A missing one is an error and never a skipped test."""
    path = os.environ.get(variable, "")
    if not path or not Path(path).exists():
        raise FileNotFoundError(f"{variable}={path!r}: start the tests with tests/run")
    return path


class Store:
    """What every store has: settings, and the commands that read it."""

    kind = ""
    settings: dict
    # Names that end with a slash: a console's way of making a directory.
    has_empty_names = False

    def put(self, key: str, content: bytes) -> None:
        raise NotImplementedError

    def delete(self, key: str) -> None:
        raise NotImplementedError

    def location(self, key: str) -> str:
        raise NotImplementedError

    def arguments(self) -> list:
        """What stands before the commands of `readings`."""
        return []

    def run(self, name: str, location: str, *options, settings: dict | None = None) -> brinkwatch.Finished:
        """Runs `inspect` or `discover`."""
        return brinkwatch.run(name, location, *options, **self.how(settings))

    def how(self, settings: dict | None = None) -> dict:
        return {"env": environment(self.settings if settings is None else settings)}

    def named(self) -> list[str]:
        return ["--store", "lake"] if self.settings else []


class Local(Store):
    """Directories of this machine."""

    kind = "file"

    def __init__(self, folder: Path):
        self.folder = folder
        self.settings = {}

    def put(self, key: str, content: bytes) -> None:
        path = self.folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def delete(self, key: str) -> None:
        (self.folder / key).unlink()

    def location(self, key: str) -> str:
        return str(self.folder / key)

    def stop(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class Memory(Local):
    """The library's store in memory, filled from a directory by the program that reads it."""

    kind = "memory"

    def location(self, key: str) -> str:
        return f"s3a://lake/{key}"

    def arguments(self) -> list:
        return ["--memory", self.folder]

    def run(self, name: str, location: str, *options, settings: dict | None = None) -> brinkwatch.Finished:
        program = brinkwatch.readings()
        return brinkwatch.run(*self.arguments(), name, location, *options, program=program)


class Server(Store):
    """A store that a process of its own serves over HTTP."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = Process(self.command(), folder / f"{self.kind}.log")
        wait_until(self.is_up, PATIENCE, f"the {self.kind} server listens")
        self.settings = {"kind": self.kind, "allow_http": True, **self.own_settings()}

    def command(self) -> list[str]:
        raise NotImplementedError

    def own_settings(self) -> dict:
        raise NotImplementedError

    def is_up(self) -> bool:
        self.process.check_alive()
        return is_open(self.port)

    def stop(self) -> None:
        self.process.stop()


class S3(Server):
    """moto: S3 and IAM in memory."""

    kind = "s3"
    has_empty_names = True
    # Nobody checks the signature; without one, only the owner of an object may change it.
    SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=x/20250101/us-east-1/s3/aws4_request, Signature=x"}

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.ask("PUT", "/lake")

    def command(self) -> list[str]:
        return [installed("BRINKWATCH_MOTO"), "-H", "127.0.0.1", "-p", str(self.port)]

    def own_settings(self) -> dict:
        return {
            "endpoint": self.url,
            "region": "us-east-1",
            "access_key_id": "AKIAEXAMPLE",
            "secret_access_key": "nobody-checks-it",
        }

    def ask(self, method: str, path: str, body: bytes | None = None, headers: dict | None = None) -> web.Answer:
        answer = web.request(self.url + path, method=method, body=body, headers=headers or {})
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.text}"
        return answer

    def put(self, key: str, content: bytes) -> None:
        # Anything else would be taken for a form.
        headers = {"Content-Type": "application/octet-stream", **self.SIGNED}
        self.ask("PUT", f"/lake/{urllib.parse.quote(key)}", content, headers)

    def delete(self, key: str) -> None:
        self.ask("DELETE", f"/lake/{urllib.parse.quote(key)}", headers=self.SIGNED)

    def location(self, key: str, bucket: str = "lake") -> str:
        return f"s3a://{bucket}/{key}"

    def hadoop(self) -> dict[str, str]:
        """What Hadoop's client is told, in which Spark trusts."""
        return {
            "fs.s3a.endpoint": self.url,
            "fs.s3a.endpoint.region": "us-east-1",
            "fs.s3a.path.style.access": "true",
            "fs.s3a.connection.ssl.enabled": "false",
            "fs.s3a.access.key": self.settings["access_key_id"],
            "fs.s3a.secret.key": self.settings["secret_access_key"],
        }

    def check_rights(self) -> dict:
        """From now on every request needs a right. Returns the settings of a user who has none."""
        service = {"Authorization": "AWS4-HMAC-SHA256 Credential=x/20250101/us-east-1/iam/aws4_request, Signature=x"}
        form = {"Content-Type": "application/x-www-form-urlencoded", **service}
        self.ask("POST", "/", b"Action=CreateUser&UserName=nobody&Version=2010-05-08", form)
        made = self.ask("POST", "/", b"Action=CreateAccessKey&UserName=nobody&Version=2010-05-08", form).text
        self.ask("POST", "/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"})

        def element(name: str) -> str:
            return made.split(f"<{name}>")[1].split(f"</{name}>")[0]

        return {
            **self.settings,
            "access_key_id": element("AccessKeyId"),
            "secret_access_key": element("SecretAccessKey"),
        }


class Azure(Server):
    """Azurite: Azure's Blob service."""

    kind = "azure"

    def __init__(self, folder: Path):
        super().__init__(folder)
        self.ask("PUT", "/lake", query={"restype": "container"})

    def command(self) -> list[str]:
        options = ["--silent", "--disableTelemetry", "--inMemoryPersistence", "--skipApiVersionCheck"]
        return [installed("BRINKWATCH_AZURITE"), *options, "--blobHost", "127.0.0.1", "--blobPort", str(self.port)]

    def own_settings(self) -> dict:
        return {"endpoint": f"{self.url}/{ACCOUNT}", "account": ACCOUNT, "account_key": ACCOUNT_KEY}

    def ask(self, method: str, path: str, body: bytes = b"", query: dict | None = None, headers: dict | None = None):
        """A request signed with the account's key."""
        own = {
            "x-ms-date": datetime.now(timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT"),
            "x-ms-version": "2021-08-06",
            **(headers or {}),
        }
        named = "".join(f"{name}:{own[name]}\n" for name in sorted(own))
        # The account stands twice: in the path of the emulator and in the name of the resource.
        resource = f"/{ACCOUNT}/{ACCOUNT}{path}" + "".join(f"\n{k}:{v}" for k, v in sorted((query or {}).items()))
        length = str(len(body)) if body else ""
        kind = "application/octet-stream"
        signed = f"{method}\n\n\n{length}\n\n{kind}\n\n\n\n\n\n\n{named}{resource}"
        digest = hmac.new(base64.b64decode(ACCOUNT_KEY), signed.encode(), hashlib.sha256).digest()
        own["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
        own["Content-Type"] = kind
        url = f"{self.url}/{ACCOUNT}{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")
        answer = web.request(url, method=method, body=body, headers=own)
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.text}"
        return answer

    def put(self, key: str, content: bytes) -> None:
        self.ask("PUT", f"/lake/{urllib.parse.quote(key)}", content, headers={"x-ms-blob-type": "BlockBlob"})

    def delete(self, key: str) -> None:
        self.ask("DELETE", f"/lake/{urllib.parse.quote(key)}")

    def location(self, key: str, bucket: str = "lake") -> str:
        return f"abfss://{bucket}@{ACCOUNT}.dfs.core.windows.net/{key}"


class Gcs(Server):
    """fake-gcs-server: Google's JSON interface to write, its XML interface to read."""

    kind = "gcs"

    def __init__(self, folder: Path):
        super().__init__(folder)
        body = json.dumps({"name": "lake"}).encode()
        self.ask("/storage/v1/b?project=tests", body, {"Content-Type": "application/json"})

    def command(self) -> list[str]:
        address = f"127.0.0.1:{self.port}"
        options = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(self.port), "-backend", "memory"]
        return [
            installed("BRINKWATCH_FAKE_GCS"), *options, "-public-host", address, "-external-url", f"http://{address}",
        ]  # fmt: skip

    def own_settings(self) -> dict:
        # Its own way of saying that nobody asks for a token.
        account = {"gcs_base_url": self.url, "disable_oauth": True}
        path = self.folder / "service-account.json"
        path.write_text(json.dumps({**account, "client_email": "", "private_key": "", "private_key_id": ""}))
        return {"service_account_file": str(path)}

    def ask(self, path: str, body: bytes, headers: dict, method: str = "POST") -> web.Answer:
        answer = web.request(self.url + path, method=method, body=body, headers=headers)
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.text}"
        return answer

    def put(self, key: str, content: bytes) -> None:
        name = urllib.parse.quote(key, safe="")
        kind = {"Content-Type": "application/octet-stream"}
        self.ask(f"/upload/storage/v1/b/lake/o?uploadType=media&name={name}", content, kind)

    def delete(self, key: str) -> None:
        self.ask(f"/storage/v1/b/lake/o/{urllib.parse.quote(key, safe='')}", b"", {}, "DELETE")

    def location(self, key: str, bucket: str = "lake") -> str:
        return f"gs://{bucket}/{key}"


class Hdfs(Server):
    """A name node and a data node in one process; written through WebHDFS, read through HDFS' own protocol."""

    kind = "hdfs"

    def __init__(self, folder: Path):
        self.rpc_port = free_port()
        super().__init__(folder)
        # The data node reports some time after the name node listens.
        wait_until(lambda: self.put("first", b"x") or True, 3 * PATIENCE, "HDFS takes a file")
        self.settings = {"kind": self.kind}

    def command(self) -> list[str]:
        jars = installed("BRINKWATCH_HDFS_JARS")
        ports = ["-nnport", str(self.rpc_port), "-httpport", str(self.port)]
        # A listing comes in pages of a thousand names by default. Nobody needs the edits on disk.
        settings = ["-D", "dfs.ls.limit=10", "-D", "dfs.namenode.edits.noeditlogchannelflush=true"]
        return [
            "java", "-Xmx512m", f"-Dtest.build.data={self.folder}/data", "-cp", f"{jars}/*",
            "org.apache.hadoop.test.MiniDFSClusterManager", "-format", "-datanodes", "1", *ports, *settings,
        ]  # fmt: skip

    def own_settings(self) -> dict:
        return {}

    def ask(self, operation: str, key: str, method: str = "PUT", **options) -> web.Answer:
        query = urllib.parse.urlencode({"op": operation, "user.name": getpass.getuser(), **options})
        url = f"{self.url}/webhdfs/v1/lake/{urllib.parse.quote(key)}?{query}"
        answer = web.request(url, method=method, timeout=30)
        assert answer.status < 300, f"{operation} {key}: {answer.status} {answer.text}"
        return answer

    def put(self, key: str, content: bytes) -> None:
        node = self.ask("CREATE", key, overwrite="true", noredirect="true").json()["Location"]
        kind = {"Content-Type": "application/octet-stream"}
        # It leaves letters beyond ASCII as they are.
        node = urllib.parse.quote(node, safe=":/?&=%+")
        answer = web.request(node, method="PUT", body=content, headers=kind, timeout=30)
        assert answer.status == 201, f"{key}: {answer.status} {answer.text}"

    def delete(self, key: str) -> None:
        self.ask("DELETE", key, method="DELETE")

    def stop(self) -> None:
        # It takes its time to end, to keep what nobody needs.
        self.process.kill()

    def hadoop(self) -> dict[str, str]:
        return {}

    def location(self, key: str) -> str:
        return f"hdfs://127.0.0.1:{self.rpc_port}/lake/{key}"


KINDS = {"file": Local, "memory": Memory, "s3": S3, "azure": Azure, "gcs": Gcs, "hdfs": Hdfs}


def environment(settings: dict, name: str = "lake") -> dict[str, str]:
    """Settings of a store as variables."""

    def text(value) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return {f"BRINKWATCH__STORES__{name.upper()}__{key.upper()}": text(value) for key, value in settings.items()}

"""What Helm and kustomize make of the files under deploy/, and the tools that know what Kubernetes takes."""

import json
import os
import subprocess
from pathlib import Path

import yaml

from .brinkwatch import ROOT

CHART = ROOT / "deploy" / "helm" / "brinkwatch"
BASE = ROOT / "deploy" / "kubernetes"
EVERYTHING = CHART / "ci" / "everything-values.yaml"
OPERATOR = "monitoring.coreos.com/v1"
# The oldest that Chart.yaml allows, and the newest that the schemas know.
VERSIONS = ("1.27", "1.37")
# A Helm without a cluster takes the version that it was built for.
KUBERNETES = ("--kube-version", VERSIONS[0])


def tool(*argv, stdin: str | None = None) -> subprocess.CompletedProcess:
    """Runs a tool that tests/testbed/install-deploy has installed: bin/helm, venv/bin/kubectl, …"""
    program, *arguments = map(str, argv)
    path = Path(os.environ["BRINKWATCH_DEPLOY_TOOLS"]) / program
    return subprocess.run([path, *arguments], input=stdin, capture_output=True, text=True, timeout=120, check=False)


def helm(*arguments) -> subprocess.CompletedProcess:
    return tool("bin/helm", *arguments)


def documents(text: str) -> list[dict]:
    return [document for document in yaml.safe_load_all(text) if document]


def template(*arguments, chart: Path = CHART) -> list[dict]:
    done = helm("template", "watch", chart, "--namespace", "streams", *KUBERNETES, *arguments)
    assert done.returncode == 0, done.stderr
    return documents(done.stdout)


def kustomize(folder: Path) -> list[dict]:
    done = tool("venv/bin/kubectl", "kustomize", folder)
    assert (done.returncode, done.stderr) == (0, "")
    return documents(done.stdout)


def overlay(folder: Path, *further: str) -> Path:
    """As an operator would write one: the base and the component, in a namespace, with a text of their own."""
    folder.mkdir()
    (folder / "brinkwatch.toml").write_text('[clusters.main]\nbootstrap_servers = "broker:9092"\n')
    settings = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": "streams",
        "resources": [os.path.relpath(BASE, folder)],
        "components": [os.path.relpath(BASE / component, folder) for component in ("monitoring", *further)],
        "images": [{"name": "brinkwatch", "newName": "registry.example/brinkwatch"}],
        "configMapGenerator": [{"name": "brinkwatch", "behavior": "replace", "files": ["brinkwatch.toml"]}],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(settings))
    return folder


def one(manifests: list[dict], kind: str) -> dict:
    (found,) = [manifest for manifest in manifests if manifest["kind"] == kind]
    return found


def complaints(manifests: list[dict], folder: Path) -> list[str]:
    """What Kubernetes and the operator find wrong: unknown fields, wrong types, what is missing."""
    found = []
    own = [manifest for manifest in manifests if manifest["apiVersion"] != OPERATOR]
    path = folder / "manifests.yaml"
    path.write_text(yaml.safe_dump_all(own))
    for version in VERSIONS:
        done = tool("venv/bin/kubernetes-validate", "--strict", "--kubernetes-version", version, path)
        if done.returncode != 0:
            found.append(f"{version}: {done.stdout}{done.stderr}")
    foreign = [manifest for manifest in manifests if manifest["apiVersion"] == OPERATOR]
    done = tool("bin/operator", stdin=json.dumps(foreign))
    if done.returncode != 0:
        found.append(done.stderr)
    return found


def not_restricted(pod: dict) -> list[str]:
    """What keeps a pod from Kubernetes' Pod Security Standard "restricted", and from a read-only root."""
    wrong = []
    around = pod["securityContext"]
    if around.get("runAsNonRoot") is not True or not around.get("runAsUser"):
        wrong.append("may be root")
    if around.get("seccompProfile") != {"type": "RuntimeDefault"}:
        wrong.append("no seccomp profile")
    for volume in pod["volumes"]:
        if not volume.keys() & {"configMap", "emptyDir", "secret", "persistentVolumeClaim", "projected"}:
            wrong.append(f"volume {volume}")
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            wrong.append(name)
    for container in pod["containers"] + pod.get("initContainers", []):
        inside = container["securityContext"]
        if inside.get("allowPrivilegeEscalation") is not False:
            wrong.append("may gain privileges")
        if inside.get("readOnlyRootFilesystem") is not True:
            wrong.append("may write its image")
        if inside.get("capabilities") != {"drop": ["ALL"]}:
            wrong.append("keeps capabilities")
        if inside.get("privileged"):
            wrong.append("privileged")
    return wrong

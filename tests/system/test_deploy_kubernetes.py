"""Chart and kustomization, rendered by Helm and kubectl and held against Kubernetes, Prometheus and our own program."""

import copy
import json
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from .brinkwatch import ROOT, Daemon, run
from .manifests import (
    BASE,
    CHART,
    EVERYTHING,
    KUBERNETES,
    complaints,
    helm,
    kustomize,
    not_restricted,
    one,
    overlay,
    template,
)
from .ports import free_port
from .prometheus import promtool

VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["version"]
OPERATOR = "serviceMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true"
FORMS = {
    "chart": lambda _: template(),
    "chart with everything": lambda _: template("--values", EVERYTHING),
    "chart with the operator": lambda _: template("--set", OPERATOR),
    "chart with a Secret": lambda _: template("--set", "existingConfigSecret=own,persistence.enabled=false"),
    "base": lambda _: kustomize(BASE),
    "overlay": lambda folder: kustomize(overlay(folder / "overlay")),
    "chart in shards": lambda _: template("--set", "shards=3,replicas=2"),
    "overlay in shards": lambda folder: kustomize(overlay(folder / "overlay", "shards")),
}
IN_SHARDS = ["chart with everything", "chart in shards", "overlay in shards"]
# Those that bring a ConfigMap with the configuration.
CONFIGURED = [form for form in FORMS if form != "chart with a Secret"]
WITH_RULES = ["chart with everything", "chart with the operator", "overlay"]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """Each form, rendered once."""
    made = {}

    def get(form: str) -> list[dict]:
        if form not in made:
            made[form] = FORMS[form](tmp_path_factory.mktemp("rendered"))
        return copy.deepcopy(made[form])

    return get


def configuration(manifests: list[dict]) -> str:
    (text,) = [each["data"]["brinkwatch.toml"] for each in manifests if "brinkwatch.toml" in each.get("data", {})]
    return text


def pod(manifests: list[dict]) -> dict:
    return one(manifests, "StatefulSet")["spec"]["template"]


@pytest.mark.parametrize("values", [[], ["--values", EVERYTHING]], ids=["defaults", "everything"])
def test_helm_finds_nothing_wrong_with_the_chart(values):
    done = helm("lint", "--strict", CHART, *KUBERNETES, *values)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout, done.stdout


@pytest.mark.parametrize("form", FORMS)
def test_kubernetes_and_the_operator_know_every_field(rendered, form, tmp_path):
    assert complaints(rendered(form), tmp_path) == []


def test_a_field_that_nobody_knows_is_found(rendered, tmp_path):
    """So that the test above can fail."""
    for kind in ("StatefulSet", "ServiceMonitor", "PrometheusRule"):
        manifests = rendered("chart with the operator")
        one(manifests, kind)["spec"]["misspelt"] = True
        assert "misspelt" in "".join(complaints(manifests, tmp_path)), kind


@pytest.mark.parametrize("form", FORMS)
def test_pods_run_restricted_and_ask_the_cluster_for_nothing(rendered, form):
    spec = pod(rendered(form))["spec"]
    assert not_restricted(spec) == []
    assert spec["automountServiceAccountToken"] is False
    # Kubernetes would set variables for each Service, and some could begin as ours do.
    assert spec["enableServiceLinks"] is False


@pytest.mark.parametrize("form", FORMS)
def test_what_selects_pods_selects_these(rendered, form):
    manifests = rendered(form)
    labels = pod(manifests)["metadata"]["labels"].items()
    selectors = [
        one(manifests, "StatefulSet")["spec"]["selector"]["matchLabels"],
        one(manifests, "Service")["spec"]["selector"],
        one(manifests, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
        one(manifests, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
    ]
    for selector in selectors:
        assert selector.items() <= labels
        assert selector.keys() == {"app.kubernetes.io/name", "app.kubernetes.io/instance"}


@pytest.mark.parametrize("form", FORMS)
def test_what_can_never_be_changed_names_no_version(rendered, form):
    """Kubernetes refuses an upgrade that changes one of these."""
    spec = one(rendered(form), "StatefulSet")["spec"]
    fixed = [spec.get(name) for name in ("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates")]
    assert VERSION not in json.dumps(fixed)


@pytest.mark.parametrize("form", FORMS)
def test_ports_and_volumes_are_called_by_names_that_exist(rendered, form):
    manifests = rendered(form)
    spec = pod(manifests)["spec"]
    container = spec["containers"][0]
    inside = {port["name"] for port in container["ports"]}
    service = one(manifests, "Service")
    outside = {port["name"] for port in service["spec"]["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= inside
    assert {container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")} <= inside
    rules = one(manifests, "NetworkPolicy")["spec"]["ingress"]
    assert {port["port"] for rule in rules for port in rule["ports"]} <= inside
    for monitor in [each["spec"] for each in manifests if each["kind"] == "ServiceMonitor"]:
        assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert {end["port"] for end in monitor["endpoints"]} <= outside
    claims = one(manifests, "StatefulSet")["spec"].get("volumeClaimTemplates", [])
    volumes = [volume["name"] for volume in spec["volumes"]] + [claim["metadata"]["name"] for claim in claims]
    assert sorted(volumes) == sorted(mount["name"] for mount in container["volumeMounts"])


@pytest.mark.parametrize("form", CONFIGURED)
def test_our_program_takes_the_configuration_and_listens_where_the_port_is(rendered, form, tmp_path):
    manifests = rendered(form)
    path = tmp_path / "brinkwatch.toml"
    path.write_text(configuration(manifests))
    done = run("config", "check", "--config", path)
    assert done.code == 0, done
    shown = tomllib.loads(run("config", "show", "--config", path).out)
    (port,) = pod(manifests)["spec"]["containers"][0]["ports"]
    assert shown["server"]["listen"].endswith(f":{port['containerPort']}")


@pytest.mark.parametrize("form", ["chart", "base", "chart in shards", "overlay in shards"])
def test_the_container_starts_as_rendered_and_its_probes_are_answered(rendered, form, tmp_path):
    manifests = rendered(form)
    container = pod(manifests)["spec"]["containers"][0]
    (tmp_path / "brinkwatch.toml").write_text(configuration(manifests))
    here = arguments(container, f"{one(manifests, 'StatefulSet')['metadata']['name']}-4", tmp_path)
    port = free_port()
    own = ["--set", f"server.listen=127.0.0.1:{port}", "--set", f"state_dir={tmp_path / 'state'}"]
    daemon = Daemon(tmp_path, [*here, *own], port)
    try:
        daemon.wait_ready()
        for probe in ("livenessProbe", "readinessProbe"):
            assert daemon.get(container[probe]["httpGet"]["path"]).status == 200
        metrics = daemon.metrics()
        expected = (1, 3) if form in IN_SHARDS else (0, 1)
        assert (metrics.value("shard_ordinal"), metrics.value("shards")) == expected
    finally:
        assert daemon.stop() == 0


def arguments(container: dict, name: str, mounts: Path) -> list[str]:
    """As Kubernetes fills them in for the pod of this name; volumes lie in a folder of ours."""
    filled = []
    for argument in container["args"]:
        for variable in container.get("env", []):
            by_name = variable.get("valueFrom") == {"fieldRef": {"fieldPath": "metadata.name"}}
            argument = argument.replace(f"$({variable['name']})", name if by_name else variable.get("value", ""))
        filled.append(argument.replace("/etc/brinkwatch", str(mounts)))
    return filled


@pytest.mark.parametrize("form", IN_SHARDS)
def test_every_shard_has_its_replicas_and_a_drain_takes_one_pod_at_a_time(rendered, form, tmp_path):
    manifests = rendered(form)
    sets = one(manifests, "StatefulSet")
    name, pods = sets["metadata"]["name"], sets["spec"]["replicas"]
    said = [arguments(pod(manifests)["spec"]["containers"][0], f"{name}-{number}", tmp_path) for number in range(pods)]
    shards = [[word for word in argv if word.startswith("--shard=")] for argv in said]
    assert shards == [[f"--shard={name}-{number}/3"] for number in range(6)]
    budget = one(manifests, "PodDisruptionBudget")["spec"]["maxUnavailable"]
    assert budget == ("50%" if form == "chart with everything" else 1)


def test_a_fleet_that_is_whole_is_not_told_of_shards(rendered):
    for form in ("chart", "base", "overlay"):
        assert "shard" not in json.dumps(pod(rendered(form))).lower()


def test_a_chart_in_use_is_cut_into_shards_in_place(rendered):
    """What Kubernetes refuses to change stays as it is."""
    before, after = (one(rendered(form), "StatefulSet") for form in ("chart", "chart in shards"))
    assert before["metadata"] == after["metadata"]
    for name in ("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates"):
        assert before["spec"][name] == after["spec"][name]


@pytest.mark.parametrize("form", WITH_RULES)
def test_the_rules_are_the_programs_and_promtool_takes_them(rendered, form, tmp_path):
    spec = one(rendered(form), "PrometheusRule")["spec"]
    assert spec == yaml.safe_load(run("rules", "--config", "/dev/null").out)
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump(spec))
    done = promtool("check", "rules", "--lint=all", "--lint-fatal", str(path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_of_ones_own_take_the_place_of_the_usual_ones(tmp_path):
    (tmp_path / "rules.yml").write_text(run("rules", "--set", "alerts.risk_warning=0.4").out)
    own = template("--set", "prometheusRule.enabled=true", "--set-file", f"prometheusRule.rules={tmp_path / 'rules.yml'}")
    assert one(own, "PrometheusRule")["spec"] == yaml.safe_load((tmp_path / "rules.yml").read_text())


@pytest.mark.parametrize("form", WITH_RULES)
def test_every_dashboard_is_there_for_the_sidecar(rendered, form):
    maps = [each for each in rendered(form) if each["metadata"].get("labels", {}).get("grafana_dashboard") == "1"]
    found = {name: json.loads(text) for each in maps for name, text in each["data"].items()}
    assert found == {path.name: json.loads(path.read_text()) for path in (ROOT / "dashboards").glob("*.json")}


def test_another_configuration_starts_the_pods_anew():
    one_text, other = (pod(template("--set", f"config=poll_interval='{seconds}s'")) for seconds in (30, 60))
    assert one_text["metadata"]["annotations"] != other["metadata"]["annotations"]


def test_the_packed_chart_is_the_same_chart(tmp_path):
    """Rules and dashboards lie outside the chart and are linked into it."""
    done = helm("package", CHART, "--destination", tmp_path)
    assert done.returncode == 0, done.stderr
    (packed,) = tmp_path.glob("*.tgz")
    assert template("--set", OPERATOR, chart=packed) == template("--set", OPERATOR)


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("--set=replica=2", "replica"),
        ("--set-string=replicas=two", "integer"),
        ("--set=shards=0", "shards"),
        ("--set=image.pullPolicy=Sometimes", "pullPolicy"),
        ("--set=image.digest=0123", "digest"),
        ("--set=scheme=http", "scheme"),
        ("--set=containerPort=99170", "containerPort"),
        ("--set=persistence.size=1 GB", "size"),
        ("--set=serviceMonitor.interval=30", "interval"),
        ("--set=networkPolicy.namespaces=monitoring", "array"),
        ("--set=podDisruptionBudget.maxUnavailable=most", "maxUnavailable"),
        ("--set=secretMounts.kafka=", "secretMounts"),
        ("--set=config=null", "config"),
    ],
)
def test_values_that_make_no_sense_are_refused_by_name(setting, word):
    done = helm("template", "watch", CHART, *KUBERNETES, setting)
    assert done.returncode != 0 and word in done.stderr, done.stderr


def test_the_schema_knows_every_value():
    def names(values: dict, schema: dict) -> None:
        for name, value in values.items():
            assert name in schema["properties"], name
            if isinstance(value, dict) and "properties" in schema["properties"][name]:
                names(value, schema["properties"][name])

    names(yaml.safe_load((CHART / "values.yaml").read_text()), json.loads((CHART / "values.schema.json").read_text()))


def test_the_notes_say_what_is_missing(tmp_path):
    """Helm shows them after an installation only; a template of our own shows them here."""
    chart = shutil.copytree(CHART, tmp_path / "chart")
    notes = '{{ include (print $.Template.BasePath "/NOTES.txt") . | indent 2 }}'
    (chart / "templates" / "notes.yaml").write_text(f"kind: Notes\ntext: |\n{notes}\n")
    text = one(template(chart=chart), "Notes")["text"]
    for word in ("NOTHING IS WATCHED YET", "NOBODY SCRAPES IT", "NOBODY IS WOKEN", "streams, monitoring"):
        assert word in text
    text = one(template("--values", EVERYTHING, chart=chart), "Notes")["text"]
    assert "service/watcher 9917:80" in text
    assert "pod/watcher-0 those of shard 0" in text
    assert "NOTHING IS WATCHED" not in text and "NOBODY" not in text


def test_one_version_everywhere():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)
    for manifests in (template(), kustomize(BASE)):
        assert pod(manifests)["spec"]["containers"][0]["image"] == f"brinkwatch:{VERSION}"
        assert pod(manifests)["metadata"]["labels"]["app.kubernetes.io/version"] == VERSION

"""What stands in `deploy/` for stores on a server works: with the server, with our commands."""

import re
from configparser import ConfigParser
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from tests.postgres import PostgresServer, running_server

from freki.cli.main import COMMANDS
from freki.config import Settings
from freki.ledger.jobs.served import Served
from freki.ledger.place import place
from freki.ledger.postgres.store import open_server
from freki.serve import health, metrics, supervisor
from freki.serve.terms import PORT
from freki.testing.bench import StoreBench

DEPLOY = Path(__file__).parents[2] / "deploy"
MANIFESTS: list[dict[str, Any]] = [
    made
    for file in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for made in yaml.safe_load_all(file.read_text("utf-8"))
]
COMPOSED: list[dict[str, Any]] = [
    service
    for file in ("compose.yaml", "service/many.yaml")
    for service in yaml.safe_load((DEPLOY / file).read_text("utf-8"))["services"].values()
    if service.get("image", "freki") == "freki"
]

# What a pod is told in its last moments takes this long, with what is in flight.
LAST_WORDS = 5.0


def manifests(kind: str) -> dict[str, dict[str, Any]]:
    """The manifests of a kind, by their names."""
    return {made["metadata"]["name"]: made for made in MANIFESTS if made["kind"] == kind}


def pod(deployment: dict[str, Any]) -> dict[str, Any]:
    return cast("dict[str, Any]", deployment["spec"]["template"]["spec"])


def container(deployment: dict[str, Any]) -> dict[str, Any]:
    (only,) = pod(deployment)["containers"]
    return cast("dict[str, Any]", only)


DEPLOYMENTS = manifests("Deployment")
CALLS = [
    *(container(made)["args"] for made in DEPLOYMENTS.values()),
    *(
        [*service.get("entrypoint", ["freki"]), *service.get("command", [])][1:]
        for service in COMPOSED
    ),
]


@pytest.mark.parametrize("words", CALLS, ids=lambda words: " ".join(words[:3]))
def test_commands_are_spelt_as_they_are_understood(words: list[str]) -> None:
    command, *rest = words
    parsed = import_module(COMMANDS[command][0]).parser(command).parse_args(rest)
    assert str(place(str(parsed.store))).startswith("postgresql://")


def test_there_are_web_processes_workers_and_workers_with_browsers() -> None:
    commands = {name: container(made)["args"][:3] for name, made in DEPLOYMENTS.items()}
    assert commands == {
        "freki-web": ["serve", "--only", "web"],
        "freki-browser-worker": ["serve", "--only", "workers"],
        "freki-worker": ["worker", "docs", "--store"],
    }


def test_probes_ask_for_what_is_there() -> None:
    web = container(DEPLOYMENTS["freki-web"])
    assert web["ports"] == [{"name": "http", "containerPort": PORT}]
    routes = {getattr(route, "path", "") for route in health.routes.routes}
    probes = {name: probe["httpGet"] for name, probe in web.items() if name.endswith("Probe")}
    assert probes.keys() == {"startupProbe", "livenessProbe", "readinessProbe"}
    for probe in probes.values():
        assert probe["path"] in routes
        assert probe["port"] == "http"
    # A process whose database is away is not ready, but nobody is helped by its death.
    assert probes["readinessProbe"]["path"] == "/readyz"
    assert probes["livenessProbe"]["path"] == "/isalive"
    (port,) = manifests("Service")["freki-web"]["spec"]["ports"]
    assert port["targetPort"] == "http"


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_whoever_is_told_to_end_has_the_time(name: str) -> None:
    grace = pod(DEPLOYMENTS[name])["terminationGracePeriodSeconds"]
    needed = Settings().fetching.drain if name == "freki-worker" else supervisor.LAST_SECONDS
    assert grace > needed + LAST_WORDS


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_nothing_may_do_more_than_it_must(name: str) -> None:
    context = container(DEPLOYMENTS[name])["securityContext"]
    assert context["runAsNonRoot"]
    assert context["readOnlyRootFilesystem"]
    assert not context["allowPrivilegeEscalation"]
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert not pod(DEPLOYMENTS[name])["automountServiceAccountToken"]


def test_the_autoscaler_goes_by_numbers_that_the_service_tells() -> None:
    told = {metrics.HOSTS_DUE[0], metrics.QUEUED[0], metrics.RUNNING[0]}
    scalers = manifests("HorizontalPodAutoscaler")
    wanted = {
        name: {metric["external"]["metric"]["name"] for metric in made["spec"]["metrics"]}
        for name, made in scalers.items()
    }
    assert wanted["freki-worker"] == {metrics.HOSTS_DUE[0]}
    assert set().union(*wanted.values()) == told
    for name, made in scalers.items():
        assert made["spec"]["scaleTargetRef"]["name"] == name
        assert name in DEPLOYMENTS
    rules = yaml.safe_load(manifests("ConfigMap")["freki-adapter-rules"]["data"]["config.yaml"])
    handed_on = set(re.findall(r"freki_\w+", rules["externalRules"][0]["seriesQuery"]))
    assert handed_on == told
    (endpoint,) = manifests("ServiceMonitor")["freki"]["spec"]["endpoints"]
    assert endpoint["path"] in {getattr(route, "path", "") for route in health.routes.routes}


def test_the_database_tells_the_same_number_without_the_service(postgres: PostgresServer) -> None:
    text = manifests("ConfigMap")["freki-metrics"]["data"]["queries.yaml"]
    ((name, query),) = yaml.safe_load(text).items()
    address = postgres.store()
    open_server(address, "process").close()
    with closing(open_server(address, "process")) as server:
        rows = server.run(query["query"])
        columns = [column[0] for column in rows.description]
        assert rows.fetchall() == [(0, 0, None)]
    assert columns == [column for metric in query["metrics"] for column in metric]
    assert f"{name}_{columns[0]}" == metrics.HOSTS_DUE[0]
    with closing(StoreBench(address)) as bench:
        bench.worker().seed("http://a/", "http://b/")
    with closing(open_server(address, "process")) as server:
        assert server.run(query["query"]).fetchall() == [(2, 0, 2)]
    served = Served(address)
    served.prepare()
    with closing(served.desk()) as desk:
        assert desk.hosts_due() == 2


def test_who_may_speak_to_whom_is_said_of_pods_that_are_there() -> None:
    labels = [made["spec"]["template"]["metadata"]["labels"] for made in DEPLOYMENTS.values()]
    labels.append(
        manifests("CronJob")["freki-backup"]["spec"]["jobTemplate"]["spec"]["template"]["metadata"][
            "labels"
        ]
    )
    labels.append({"app": "freki-database"})  # whoever runs it
    for policy in manifests("NetworkPolicy").values():
        for wanted in re.findall(r"'matchLabels': ({[^}]*})", str(policy)):
            selector = yaml.safe_load(wanted)
            if "kubernetes.io/metadata.name" in selector:
                continue
            assert any(selector.items() <= has.items() for has in labels), selector
    reaching = {made["app"] for made in labels if made.get("reaches") == "internet"}
    assert reaching == {"freki-worker", "freki-browser-worker"}


def test_every_secret_is_one_and_the_same() -> None:
    found = re.findall(r"'secretKeyRef': ({[^}]*})", str(MANIFESTS))
    assert {str(yaml.safe_load(one)) for one in found} == {
        "{'name': 'freki-store', 'key': 'password'}"
    }


def test_a_pooler_leaves_a_connection_to_its_worker() -> None:
    pooler = ConfigParser(interpolation=None)
    pooler.read(DEPLOY / "pgbouncer.ini")
    assert pooler["pgbouncer"]["pool_mode"] == "session"


def test_the_settings_of_the_server_are_ones_that_it_knows() -> None:
    settings = (DEPLOY / "postgresql.conf").read_text("utf-8").replace("= 4GB", "= 64MB")
    with running_server(settings) as server:
        assert server.ask("SHOW max_connections") == ["200"]

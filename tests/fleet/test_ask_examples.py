# SPDX-License-Identifier: MIT
"""test_ask_examples.py - examples/fleet: the files are valid, agree with each other, and the dashboard's SQL gives rows."""
import ask_data
from ask_store import API, HERE, ask_current_engine
from harness import *

EXAMPLES = os.path.join(HERE, "../../examples/fleet")
CLICKHOUSE, PROMETHEUS = "grafana-clickhouse-datasource", "prometheus"


def yaml_of(name):
    try:
        import yaml
    except ImportError:
        raise Skip("no yaml module") from None
    with open(f"{EXAMPLES}/{name}", encoding="utf-8") as f:
        return yaml.safe_load(f)


def dashboard():
    with open(EXAMPLES + "/grafana-dashboard.json", encoding="utf-8") as f:
        return json.load(f)


@test
def compose_names_images_files_and_volumes(dir):
    compose = yaml_of("docker-compose.yml")
    services = compose["services"]
    for name in ("nats", "clickhouse", "prometheus", "grafana"):
        assert ":" in services[name]["image"], f"{name} has no version"
    assert os.path.exists(os.path.join(EXAMPLES, services["loader"]["build"]["context"], services["loader"]["build"]["dockerfile"])), "no Dockerfile"
    for service in services.values():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in compose["volumes"] or os.path.exists(os.path.join(EXAMPLES, source)), f"no {source}"
        for other in service.get("depends_on", []):
            assert other in services, other
    # The loader's command is one that the tool accepts: it fails only because there is no such host.
    status, _, err = tool(*[w.replace("/state", dir) for w in services["loader"]["command"]], "--wait", "0")
    assert status == 1 and "usage" not in err, err


@test
def grafana_knows_its_sources(_dir):
    sources = {s["uid"]: s["type"] for s in yaml_of("grafana-sources.yml")["datasources"]}
    panels = dashboard()["panels"]
    assert len(panels) >= 8, len(panels)
    for panel in panels:
        for target in panel["targets"]:
            equal(sources[target["datasource"]["uid"]], target["datasource"]["type"], panel["title"])
    equal(sorted({p["id"] for p in panels}), list(range(1, len(panels) + 1)), "ids of panels")
    assert yaml_of("grafana-dashboards.yml")["providers"] and yaml_of("prometheus.yml")["scrape_configs"]


@test
def the_sql_of_the_dashboard_gives_rows(_dir):
    begin, end = f"toDateTime({ask_data.START})", f"toDateTime({ask_data.START + 3 * ask_data.HALF})"
    questions = {"service": dashboard()["templating"]["list"][0]["query"]}
    for panel in dashboard()["panels"]:
        sql = panel["targets"][0].get("rawSql")
        if sql:
            questions[panel["title"]] = sql.replace("$__fromTime", begin).replace("$__toTime", end).replace("${service}", "api")
    answers = ask_current_engine(questions)
    equal([key for key, a in answers.items() if not a["rows"]], [], "panels without rows")
    equal([r["service"] for r in answers["service"]["rows"]], ["api", "web"], "services")
    lost = answers["Waits that never ended"]["rows"][0]
    equal((lost["site"], lost["waits"], lost["hosts"]), (ask_data.name(ask_data.LOST_SITE), 606, 3), "lost wakeups")
    slowest = {r["site"]: r for r in answers["Slowest sites"]["rows"]}
    want = {r["site"]: r for r in ask_data.slowest(API)}
    for site, row in want.items():
        equal(slowest[site]["waits"], row["waits"], f"waits of {site}")
        assert row["p99_ns"] / 2 <= slowest[site]["p99"] * 1e9 <= row["p99_ns"] * 2, (site, slowest[site], row)
    equal({r["version"]: r["hosts"] for r in answers["Runs, and what is missing from them"]["rows"]}, {"v1.0": 40, "v1.1": 40}, "runs")


if __name__ == "__main__":
    main()

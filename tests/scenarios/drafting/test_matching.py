"""`groupsim init` with manifests and settings together: the value that takes precedence, and its source."""

from __future__ import annotations

from textwrap import dedent

import pytest

from groupsim.scenarios.drafting import DraftedScenario, File, draft_of
from groupsim.scenarios.language.problems import ScenarioError


def draft(only: tuple[str, ...] = (), profile: str | None = None, **texts: str) -> DraftedScenario:
    """A draft of files; `application_yml` is the file application.yml."""
    files = []
    for name, text in texts.items():
        file = ".".join(name.rsplit("_", 1))
        files.append(File(file, dedent(text).lstrip("\n"), not file.endswith(".properties")))
    return draft_of(files, only, profile)


def lines(drafted: DraftedScenario, *keys: str) -> list[str]:
    """Return the lines of a draft with one of these keys, without indentation."""
    return [line.strip() for line in drafted.text.splitlines() if line.strip().startswith(tuple(f"{k}:" for k in keys))]


def deployment(name: str = "orders", spec: str = "", env: str = "", pod: str = "") -> str:
    """Write a Deployment with more keys of its `spec`, its pod and its environment, each in flow style."""
    return dedent(f"""\
        apiVersion: apps/v1
        kind: Deployment
        metadata: {{name: {name}}}
        spec:
          replicas: 4
          {spec or "paused: false"}
          template:
            spec:
              {pod or "restartPolicy: Always"}
              containers:
                - name: app
                  env: [{env}]
        """)


GROUP = "{name: KAFKA_GROUP_ID, value: billing}"


def test_the_environment_counts_over_the_file_of_the_application() -> None:
    """A variable of the container replaces the setting of application.yml, and the comment names the variable."""
    drafted = draft(
        deployment_yaml=deployment(env=f"{GROUP}, {{name: SPRING_KAFKA_CONSUMER_MAX_POLL_RECORDS, value: '7'}}"),
        application_yml="""
            spring.kafka.consumer:
              max-poll-records: 500
              properties: {session.timeout.ms: 20000}
            """,
    )
    assert lines(drafted, "max.poll.records", "session.timeout.ms") == [
        "max.poll.records: 7  # deployment.yaml:12 SPRING_KAFKA_CONSUMER_MAX_POLL_RECORDS",
        "session.timeout.ms: 20000  # application.yml:3 spring.kafka.consumer.properties.session.timeout.ms",
    ]


def test_a_placeholder_is_filled_in_from_the_containers_environment() -> None:
    """`${GROUP_NAME}` in application.yml gets the value of that variable in the Deployment."""
    drafted = draft(
        deployment_yaml=deployment(env="{name: GROUP_NAME, value: billing}"),
        application_yml="spring.kafka.consumer: {group-id: '${GROUP_NAME}', max-poll-records: '${MOST:50}'}\n",
    )
    assert list(drafted.scenario.groups) == ["billing"]
    assert lines(drafted, "max.poll.records")[0].startswith("max.poll.records: 50 ")


def test_a_placeholder_that_nothing_fills_in_is_a_question() -> None:
    """A setting without a value is not written; the question names the variable and the place."""
    drafted = draft(consumer_properties="group.id=g\nsession.timeout.ms=${SESSION}\n")
    assert not lines(drafted, "session.timeout.ms")
    asked = [question.text for question in drafted.questions if "session.timeout.ms" in question.text]
    assert asked == [
        "session.timeout.ms is filled in from `${SESSION}` (consumer.properties:2 session.timeout.ms): which value?"
    ]


def test_config_maps_give_variables_and_files() -> None:
    """envFrom takes a ConfigMap's keys as variables; an application.properties inside one is read at its own lines."""
    config = """\
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        data:
          KAFKA_GROUP_ID: billing
          application.properties: |
            server.port=80
            spring.kafka.consumer.max-poll-records=9
        """
    text = deployment(pod="volumes: [{name: v, configMap: {name: settings}}]").replace(
        "env: []", "envFrom: [{configMapRef: {name: settings}}]"
    )
    drafted = draft(all_yaml=text + dedent(config))
    assert list(drafted.scenario.groups) == ["billing"]
    assert lines(drafted, "max.poll.records") == [
        "max.poll.records: 9  # all.yaml:21 spring.kafka.consumer.max-poll-records"
    ]


def test_a_config_map_that_is_missing_is_a_question() -> None:
    """Settings in a ConfigMap of another file are a question with its name."""
    text = deployment(env=GROUP) + "          envFrom: [{configMapRef: {name: elsewhere}}]\n"
    asked = [question.text for question in draft(all_yaml=text).questions]
    assert "ConfigMap elsewhere (all.yaml:13) is in no file: what does it set of the consumer?" in asked


def test_springs_concurrency_multiplies_members_and_absolute_shares() -> None:
    """Four pods with three consumers each are twelve members; a surge of one pod is three members."""
    drafted = draft(
        deployment_yaml=deployment(
            spec="strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 50%}}",
            env=f"{GROUP}, {{name: SPRING_KAFKA_LISTENER_CONCURRENCY, value: '3'}}",
        )
    )
    assert drafted.scenario.groups["billing"].members["orders"].count == 12
    assert lines(drafted, "surge")[0].startswith("surge: 3 ")
    assert lines(drafted, "max-unavailable")[0].startswith('max-unavailable: "50%" ')


def test_probes_and_minimum_ready_seconds_say_when_a_pod_is_ready() -> None:
    """The first probe after the start of the consumer, plus minReadySeconds: a pod that needs 20 s to start is probed
    at 50 s to 55 s, and available 10 s later."""
    text = deployment(spec="minReadySeconds: 10", env=GROUP)
    text += "          readinessProbe: {initialDelaySeconds: 50, periodSeconds: 5}\n"
    assert lines(draft(d_yaml=text), "ready-time")[0].startswith("ready-time: uniform(40s, 45s) ")


def test_a_stateful_set_keeps_its_names_and_its_instance_ids() -> None:
    """A StatefulSet rolls one by one, and an instance id made from the pod's name is another for each member."""
    text = deployment(env=GROUP).replace("Deployment", "StatefulSet")
    drafted = draft(
        s_yaml=text,
        consumer_properties="group.instance.id=orders-${HOSTNAME}\nenable.auto.commit=false\n",
    )
    assert lines(drafted, "instance-id")[0].startswith('instance-id: "orders-{name}" ')
    assert lines(drafted, "kind")[0].startswith("kind: statefulset ")
    assert lines(drafted, "commit") == ["commit: sync-after-batch"]


def test_one_instance_id_for_all_pods_is_a_question() -> None:
    """The same group.instance.id in every pod would fence all but one; the draft has a question instead."""
    drafted = draft(consumer_properties="group.id=g\ngroup.instance.id=fixed\n")
    assert not lines(drafted, "instance-id")
    assert any(question.text.startswith("Static membership: ") for question in drafted.questions)


def test_workloads_without_a_group_are_left_out_by_name() -> None:
    """Beside a consumer, a Deployment whose settings name no group is not a member."""
    both = deployment(env=GROUP) + "---\n" + deployment("shop", env="{name: BOOTSTRAP_SERVERS, value: 'k:9092'}")
    drafted = draft(all_yaml=both)
    assert drafted.plan.left_out == ("Deployment shop (no setting in it names a group)",)
    assert list(drafted.scenario.groups["billing"].members) == ["orders"]


def test_two_workloads_of_one_group_are_two_kinds_of_members() -> None:
    """Each keeps its own number and settings."""
    both = (
        deployment(env=GROUP)
        + "---\n"
        + deployment("late", env=f"{GROUP}, {{name: KAFKA_MAX_POLL_RECORDS, value: '5'}}")
    )
    spec = draft(all_yaml=both).scenario.groups["billing"]
    assert {name: (member.count, dict(member.properties)) for name, member in spec.members.items()} == {
        "orders": (4, {}),
        "late": (4, {"max.poll.records": 5}),
    }


def test_a_stateful_set_of_brokers_is_the_cluster() -> None:
    """Pods with a broker's variables are brokers, their number is the cluster's, their settings the brokers'."""
    env = (
        "{name: KAFKA_NODE_ID, value: '1'}, {name: KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR, value: '3'}, "
        "{name: KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS, value: '0'}"
    )
    brokers = deployment("kafka", env=env).replace("Deployment", "StatefulSet")
    drafted = draft(all_yaml=brokers + "---\n" + deployment(env=GROUP))
    assert lines(drafted, "brokers") == ["brokers: 4  # all.yaml:5 spec.replicas"]
    assert drafted.scenario.broker.properties == {
        "offsets.topic.replication.factor": 3,
        "group.initial.rebalance.delay.ms": 0,
    }


def test_a_profile_of_the_application_can_be_chosen() -> None:
    """Without `--profile` the settings without a profile apply; a profile's own override them."""
    text = """
        spring.kafka.consumer: {group-id: g, max-poll-records: 1}
        ---
        spring.config.activate.on-profile: prod
        spring.kafka.consumer.max-poll-records: 2
        """
    assert lines(draft(application_yml=text), "max.poll.records")[0].startswith("max.poll.records: 1 ")
    assert lines(draft(application_yml=text, profile="prod"), "max.poll.records")[0].startswith("max.poll.records: 2 ")
    with pytest.raises(ScenarioError, match=r"no file has a profile `prd`\n    did you mean `prod`"):
        draft(application_yml=text, profile="prd")


def test_what_a_scenario_refuses_becomes_a_question() -> None:
    """A replication above the number of brokers is invalid in every scenario: the number of brokers replaces it."""
    text = """
        apiVersion: kafka.strimzi.io/v1beta2
        kind: KafkaTopic
        metadata: {name: t}
        spec: {partitions: 3, replicas: 5}
        ---
        apiVersion: kafka.strimzi.io/v1beta2
        kind: Kafka
        metadata: {name: c}
        spec: {kafka: {replicas: 3, version: "9.9.9"}}
        """
    drafted = draft(all_yaml=text)
    assert drafted.scenario.topics["t"].replication == 3
    assert any("not accepted here: `version`" in question.text for question in drafted.questions)


def test_values_of_secrets_are_in_no_draft() -> None:
    """A password beside the settings of a consumer is read as withheld, and written nowhere."""
    env = f"{GROUP}, {{name: KAFKA_SASL_JAAS_CONFIG, value: 'password=hunter2'}}, {{name: DB_PASSWORD, value: hunter2}}"
    assert "hunter2" not in draft(deployment_yaml=deployment(env=env)).text

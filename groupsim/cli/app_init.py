"""The command line of `groupsim init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groupsim.cli.guard import guarded
from groupsim.cli.options.common import Traceback


@guarded
def init(
    files: Annotated[
        list[str] | None,
        typer.Argument(help="Manifests, Spring Boot files, .properties; `-` reads stdin.", metavar="FILE…"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write, such as my-service.groupsim.yaml.", metavar="FILE")
    ] = None,
    workload: Annotated[
        list[str] | None,
        typer.Option("--workload", help="Only this Deployment or StatefulSet; may be repeated.", metavar="NAME"),
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Profile of a Spring Boot application.", metavar="NAME")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.", metavar="")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the scenario and the open questions as JSON.", metavar="")
    ] = False,
    traceback: Traceback = False,
) -> None:
    """Draft a scenario from the files of a deployment: manifests, application files, consumer properties.

    It reads Kubernetes' Deployment, StatefulSet, HorizontalPodAutoscaler and ConfigMap, KEDA's ScaledObject, Strimzi's
    KafkaTopic, Kafka and KafkaNodePool, Spring Boot's files and consumer.properties. Each value names its source. A
    line `# ?` asks for a value that no file has. The scenario is valid and runs as it is.

    Examples:

    - `groupsim init deployment.yaml application.yml --out orders.groupsim.yaml`
    - `helm template my-chart | groupsim init - consumer.properties`
    - `kustomize build overlays/prod | groupsim init - --workload orders`
    - `groupsim init application.yml --profile prod`
    """
    from groupsim.cli.drafting import init as init_command

    raise typer.Exit(init_command.init(files or [], out, workload or [], profile, force, as_json))


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("init")(init)

"""Output for continuous integration: JUnit, SARIF, workflow annotations; several scenarios in one command."""

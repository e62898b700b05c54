"""What continuous integration reads: JUnit, SARIF, annotations of a workflow; several scenarios in one command."""

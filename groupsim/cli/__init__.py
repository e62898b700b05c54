"""The command `groupsim`: what it parses, how it ends, and where it writes.

Where to read:

    app              the command line: options, help, which command module is called
    app_init         `init`
    app_looking      commands that look at segments and coordinators
    app_run          `run`
    app_tables       commands that ask a sweep's tables
    commands         a module for each command, but for
    assign           `assign`: the command, its documents, their results
    options          options that several commands share
    render           what commands print: timelines, tables, pictures
    progress         progress on a terminal
    drafting         the questions and reports of `init`
    running          a run with progress and sinks
    scenario_source  a scenario by name or file, with `--set`
    sources          traces to read, files to write
    run_files        the files that `run` writes
    data_dirs        `--data-dir`
    ci               what continuous integration reads: JUnit, SARIF, annotations
    as_json          the parts that the documents of `--json` share
    offset_rows      records of `__consumer_offsets` as rows
    scenario_diff    what differs between two scenarios
    exits            exit codes
    guard            errors of a command end in a sentence
    error_report     that sentence, or its document
    usage_errors     a command line that cannot be read
    terminal         where tables and sentences go
    streams          standard output and error that outlive their reader
    encoding         terminals that cannot show everything
"""

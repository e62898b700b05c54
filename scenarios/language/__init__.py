"""The language of scenario files: text with positions, values, names, and the model they make.

Where to read:

    model         `Scenario` and its parts as values
    registry      the registries of steps and expectations
    keys          how an attrs class becomes a mapping in a file
    structure     plain data into the model
    values        durations, rates, shares, counts
    data_values   sizes, skew, settings of topics and producers
    targets       whom a step aims at: names, patterns, roles
    clients       which client a configuration is for
    releases      which profile stands for which release
    defects       defects by name
    acls          ACLs in the words of `kafka-acls`
    raw_requests  requests from plain fields
    properties    the `.properties` format
    synonyms      other people's words for the same thing
    yaml_reader   YAML text as data with positions
    document      that data, with the position of each key
    plain_data    numbers with a fraction, and paths
    problems      what is wrong with a file, and where
    mistakes      a mistake on its way to the report
    printable     text that is safe to print
"""

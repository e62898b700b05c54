"""Who may do what: Kafka's authorizer, and the checks that a broker makes before it carries out a request.

    properties ──▶ `config.acl.AclConfig` ──▶ `rules.StandardAuthorizer` ◀── the ACLs of the broker's image
                                                     │
    a request ──▶ `gate.Gate` ── `groups`, `offsets`, `transactions`, `records`, `topics`, `cluster` ──▶ its handler

* `rules` decides, without knowing any request: an `Authorizer` is asked whether somebody may do an operation with a
  resource. Without one everybody may do everything.
* `gate` stands before the handlers of a broker that has an authorizer, and the modules beside it say for each request
  what is asked of the authorizer, in the order of `KafkaApis`, and how what is refused is told. A broker without one
  has no gate: nothing is asked, and nothing costs anything.
* `requests` takes CreateAcls, DescribeAcls and DeleteAcls; `control` is the controller's part of them.
"""

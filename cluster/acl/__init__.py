"""Authorization: Kafka's authorizer, and the checks that a broker makes before it carries out a request.

    properties ──▶ `config.acl.AclConfig` ──▶ `rules.StandardAuthorizer` ◀── the ACLs of the broker's image
                                                     │
    request ──▶ `authorization.Authorization` ── `groups`, `offsets`, `transactions`, … ──▶ handler

* `rules` decides without knowledge of requests: an `Authorizer` answers whether a caller may perform an operation on a
  resource. Without an authorizer every operation is allowed.
* `authorization` wraps the handlers of a broker that has an authorizer. The modules beside it hold the checks of each
  request, in the order of `KafkaApis`, and the error that a refused part gets. A broker without an authorizer has no
  wrapper, so its requests cost no check.
* `requests` answers CreateAcls, DescribeAcls and DeleteAcls; `control` is the controller's part of them.
"""

module groupsim.example/testcontainers

go 1.25

require (
	github.com/testcontainers/testcontainers-go v0.45.0
	github.com/twmb/franz-go v1.22.2
)

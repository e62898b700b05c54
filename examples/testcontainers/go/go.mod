module groupsim.example/testcontainers

go 1.25

require (
	github.com/moby/moby/api v1.56.1
	github.com/testcontainers/testcontainers-go v0.45.0
	github.com/twmb/franz-go v1.22.2
)

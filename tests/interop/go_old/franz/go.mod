module groupsim/interop/old/franz

go 1.21

require github.com/twmb/franz-go v1.10.0

module groupsim/interop/old/franz

go 1.21

require github.com/twmb/franz-go v1.9.1

require (
	github.com/klauspost/compress v1.15.9 // indirect
	github.com/pierrec/lz4/v4 v4.1.15 // indirect
	github.com/twmb/franz-go/pkg/kmsg v1.2.0 // indirect
)

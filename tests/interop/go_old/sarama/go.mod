module groupsim/interop/old/sarama

go 1.21

require github.com/Shopify/sarama v1.31.1

module github.com/ringuid/ringuid/internal/testkit/allstores

go 1.25.0

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/redis/go-redis/v9 v9.22.0
	github.com/ringuid/ringuid v0.0.0
	github.com/ringuid/ringuid/internal/testkit/postgrestest v0.0.0
	github.com/ringuid/ringuid/stores/etcdstore v0.0.0
	github.com/ringuid/ringuid/stores/redisstore v0.0.0
	github.com/ringuid/ringuid/stores/storetest/linear v0.0.0
	github.com/ringuid/ringuid/stores/zookeeperstore v0.0.0
	go.etcd.io/etcd/client/v3 v3.6.10
	go.uber.org/zap v1.27.0
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/coreos/go-semver v0.3.1 // indirect
	github.com/coreos/go-systemd/v22 v22.5.0 // indirect
	github.com/go-sql-driver/mysql v1.10.1 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.26.3 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/pgx/v5 v5.12.0 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/jmoiron/sqlx v1.4.0 // indirect
	go.etcd.io/etcd/api/v3 v3.6.10 // indirect
	go.etcd.io/etcd/client/pkg/v3 v3.6.10 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	golang.org/x/net v0.57.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20251202230838-ff82c1b0f217 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20251202230838-ff82c1b0f217 // indirect
	google.golang.org/grpc v1.79.3 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)

replace (
	github.com/ringuid/ringuid => ../../..
	github.com/ringuid/ringuid/internal/testkit/postgrestest => ../postgrestest
	github.com/ringuid/ringuid/stores/etcdstore => ../../../stores/etcdstore
	github.com/ringuid/ringuid/stores/redisstore => ../../../stores/redisstore
	github.com/ringuid/ringuid/stores/storetest/linear => ../../../stores/storetest/linear
	github.com/ringuid/ringuid/stores/zookeeperstore => ../../../stores/zookeeperstore
)

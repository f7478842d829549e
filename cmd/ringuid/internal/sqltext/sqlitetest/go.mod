module github.com/ringuid/ringuid/cmd/ringuid/internal/sqltext/sqlitetest

go 1.25.0

require (
	github.com/ringuid/ringuid/cmd/ringuid v0.0.0
	modernc.org/sqlite v1.57.0
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/go-sql-driver/mysql v1.10.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/jmoiron/sqlx v1.4.0 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/ringuid/ringuid v0.0.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	modernc.org/libc v1.74.4 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.11.0 // indirect
)

replace (
	github.com/ringuid/ringuid => ../../../../..
	github.com/ringuid/ringuid/cmd/ringuid => ../../..
	github.com/ringuid/ringuid/internal/testkit/postgrestest => ../../../../../internal/testkit/postgrestest
	github.com/ringuid/ringuid/metrics/promcollect => ../../../../../metrics/promcollect
	github.com/ringuid/ringuid/stores/etcdstore => ../../../../../stores/etcdstore
	github.com/ringuid/ringuid/stores/redisstore => ../../../../../stores/redisstore
	github.com/ringuid/ringuid/stores/zookeeperstore => ../../../../../stores/zookeeperstore
)

module github.com/ringuid/ringuid/internal/testkit/formstest

go 1.25.0

require (
	github.com/goccy/go-yaml v1.19.2
	github.com/oklog/ulid/v2 v2.1.2
	github.com/ringuid/ringuid v0.0.0
	gopkg.in/yaml.v3 v3.0.1
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/go-sql-driver/mysql v1.10.1 // indirect
	github.com/jmoiron/sqlx v1.4.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/ringuid/ringuid => ../../..

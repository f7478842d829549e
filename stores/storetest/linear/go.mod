module github.com/ringuid/ringuid/stores/storetest/linear

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/ringuid/ringuid v0.0.0
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/go-sql-driver/mysql v1.10.1 // indirect
	github.com/jmoiron/sqlx v1.4.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/ringuid/ringuid => ../../..

module github.com/ringuid/ringuid

go 1.25.0

require (
	github.com/DATA-DOG/go-sqlmock v1.5.2
	github.com/go-sql-driver/mysql v1.10.1
	github.com/jmoiron/sqlx v1.4.0
	golang.org/x/sys v0.47.0
)

require filippo.io/edwards25519 v1.2.0 // indirect

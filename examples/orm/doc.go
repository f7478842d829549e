// Package orm has examples of uid.ID in programs that use sqlx, GORM, ent or bun: as the primary key, as a foreign key
// that may be NULL, and in JSON. Each directory is one of them. They use the same table (schema.sql), and the test of
// this package runs them on a MariaDB server.
//
// This is a module of its own, because the library depends on none of them but sqlx.
package orm

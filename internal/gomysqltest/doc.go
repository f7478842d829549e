// Package gomysqltest runs schema.sql and the disposable assigner on a second implementation of
// a MySQL server, dolthub/go-mysql-server. It is a module of its own, so that the library
// itself needs none of that.
package gomysqltest

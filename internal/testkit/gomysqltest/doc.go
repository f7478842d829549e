// Package gomysqltest tests schema.sql and workerassign.Disposable on a second implementation of a MySQL
// server, dolthub/go-mysql-server. It is a separate module, so that the library itself does not depend
// on that server.
package gomysqltest

// Package connect opens what assigns worker IDs and numbers of segments, by one text: the path of a file, a URL, or a data
// source name of go-sql-driver/mysql.
//
//	/var/lib/service/worker                           a file, for the processes of one host
//	file:/var/lib/service/worker?assign=recycled      the same, as a URL, which may have parameters
//	mysql://user:password@host:3306/ids?tls=true      MySQL, MariaDB, TiDB; the driver's parameters are allowed
//	user:password@tcp(host:3306)/ids                  the same, as a data source name
//	postgres://user:password@host:5432/ids            PostgreSQL; the driver's parameters are allowed
//	redis://user:password@host:6379/0?pool=orders     Redis; rediss:// with TLS
//	redis-cluster://user:password@host:6379,host:6379 Redis Cluster, with one or several of its nodes; rediss-cluster://
//	redis-sentinel://user:password@host:26379/name    Redis, whose primary the Sentinels know by that name; rediss-sentinel://;
//	                                                  sentinel_username and sentinel_password are parameters
//	zookeeper://host:2181,host:2181/ringuid           ZooKeeper; the path is that of the znodes
//	etcd://user:password@host:2379,host:2379/ringuid  etcd; the path is the prefix of the keys; etcds:// with TLS;
//	                                                  etcd://host//prod for a prefix that begins with a slash
//
// These parameters are not passed to a driver. Each of them is also a field of Options:
//
//	assign           disposable or recycled
//	table            the table of disposable worker IDs
//	pool-table       the two tables of recycled worker IDs
//	slot-table
//	tag-table        the table of segments
//	pool             the pool in Redis
//	replicas         how many replicas of Redis must acknowledge a write (redisstore.WithReplicas)
//	failover-gap     how many numbers a tag skips after lost writes, in Redis, etcd and ZooKeeper (WithFailoverGap)
//	name             the name of the generator (recycled.WithName)
//	worker-id        the worker ID that must be leased (recycled.WithWorkerID)
//	first-worker-id  the first worker ID of a new pool
//	horizon, fencing, skew, clock-bound    durations such as 45s
//	history          declares that the database loses no acknowledged write (sqlstore.WithHistory)
//
// Errors, and the text of a Store, contain no password.
package connect

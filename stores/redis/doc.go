// Package redis keeps the worker IDs of a fleet in Redis, so that they are used again and never collide. New
// returns a Store, which is a workerassign.SlotStore:
//
//	client := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:6379"})
//	workers := workerassign.NewRecycled(redis.New(client, redis.WithPool("orders")))
//	g, err := uid.NewCached(ctx, workers)
//
// It requires Redis 5 or later, or Valkey; the tests run on Redis 7.0. It is a module of its own, because it
// depends on github.com/redis/go-redis/v9.
//
// # What is in Redis
//
// A pool is one hash, so that no eviction, no partial loss and no DEL separates its slots. Its fields are
// "pool", "slot:<worker ID>" for each slot, "name:<name>" with the worker IDs of the slots that have the
// name, "slots" with the number of slots, and "id", which distinguishes the pool from one that was deleted. The
// records are JSON; times in them are Unix milliseconds, by the server's clock. Who holds worker ID 7:
//
//	redis-cli HGET 'ringuid:{default}:slots' slot:7
//
// A sorted set, "ringuid:{default}:free", is an index of the slots by the time at which they become free. It
// is written in the same script as the hash, and it only proposes slots: what is granted is decided by the
// hash. If it is deleted, the next Read builds it again. If somebody changes it, processes find fewer free
// slots, and add more.
//
// Never delete a slot, a field or the hash, never let the hash expire, and never copy it back (RESTORE, COPY,
// SWAPDB) without the procedure for a restored backup: stop all generators, or the server; restore; call
// workerassign.Recycled.RaiseFloor before generators reach the server again.
//
// # Durability and history
//
// Redis loses acknowledged writes: with appendfsync everysec, the last second or two when the machine
// crashes, and without an append-only file more; a failover loses what the replica had not received. So
// PoolState.NoLoss is false, and no UID depends on a write that may be lost: each grant is made in the same
// atomic step as a comparison of the history. The history is the server's replication ID (which changes with
// a promotion), its run ID (which changes with a restart) and the pool's ID (which changes when the pool was
// deleted, for example by FLUSHALL). When it is another one, no lease is extended any more, and no lease
// begins before a floor: the server's clock + F + H + M, which WithFencing, WithHorizon and WithSkew of
// package workerassign set. So
//
//   - a restart of Redis or a failover ends all leases: generators use what they were granted, and then
//     wait until F + H + M after the change was noticed, 110 s by default. doc/fleet.md has the numbers. For
//     a shorter wait use a smaller F, M and horizon, and a borrow limit (uid.WithMaxBorrow) of seconds.
//   - F must be at least the time for which an old primary may go on acknowledging writes after another
//     server was promoted. Bound that time on the servers: min-replicas-to-write 1 and min-replicas-max-lag
//     10 make a primary that lost its replicas refuse writes after about 10 s.
//   - M must be at least the difference of the clocks of two servers. Run NTP on them.
//   - an old primary must never be used again with the data that it had: Sentinel and Redis Cluster make it
//     a replica of the new one, which replaces its data.
//   - the first replica that attaches to a primary changes the replication ID too, and so does a primary
//     that had no replica for repl-backlog-ttl (an hour by default), and the migration of a cluster slot.
//     These are floors without a loss. Attach the replicas before the fleet starts, and set
//     repl-backlog-ttl 0. After a restart of a primary the history changes twice: when it starts, and when
//     its first replica is back.
//   - active-active deployments, which merge the writes of several primaries, must not be used.
//
// WAIT and WAITAOF are not used. They make the loss of a write less probable and do not exclude it, so the
// history would have to end all leases at a failover nevertheless; and a write that was not confirmed in time
// is not undone.
//
// # What an operator must set
//
//   - maxmemory-policy noeviction, or a volatile policy. Read refuses a policy over all keys (allkeys), with
//     an error that says so, because Redis would delete pools when memory is short.
//   - appendonly yes, so that the pool is still there after a restart. Without it a pool begins anew with
//     each restart: that is safe, because of the floor, but names and their worker IDs are forgotten. It is
//     not safe with workerassign.WithNewPool, which turns the floor of a missing pool off: use that
//     option for the first start of a fleet, and then remove it.
//   - for a user of its own:
//     ACL SETUSER ringuid on >password ~ringuid:* resetchannels +evalsha +eval +info +time +hget +hmget
//     +hgetall +hset +hdel +del +zadd +zcard +zcount +zrange
//     A client of Redis Cluster also requires +cluster|slots, one with the option DB +select, and one with
//     ClientName +client|setname.
//
// In the client's options, ReadTimeout bounds how long the goroutine of a call remains after the call's
// context has ended; leave it at its default, or set a few seconds. MaxRetries has an effect on
// reads only, because a write must not be sent twice.
//
// # Clock
//
// All times are the server's (TIME), in whole milliseconds.
//
// # Redis Cluster
//
// Both keys of a pool have one hash tag, so they are on one node, and all calls go to the primary of that
// node. A pool does not become faster by more nodes; several pools do.
package redis

// Package redisstore keeps the worker IDs of a fleet in Redis, so that they are used again and never collide, and the
// counters of package segment. New returns a Store, which is a recycled.Store:
//
//	client := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:6379"})
//	workers := recycled.New(redisstore.New(client, redisstore.WithPool("orders")))
//	g, err := uid.NewCached(ctx, workers)
//
// and also a segment.Source and a segment.Creator: see "Segments" below. How to run a fleet, and how to configure the servers, is in
// doc/fleet.md; what is guaranteed for tags is in doc/segments.md.
//
// It requires Redis 5 or later, or Valkey; the tests run on Redis 7.0. It is a module of its own, because it
// depends on github.com/redis/go-redis/v9.
//
// # What is in Redis
//
// A pool is one hash, so that no eviction, no partial loss and no DEL separates its slots. Its fields are
// "pool", "slot:<worker ID>" for each slot, "name:<name>" with the worker IDs of the slots that have the
// name, "slots" with the number of slots, "id", which distinguishes the pool from one that was deleted, and "servers",
// the number of servers of Redis. The
// records are JSON; times in them are Unix milliseconds, by the server's clock. Who holds worker ID 7 in the pool default:
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
// recycled.Assigner.RaiseFloor before generators reach the server again.
//
// # Durability and history
//
// Redis loses acknowledged writes: with appendfsync everysec, the last second or two when the machine
// crashes or, while its disk is busy, when the process is killed; and without an append-only file more; a failover loses what the replica had not received. So
// recycled.State.NoLoss is false, and no UID depends on a write that may be lost: each grant is made in the same
// atomic step as a comparison of the history. The history is the server's replication ID (which changes with
// a promotion), its run ID (which changes with a restart) and the pool's ID (which changes when the pool was
// deleted, for example by FLUSHALL). When it is another one, no lease is extended any more, and no lease
// begins before a floor: the server's clock + F + H + M, which WithFencing, WithHorizon and WithSkew of
// package recycled set. So
//
//   - a restart of Redis or a failover ends all leases: generators use what they were granted, and then
//     wait until F + H + M after the change was noticed, 110 s by default. doc/fleet.md has the numbers. For
//     a shorter wait use a smaller F, M and horizon, and a borrow limit (uid.WithMaxBorrow) of seconds.
//   - F is the second line: see below.
//   - M must be at least the difference of the clocks of two servers. Run NTP on them.
//   - an old primary must never be used again with the data that it had: Sentinel and Redis Cluster make it
//     a replica of the new one, which replaces its data.
//   - the first replica that attaches to a primary changes the replication ID too, and so does a primary
//     that had no replica for repl-backlog-ttl (an hour by default), and the migration of a cluster slot.
//     These are floors without a loss. Attach the replicas before the fleet starts, and set
//     repl-backlog-ttl 0 with two servers, and 1 with more: see "Which writes count". After a restart of a
//     primary the history changes twice: when it starts, and when its first replica is back.
//   - active-active deployments, which merge the writes of several primaries, must not be used.
//
// # Which writes count
//
// A write of slots, a Take and a CreateTag count when more than half of the servers have them. Each script is sent
// in one pipeline with WAIT. If too few replicas acknowledge it within a second (or half of the client's
// ReadTimeout, if that is less), the result is an error: the write may be kept or lost. A primary to which too few
// replicas are attached grants nothing: it refuses to write (NOREPLICAS), or, while it does not know that they have
// gone, its writes do not count. So of two primaries at most one grants anything at a time, whichever clients it
// has. A primary that was frozen, for example with its virtual machine, accepts writes when it continues,
// also with min-replicas-to-write: Redis compares that once a second with what it knew before. It has no replicas
// any more, so nothing that it writes counts.
//
// The number of servers is the field "servers" of the hash of slots, also for tags: the greatest number that a
// primary has seen, itself and the replicas attached to it, by their addresses in INFO, which must show them (slave0
// and so on). Replicas that share an address there, behind NAT or with published ports of containers, count as one:
// set replica-announce-ip and replica-announce-port on each. One that comes back with another address, while the primary
// has not noticed yet that it was gone, is counted twice: set the number. Sentinels do not count. Nor do replicas of replicas: if
// there are any, or if more servers will be attached later, set the number to that of all servers that can ever be
// attached or promoted. A server that replaces another one is one more, unless the other one never returns:
//
//	redis-cli HSET 'ringuid:{default}:slots' servers '5 3'
//
// That is the new and the former number (1 before the pool exists; if the field has two, keep the second one). Both are required in a pool that is in use: with the new
// number alone, servers that know only the former one could be a majority of it. Set them before servers are attached,
// and have one of these ready: nothing is granted until it is attached and synchronized.
//
//	servers   replicas that must have a write   servers that may fail
//	1         0                                 0
//	2         1                                 0: without the replica nothing is granted
//	3         1                                 1
//	4         2                                 1
//	5         2                                 2
//
// A greater number is noticed by the next write. Until all servers know it, a few writes later, the field has both,
// such as "5 3", and so many replicas must have a write that those which know the former number only are no majority
// of that. To avoid this, set the number before the fleet starts. The number does not fall by itself. When servers
// were removed permanently, set it to the number of those that are left; otherwise fewer may fail, or nothing is
// granted. It must never be less.
//
// Two servers stop granting when the replica is down. If that is not acceptable, WithReplicas(0) declares that no
// replica must have a write. Then F alone protects: a primary that goes on for longer than F after another one was
// promoted leads to UIDs and numbers that come twice.
//
// WAIT counts connections, whoever they belong to. So a replica must belong to one group of servers permanently: in Redis
// Cluster set cluster-allow-replica-migration no (before Redis 7 cluster-migration-barrier to more than there are
// replicas). With five servers and more, one that has connected again, while its former connection is not known to be
// broken, may count twice: there F protects (see below).
//
// And a replica must not go back: once it has followed a promoted server, it must not follow the former primary again
// before that one was a replica, or was restarted (which protects UIDs, and not numbers). It discards what it has acknowledged for the promoted server, and
// the former primary, whose history is the same, goes on: UIDs and numbers may come twice. So they may if the replica
// then follows the promoted server once more. Redis reveals none of this: on the former primary such a replica looks
// like one that was away for longer than the backlog lasts. Sentinels that agree, and Redis Cluster, make the former
// primary a replica. But if the promoted server fails before Sentinel has done so, or while the former primary is
// frozen, Sentinel may promote that one again, at once. Keep a primary that was isolated stopped, or restart it before
// the others reach it again, and stop it before you enter REPLICAOF by hand; for tags let it start as a replica. A second set of Sentinels, or a second
// name of the same servers, may make a server a replica of the former primary again. These
// settings make it less likely that replicas go back unnoticed, and do not exclude it:
//
//   - repl-backlog-ttl 1, with three servers or more: a primary that has had no replica for three seconds has another
//     history, and a floor follows. Whatever is connected as a replica counts as one: take backups (redis-cli --rdb)
//     from a replica. With five servers and more this helps less: a primary that was replaced may have kept a replica.
//   - repl-timeout 20: after that time a primary whose network is interrupted notices that its replicas have gone. The
//     default is a minute. It must be greater than repl-ping-replica-period, which is 10 s by default.
//   - replica-priority 1 to 100 on all servers: with 0 on the replicas that are left, or more than 100, Sentinel
//     promotes the former primary sooner than a replica of the promoted server.
//
// WAIT does not keep Sentinel or the cluster from promoting a replica that lacks the last writes, so the history
// still ends all leases at a failover. WAITAOF is not used: appendfsync everysec may lose on all servers what has
// just counted, if all crash.
//
// # F, and min-replicas-to-write
//
// F (recycled.WithFencing) must be longer than a call, from its read to the end of its write: some seconds. And
// as a second line, it should be at least the time for which a former primary may go on acknowledging writes after
// another server was promoted. Bound that time on the servers, on each of them:
//
//	min-replicas-to-write  half of the servers, rounded down: 1 of 2 or 3, 2 of 4 or 5
//	min-replicas-max-lag   10
//
// A primary that has lost its replicas refuses writes after 10 to 12 s, unless it was frozen. F is 30 s by default;
// for a smaller one set a smaller lag, of at most half of F: F also contains the seconds until the other replicas
// have left the former primary. With fewer than half of the servers, such as min-replicas-to-write 1 for a primary
// with three replicas, two halves go on at the same time, for as long as they are divided; F does not help against
// that, and the acknowledgements do.
//
// # What an operator must set
//
//   - maxmemory-policy noeviction, or a volatile policy. Read refuses a policy over all keys (allkeys), with
//     an error that says so, because Redis would delete pools when memory is short.
//   - appendonly yes, so that the pool is still there after a restart. Without it the pool of a single server
//     begins anew with each restart: that is safe, because of the floor, but names and their worker IDs are
//     forgotten. recycled.CreatePool, after such a restart, creates a pool without the floor: UIDs come twice.
//   - a server with replicas must not start as a primary without its data, also not as a new one at the same
//     address. It does not know how many servers there are, takes itself for the only one, and grants alone, also
//     when a replica, which has the data, is promoted: UIDs come twice, as soon as both floors have passed. Let a
//     server without data start as a replica (replicaof in its configuration), or after another one was promoted.
//     With min-replicas-to-write it grants nothing while it has no replicas. WithReplicas of half of the servers
//     does not depend on what a server knows.
//   - for a user of its own:
//     ACL SETUSER ringuid on >password ~ringuid:* resetchannels +evalsha +eval +ping +info +time +hget
//     +hmget +hgetall +hset +hdel +del +zadd +zcard +zcount +zrange +hincrby +wait
//     A client of Redis Cluster also requires +cluster|slots +asking, one with the option DB +select, and one with
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
// All keys of a pool have one hash tag, so they are on one node, and all calls go to the primary of that
// node. A pool does not become faster by more nodes; several pools do. With cluster-preferred-endpoint-type
// unknown-endpoint, go-redis cannot read the cluster's state.
//
// # Segments
//
// The tags of a pool are one hash. Its fields for a tag are "next:<tag>", the next number, "step:<tag>",
// "skip:<tag>" and "description:<tag>"; those of the pool are "history", "skip", "changes" and "at". The next
// number of the tag orders, and how to raise it:
//
//	redis-cli HGET 'ringuid:{default}:tags' next:orders
//	redis-cli HINCRBY 'ringuid:{default}:tags' next:orders 1000000
//
// Never lower it, and never delete a field or the hash. Take compares Request.AtLeast, raises the counter, and
// reads the role, the history and the clock in one script; numbers are exact to 63 bits. Take and CreateTag are
// refused on a replica, and with an eviction policy over all keys.
//
// Redis loses acknowledged writes, as described above. A counter that has lost writes is lower than before, and the
// numbers in between would be handed out twice. So when the history has changed (replication ID or run ID), each
// tag skips the gap of WithFailoverGap with its next range, and records that in the same step. The gap grows with
// the time since the last write that the server has, because it may have lost what was written after it; so a
// server that loses the first ranges after a change of the history, together with the record of the change, does
// not hand them out again at the next change. Tags also skip numbers when the history changes without a loss: at
// each restart, and when the first replica attaches to a primary. The counter is then about one to three gaps
// further, and up to 101 gaps if the pool was not used for minutes.
//
// What remains (each counter in Redis has these limits, also one of INCR, with no gap at all):
//
//   - a failover or a restart that loses more than a gap of one tag's numbers: the ones beyond the gap are handed
//     out twice. With appendfsync everysec a crash of the machine (or, while the disk is busy, a kill of Redis) loses a second or two, a failover what the
//     replica had not received. The gap must be greater than what a tag hands out in that time, in whole ranges.
//   - two primaries, only with WithReplicas of less than half of the servers: a former primary that is not fenced
//     goes on without a gap, below the numbers of the new one. Numbers repeat as soon as it has handed out a gap. If
//     it is restarted, or a replica attaches to it, before it is fenced, it skips the gap too, and any range may
//     repeat. Bound the time with min-replicas-to-write and min-replicas-max-lag, and let it start as a replica
//     only.
//   - a former primary that goes on with its data after another one was promoted, also with another history or after a
//     restart: what it wrote last, perhaps without an acknowledgement, may be later than what the other one had received.
//     Then it skips less than the other one did, and numbers of that one repeat. Let it start as a replica only, or raise
//     its counters ("ringuid tag raise").
//   - a primary that keeps most of the servers goes on although another one was promoted. That one begins when a
//     replica of the former one joins it, and its gap has grown meanwhile, by a tenth for each second. It does not
//     suffice if a tag hands out more than that, or if the servers are divided for longer than 1000 s. Let no server
//     be promoted on the smaller side: Sentinels and masters of a cluster on most of the hosts prevent that.
//   - a second loss soon after the first one, of the record of the first one too: what was handed out between them,
//     up to 100 numbers for each millisecond with the default gap, does not repeat, more may. If the lost server had
//     noticed several changes, because it was restarted for example, 10 s for each of them must have passed. Two
//     changes that differ by nearly a multiple of 1000 s lead to nearly the same numbers; and if 1000 s after the
//     last write that both servers have, or a multiple of that, lie between the two changes, the second one leads to
//     lower numbers, and reaches those of the first one up to 100 gaps later. The clocks of the two servers
//     must not differ by more than the time between the changes. If two replicas of one primary that lag by different
//     times are promoted one after the other, the one that lags more first, then the second one must be promoted
//     later than the first one by more than that difference; otherwise it leads to lower numbers, too. Most of these
//     losses do not happen with two servers or more, because a new primary hands out nothing before it has a replica.
//   - a change whose former primary had a clock that was ahead counts as if it had happened at that time: until then
//     tags that programs create begin beyond the gap, with no number twice.
//   - a server without an append-only file may lose all since its last snapshot. Set appendonly yes.
//   - FLUSHALL, a server that starts without its data, and a hash that was deleted: all tags are missing. Take
//     returns an error that wraps segment.ErrNoTag, and so does CreateTag with an UnusedBefore, until somebody
//     creates a tag without it. Whoever creates tags again declares that no number from their start on was handed
//     out: choose the start accordingly. Do so for all tags that existed: from the first one on, CreateTag with an
//     UnusedBefore is accepted, and such a tag begins one gap behind its start, however much it had handed out.
//   - a copy of the hash that is older (RESTORE, COPY, SWAPDB), or a counter that was lowered, does not change the
//     history. Only processes that remember more notice it: Take returns a *segment.SetBackError, and changes
//     nothing. So raise counters after restoring a backup, before processes reach the server.
//   - active-active deployments, which merge the writes of several primaries, must not be used.
package redisstore

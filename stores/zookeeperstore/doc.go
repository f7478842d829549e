// Package zookeeperstore keeps the slots of a recycled.Assigner in ZooKeeper 3.5 or later: worker IDs that
// are used again and never collide. It also keeps the counters of the tags of package segment: see the section Tags. It
// is a module of its own, so that users of other stores do not download ZooKeeper's client.
//
//	conn, _, err := zk.Connect([]string{"10.0.0.1:2181"}, 10*time.Second)
//	...
//	assigner := recycled.New(zookeeperstore.New(conn))
//	generator, err := uid.NewCached(ctx, assigner)
//
// How to run a fleet is in doc/fleet.md, and what is guaranteed for tags in doc/segments.md.
//
// The client drops a connection on which the server is silent for two thirds of the session's timeout, and the calls on it
// fail. While a server starts, the client may wait for 7 times the timeout until it tries to connect again. So choose a timeout of seconds,
// not of minutes.
//
// # Znodes
//
// All znodes are below a path, "/ringuid" by default. A pool has one path, and a path one pool.
//
//	/ringuid/history/…                 one znode, whose name identifies the ensemble's data, see below
//	/ringuid/clock                     is set to read the ensemble's clock
//	/ringuid/pool                      the pool, as JSON
//	/ringuid/slots/0000000000000000017 the slot of worker ID 17, as JSON: who holds it, and until when
//	/ringuid/free/…                    an index: the slots that were released
//	/ringuid/names/…                   an index: the slots of each name
//	/ringuid/tagpool                   the pool of tags, as JSON: when the history changed
//	/ringuid/tags/_orders              the tag "orders", as JSON: its next number and its step
//	/ringuid/tags/_orders/…            one znode, the mark of the last write, see below
//
// Never delete or change znodes. The exception are the znodes below free and names: a wrong index costs
// time or a new worker ID, never a duplicate, because each record is read and compared before it is
// replaced.
//
// # Atomicity
//
// A write is one multi: it checks that the history's znode exists, and sets each record with the version
// that was read. There are no ephemeral znodes: a process that was paused outlives its session, and only the
// version stops it. There are no sequential znodes: their counter belongs to the parent, and overflows. A
// lost connection leaves it open whether a write was made; a recycled.Assigner then reads the slot again.
//
// # Durability
//
// ZooKeeper acknowledges a write when a majority of the ensemble has it in its transaction log on disk. So
// no failover and no restart loses an acknowledged write, and recycled.State.NoLoss is true, on these
// assumptions: forceSync is not set to no; the disks keep what fsync has reported; a server whose data was
// lost is not restarted with an empty directory while only a bare majority has the data; the ensemble is
// changed by reconfig, or one server after the other; no backup is restored without what is described next;
// nobody deletes znodes.
//
// # History, and restored backups
//
// ZooKeeper has no ID that changes when a backup is restored. So the name of the znode below history is the
// history, and each write checks that it exists. An operator who restores a backup must call
// Store.NewHistory before generators can reach the ensemble. Then all leases end when their grants are
// used, writes that were under way fail, and no new lease begins before the pool's floor, about two minutes
// later by default (rule R7 of doc/internals/design.md, section 8). Assigner.RaiseFloor alone compares versions, which
// go back with the backup: a process that was paused between a read and a write, before the backup was
// restored, could overwrite what RaiseFloor has written. A process that has seen a later transaction than
// the ensemble shows is refused by its servers, so restart the services after a restored backup.
//
// # Tags
//
// A Store is a segment.Creator, too. CreateTag creates a tag, and Take takes a range of its numbers by compare-and-swap:
//
//	store := zookeeperstore.New(conn)
//	err := store.CreateTag(ctx, "orders", segment.TagConfig{Step: 1000, Description: "numbers of orders"}) // once
//	...
//	orders, err := segment.New(ctx, store, "orders")
//
// Take reads the tag from the server of its connection, and makes one multi. That checks the history, and the version
// and the mark of the tag: a znode with a random name, which each write replaces. After a backup was restored a version
// may come again with another value, but a mark does not. If the tag as it was read would be refused, Take sets the clock
// and reads it again, because the server may be behind. In one process the calls of one tag run one after the other. If several
// processes take numbers of one tag, one of them wins each race, and the others try again after a random time of at most
// half a second. So a tag serves some hundred Takes a second, however large their ranges are. Tags do not delay each
// other. If a reply is lost, Take returns an error, and the range, if it was reserved, is a gap.
//
// To raise a counter, an operator runs "ringuid tag raise". Never set the znode of a tag by hand: what processes take between
// the read and the write would be set back.
//
// Each tag and the pool of tags contain the history under which they were written last. If the present one is another,
// because an operator has called NewHistory, a tag continues at its counter plus the gap of WithFailoverGap, and records the
// new history in the same multi. If the history has changed several times since the tag's last write, it skips the sum of
// the gaps. Numbers are not handed out twice if the gap is greater than what the tag has handed out since the backup. A
// process that remembers a greater number than that, which is what segment.Request.AtLeast is for, gets a
// *segment.SetBackError.
//
// If a backup is restored that does not contain the last change of the history, because the same one is restored a second
// time, or an older one, the gap must also cover what was handed out after the first restore: it begins a gap beyond the
// backup. So call NewHistory of a Store with a greater gap, such as twice the usual one the second time. The gap of the
// Store that calls NewHistory counts for all.
//
// A tag with a TagConfig.UnusedBefore begins at its start plus the gaps of all changes since the pool exists, if the history
// changed after that time, or less than a minute before, because clocks differ. If the pool of tags is missing, because the
// store is new or the backup is from before the first tag, such a tag is refused with segment.ErrNoTag. CreateTag with a
// zero UnusedBefore declares the pool new: then tags that processes create begin at their starts. After a restored backup
// without a pool, call NewHistory instead, with a gap greater than all that any tag has ever handed out, because all tags are
// missing: then all tags with an UnusedBefore before that time begin beyond the gap.
//
// # Clock
//
// The clock is the leader's: Read sets the znode clock, and takes the time from the answer. So a Read costs
// a write of the ensemble, and a recycled.Assigner refuses hosts whose clocks are wrong (rule R8). A time that is
// derived from an earlier answer and a host's clock was rejected: a floor must not be computed from a time
// that is too early, and a wrong host's clock would not be noticed. The write also makes the session see
// all writes that were acknowledged before it, which otherwise would require a sync.
//
// # Cost
//
// Assign makes two writes, and Reserve makes two. Each also reads some znodes from the server that the
// connection has, which costs the ensemble nothing. Released slots are found by an index in 8 parts. Read
// chooses a part at random, and slots at random in it, so that hosts that start together find different ones.
// Slots whose holders crashed are found, if no released one is, by reading a random range of slots, at most 16
// of them. So in a pool of more than 16 slots a recycled.Assigner may add a slot although a crashed one is free. When the
// layout is full, it reads all of them.
//
// # Blocking
//
// The client's calls have no context. When a context ends, a method returns at once, but the call is
// continued by a goroutine until the client has an answer, loses its connection, or is closed. So a write may
// be made after the method has returned an error, as recycled.Store allows.
//
// # Settings for operators
//
// Znodes are created with the ACL of WithACL, by default open to everybody. Accounts require the permissions
// create, read, write and delete. A snapshot and its logs must be purged (autopurge.purgeInterval), because
// each write is logged.
package zookeeperstore

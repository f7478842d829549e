// Package etcdstore keeps the slots of a recycled.Assigner in etcd 3.4 or later: worker IDs that are used
// again and never collide. It also keeps the counters of the tags of package segment: see the section Tags. It is a module
// of its own, so that users of other stores do not download etcd's client.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"10.0.0.1:2379"}, DialTimeout: 5 * time.Second})
//	...
//	assigner := recycled.New(etcdstore.New(client))
//	generator, err := uid.NewCached(ctx, assigner)
//
// How to run a fleet is in doc/fleet.md, and what is guaranteed for tags in doc/segments.md.
//
// # Keys
//
// All keys begin with a prefix, "ringuid/" by default. A pool has one prefix, and a prefix one pool.
//
//	ringuid/history                   the identity of the cluster's data, see below
//	ringuid/pool                      the pool, as JSON
//	ringuid/slots/0000000000000000017 the slot of worker ID 17, as JSON: who holds it, and until when
//	ringuid/free/…                    an index: the slots that were released
//	ringuid/names/…                   an index: the slots of each name
//	ringuid/tagpool                   the pool of tags, as JSON: when the history changed
//	ringuid/tags/orders               the tag "orders", as JSON: its next number and its step
//
// "etcdctl get --prefix ringuid/slots/" shows who holds which worker ID. Never delete or change keys. The
// exception are the indexes: a wrong index costs time or a new worker ID, never a duplicate, because each
// record is read and compared before it is replaced.
//
// # Atomicity
//
// A write is one transaction. It compares the whole value of each record with what was read, and not only
// a revision: revisions go back when a snapshot is restored. A transaction compares and puts at most 66
// keys for a recycled.Assigner; etcd's default limit is 128 operations (--max-txn-ops).
//
// # Durability
//
// etcd acknowledges a write when a majority of its members has it on disk. So no failover and no restart
// loses an acknowledged write, and recycled.State.NoLoss is true, on these assumptions: no member runs with
// --unsafe-no-fsync; the disks keep what fsync has reported; a member whose data was lost is removed and
// added again as a new one, never restarted with an empty directory; no backup is restored without what
// is described next, and no member is started with --force-new-cluster without it; nobody deletes keys.
//
// # History, and restored snapshots
//
// The key history contains the cluster ID, a number that rises with each change (a time in milliseconds), and a random
// token. Each write compares it. When an answer has another cluster ID, which is the case after a snapshot was restored
// with a new --initial-cluster-token, the first process that reads gives the key a new value. Then all leases end when their grants are used,
// and no new lease begins before the pool's floor, about two minutes later by default (rule R7 of
// doc/internals/design.md, section 8). A snapshot that is restored with the same token and the same peer URLs has
// the same cluster ID. A process that has seen a greater revision than the cluster shows now gives the key
// a new value too. But a process that has just started has seen none. So use a token that was never used
// when you restore a snapshot: then nothing else is needed for a pool. After a restore with another token, call
// Store.NewHistory before services can reach the cluster. For tags, see below: their gap must be great enough.
//
// A member that is started with --force-new-cluster makes a new cluster of what it has. If it lagged behind, writes that
// the old cluster had acknowledged are lost, and the cluster ID stays. So call Store.NewHistory before services connect. If
// that was forgotten, a lease that another one overlaps is void (workerassign.ErrVoid) at its next extension, which is
// logged as an error; until then UIDs are generated twice.
//
// # Tags
//
// A Store is a segment.Creator, too. CreateTag creates a tag, and Take takes a range of its numbers by compare-and-swap:
//
//	store := etcdstore.New(client)
//	err := store.CreateTag(ctx, "orders", segment.TagConfig{Step: 1000, Description: "numbers of orders"}) // once
//	...
//	orders, err := segment.New(ctx, store, "orders")
//
// Take makes one linearizable read, and one transaction that compares the values of the history and of the tag. In one
// process the calls of one tag run one after the other. If several processes take numbers of one tag, one of them wins
// each race, and the others try again after a random time of at most half a second. So a tag serves some hundred Takes a
// second, however large their ranges are. Tags do not delay each other. If a reply is lost, Take returns an error, and the
// range, if it was reserved, is a gap.
//
// To raise a counter, an operator runs "ringuid tag raise". Never change the JSON text by hand: what processes take between
// the read and the put would be set back.
//
// Each tag and the pool of tags contain the history under which they were written last. If the present one is
// another, the cluster may have lost Takes. Then a tag continues at its counter plus the gap of WithFailoverGap, and
// records the new history in the same transaction. If the history has changed several times since the tag's last write, it
// skips the sum of the gaps. Numbers are not handed out twice if the gap is greater than what the tag has handed out
// since the snapshot. A process that remembers a greater number than that, which is what segment.Request.AtLeast is for,
// gets a *segment.SetBackError.
//
// If a snapshot is restored that does not contain the last change of the history, because the same one is restored a
// second time, or an older one, the gap must also cover what was handed out after the first restore: it begins a gap
// beyond the snapshot. So call NewHistory before any process reaches the cluster, of a Store with a greater gap, such as
// twice the usual one the second time. The gap of the Store that notices the change first counts for all. The gap does not
// grow with the time since the snapshot, as that of Redis does: snapshots are hours old, and the clocks of hosts and the
// order of the snapshots are unknown, so that each such rule either leads to the same numbers in some order of
// restores, or to gaps of billions.
//
// A tag with a TagConfig.UnusedBefore begins at its start plus the gaps of all changes since the pool exists, if the
// history changed after that time, or less than a minute before, because the clocks of the hosts differ. The time of the
// change is that of NewHistory, or of the first call for a tag that noticed it, by the clock of its host. If the pool of
// tags is missing, because the store is new or the snapshot is from before the first tag, such a tag is refused with
// segment.ErrNoTag. CreateTag with a zero UnusedBefore declares the pool new: then tags that processes create begin
// at their starts. After a restored snapshot without a pool, call NewHistory instead, with a gap greater than all that any
// tag has ever handed out, because all tags are missing: then all tags with an UnusedBefore before that time begin beyond
// the gap.
//
// # Clock
//
// etcd has no clock, so recycled.State.HostClock is true, and the clock of the host that reads is used. A recycled.Assigner
// cannot refuse a host whose clock is wrong. UIDs remain unique as long as no snapshot is restored. But a host
// whose clock is ahead by more than the grace takes slots that are still held, so that their holders lose them
// and take others; and the slots that it holds are granted far into the future, so that they remain unused for
// that long. After a restored snapshot the floor follows from the clock of the host that notices it: it lies behind
// all grants that were lost only if the clocks of the hosts differ by less than M (recycled.WithSkew). Keep
// clocks synchronized.
//
// # Cost
//
// Assign reads in two round trips, or in three if no slot was released, and makes one write. Reserve makes one read and one write of one key. Reads are linearizable: they cost a round trip
// between the members, and no disk write.
//
// Released slots are found by an index that is sorted by a hash, from a random position, so that hosts
// that start together find different ones. It has no key for slots that are held, so that a Reserve writes
// one key. Slots whose holders crashed are found, if no released one is, by reading a random range of slots, at
// most 128 of them. So in a pool of more than 128 slots a recycled.Assigner may add a slot although a crashed one is free. When the
// layout is full, it reads all of them.
//
// # Settings for operators
//
// Each write keeps the old value until it is compacted. Without --auto-compaction-retention (for example
// 1h), or compactions by somebody else, the database grows to its quota, and etcd refuses all writes. A user
// with password or certificate requires the permission readwrite on the prefix.
package etcdstore

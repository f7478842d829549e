package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ringuid/ringuid/cmd/ringuid/internal/await"
	"github.com/ringuid/ringuid/cmd/ringuid/internal/connect"
	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/stores/redisstore"
	"github.com/ringuid/ringuid/workerassign"
)

// redis examines Redis.
func (e *examination) redis() {
	pool := e.store.Options().Pool
	if pool == "" {
		pool = redisstore.DefaultPool
	}
	slots := "ringuid:{" + pool + "}:slots"
	client, err := e.store.RedisPrimary(e.ctx, slots)
	if err != nil {
		e.failed("settings", err)
		return
	}
	text, err := client.Info(e.ctx).Result()
	if err != nil {
		e.failed("settings", err)
		return
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	if info["cluster_enabled"] == "1" {
		e.info("version", "Redis %s; the node of the pool %q is %s", info["redis_version"], pool, client.Options().Addr)
	} else {
		e.info("version", "Redis %s", info["redis_version"])
	}
	if role := info["role"]; role != "master" {
		e.fault("writable", "make the address lead to the primary, or ask Sentinel for it", "the server is a %s", role)
		return
	}
	if policy := info["maxmemory_policy"]; strings.HasPrefix(policy, "allkeys") {
		e.fault("durability", "CONFIG SET maxmemory-policy noeviction, and set it in the configuration file", "maxmemory-policy is %s: Redis may delete the pool to free memory", policy)
	}
	if info["aof_enabled"] != "1" {
		e.warn("durability", "set appendonly yes", "the append-only file is off: a restart forgets the pool, or parts of it, and generators wait for a floor; numbers of segments can be handed out twice")
	} else {
		e.appendSync(client)
	}
	if info["aof_last_write_status"] == "err" || info["aof_last_bgrewrite_status"] == "err" {
		e.fault("durability", "look at the server's log: its disk may be full", "the last write of the append-only file failed")
	}
	tags := "ringuid:{" + pool + "}:tags"
	e.replicas(client, info, slots)
	// A write of a field that does not exist changes nothing.
	switch err := client.HDel(e.ctx, slots, "ringuid doctor").Err(); {
	case err == nil:
		e.ok("privileges", "the user may write to %s", slots)
	case goredis.HasErrorPrefix(err, "NOPERM"):
		e.fault("privileges", "grant what the documentation of package stores/redisstore lists (ACL SETUSER)", "%v", err)
	default:
		e.failed("privileges", err)
	}
	e.pool()
	fields, err := client.HGetAll(e.ctx, tags).Result()
	if err != nil {
		e.failed("tags", err)
		return
	}
	found := map[string][2]int64{}
	for name, value := range fields {
		if tag, ok := strings.CutPrefix(name, "next:"); ok {
			next, _ := strconv.ParseInt(value, 10, 64) // 0, which is impossible, if it is no number
			step, _ := strconv.ParseInt(fields["step:"+tag], 10, 64)
			found[tag] = [2]int64{next, step}
		}
	}
	e.tagList(found)
}

// replicas examines whether enough replicas are attached, and the settings that concern them. The hash with a key has the number of
// servers.
func (e *examination) replicas(client *goredis.Client, info map[string]string, key string) {
	attached, connections := map[string]bool{}, 0
	for name, value := range info {
		address, _, online := strings.Cut(value, ",state=online,")
		if _, err := strconv.Atoi(strings.TrimPrefix(name, "slave")); online && err == nil {
			attached[address] = true
			connections++
		}
	}
	if connections > len(attached) {
		e.warn("replicas", "set replica-announce-ip and replica-announce-port on each replica, unless one has just connected again",
			"%d replicas are attached with %d addresses: those with one address count as one", connections, len(attached))
	}
	if len(attached) > 0 && info["aof_enabled"] != "1" {
		e.warn("durability", "set appendonly yes on all servers, or let them start as replicas",
			"the primary has replicas, and no append-only file: if it starts again without its data, it grants alone, also when a replica was promoted")
	}
	text, err := client.HGet(e.ctx, key, "servers").Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		e.failed("replicas", err)
		return
	}
	servers, fewer := len(attached)+1, 0
	n, _ := fmt.Sscan(text, &servers, &fewer) // how many numbers there are
	if n == 0 && text != "" {
		e.fault("replicas", "set the field to the number of servers, with HSET", "the field servers of %s is %q", key, text)
		return
	}
	if attached := len(attached) + 1; attached > servers { // the next write notices that
		servers, n = attached, 1
	}
	needed := servers / 2
	if n == 2 { // as in primary.lua of stores/redisstore
		needed = max(needed, servers-fewer/2-1)
	}
	if declared := e.store.Options().Replicas; declared != nil {
		if int(*declared) < needed {
			e.warn("replicas", "remove replicas from the URL, so that half of the servers must have each write",
				"replicas=%d: a primary that was replaced, and acknowledges writes after F, leads to duplicates", *declared)
		}
		needed = int(*declared)
	}
	state := fmt.Sprintf("of %d servers, %d replicas must have each write, and %d are attached", servers, needed, len(attached))
	if len(attached) < needed {
		e.fault("replicas", "repair the replicas; if servers were removed permanently, set their number: see doc/fleet.md, Redis", "%s: nothing is granted", state)
	} else {
		e.ok("replicas", "%s", state)
	}
	e.failover(client, info, servers)
}

// failover examines the settings of a primary for the case that another server is promoted.
func (e *examination) failover(client *goredis.Client, info map[string]string, servers int) {
	if servers == 1 {
		return
	}
	if servers == 2 {
		e.info("replicas", "with two servers nothing is granted while one is down; a third one would allow that")
	}
	setting := func(name string) (value int, ok bool) {
		settings, err := client.ConfigGet(e.ctx, name).Result()
		if text := settings[name]; err == nil && text != "" {
			value, err = strconv.Atoi(text)
			return value, err == nil
		}
		return 0, false
	}
	lag, ok := setting("min-replicas-max-lag")
	if !ok {
		e.info("failover", "this user may not read the settings: see doc/fleet.md, Redis")
		return
	}
	fencing := workerassign.DefaultFencing
	if set := e.store.Options().Fencing; set != nil {
		fencing = *set
	}
	least, _ := setting("min-replicas-to-write")
	switch {
	case least < servers/2 || lag == 0:
		e.warn("failover", fmt.Sprintf("set min-replicas-to-write %d and min-replicas-max-lag 10 on all servers", servers/2),
			"min-replicas-to-write is %d and min-replicas-max-lag is %d: a primary that has lost its replicas goes on accepting writes", least, lag)
	case time.Duration(lag)*time.Second > fencing/2:
		e.warn("failover", "set min-replicas-max-lag to at most half of F", "min-replicas-max-lag is %d, and F is %v: a primary may accept writes after F", lag, fencing)
	default:
		e.ok("failover", "min-replicas-to-write is %d and min-replicas-max-lag is %d", least, lag)
	}
	switch ttl, ok := setting("repl-backlog-ttl"); {
	case servers == 2 && ttl != 0:
		e.info("failover", "repl-backlog-ttl is %d: a primary without replicas for so many seconds has another history, and a floor follows; 0 prevents that", ttl)
	case servers > 2 && ok && ttl != 1:
		e.info("failover", "repl-backlog-ttl is %d: set 1, so that a primary that has had no replica for seconds has another history", ttl)
	}
	if info["cluster_enabled"] != "1" {
		return
	}
	const migration = "cluster-allow-replica-migration"
	settings, err := client.ConfigGet(e.ctx, migration).Result()
	switch allowed := settings[migration]; {
	case err != nil || allowed == "":
		e.info("failover", "%s cannot be read: make sure that no replica moves to another master", migration)
	case allowed != "no":
		e.warn("failover", "set "+migration+" no on all nodes", "%s is %s: a replica that moves to another master counts there, so two may have enough", migration, allowed)
	default:
		e.ok("failover", "%s is no", migration)
	}
}

// appendSync examines how often the append-only file is written to disk.
func (e *examination) appendSync(client *goredis.Client) {
	settings, err := client.ConfigGet(e.ctx, "appendfsync").Result()
	switch mode := settings["appendfsync"]; {
	case err != nil || mode == "":
		e.ok("durability", "the append-only file is on; this user may not read the setting appendfsync")
	case mode == "no":
		e.warn("durability", "set appendfsync everysec or always", "appendfsync is no: a crash of the machine can lose half a minute of writes, more than the gaps of tags may cover")
	default:
		e.ok("durability", "the append-only file is on, and appendfsync is %s", mode)
	}
}

// tagList examines tags, each with its next number and its step.
func (e *examination) tagList(found map[string][2]int64) {
	e.info("tags", "there are %d tags%s", len(found), listed(int64(len(found))))
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := found[b][0] - found[a][0]; d != 0 {
			return int(max(min(d, 1), -1))
		}
		return strings.Compare(a, b)
	})
	for _, name := range names[:min(len(names), maxTags)] {
		e.tag(name, found[name][0], found[name][1])
	}
}

// tagJSON is what is of interest in the record of a tag in etcd and ZooKeeper.
type tagJSON struct {
	Tag  string `json:"tag"`
	Next int64  `json:"next"`
	Step int64  `json:"step"`
}

// etcd examines etcd.
func (e *examination) etcd() {
	client := e.store.Clients().Etcd
	for _, endpoint := range client.Endpoints() {
		s, err := client.Status(e.ctx, endpoint)
		if err != nil {
			e.warn("members", "check that member", "%s does not answer: %v", endpoint, err)
			continue
		}
		e.info("version", "etcd %s at %s", s.Version, endpoint)
		if s.Leader == 0 {
			e.fault("members", "start the other members", "%s has no leader", endpoint)
		}
		for _, text := range s.Errors {
			e.fault("members", "see the text; for NOSPACE compact and defragment, and disarm the alarm", "%s: %s", endpoint, text)
		}
	}
	if list, err := client.MemberList(e.ctx); err != nil {
		e.info("members", "the members cannot be listed: %v", err)
	} else if n := len(list.Members); n < 3 {
		e.warn("members", "run three or five members, so that one may fail", "the cluster has %d", n)
	} else {
		e.ok("members", "the cluster has %d", n)
	}
	e.info("durability", "etcd writes to disk before it acknowledges, unless a member runs with --unsafe-no-fsync, which cannot be seen from here")
	prefix := e.store.EtcdPrefix()
	// The comparison is never true, so nothing is written, but the permissions are checked.
	key := prefix + "pool"
	_, err := client.Txn(e.ctx).If(clientv3.Compare(clientv3.Version(key), "<", 0)).Then(clientv3.OpPut(key, "")).Commit()
	if err != nil {
		e.fault("privileges", "grant the user readwrite on the prefix "+prefix, "%v", err)
		return
	}
	e.ok("privileges", "the user may write below %s", prefix)
	r, err := client.Get(e.ctx, prefix+"history", clientv3.WithCountOnly())
	switch {
	case err != nil:
		e.failed("pool", err)
	case r.Count == 0: // reading the pool would create the history
		e.info("pool", "there is no pool of recycled worker IDs yet below %s", prefix)
	default:
		e.pool()
	}
	tags, err := client.Get(e.ctx, prefix+"tags/", clientv3.WithPrefix())
	if err != nil {
		e.failed("tags", err)
		return
	}
	found := map[string][2]int64{}
	for _, kv := range tags.Kvs {
		var t tagJSON
		if err := json.Unmarshal(kv.Value, &t); err != nil {
			e.fault("tags", "restore the record", "%s: %v", kv.Key, err)
			continue
		}
		found[t.Tag] = [2]int64{t.Next, t.Step}
	}
	e.tagList(found)
}

// zookeeper examines ZooKeeper.
func (e *examination) zookeeper() {
	conn, root := e.store.Clients().ZooKeeper, e.store.ZooKeeperPath()
	e.info("members", "connected to %s", conn.Server())
	e.info("durability", "ZooKeeper writes to disk before it acknowledges, unless forceSync is no, which cannot be seen from here")
	// The calls of the client have no context. They end when the connection is closed.
	exists, err := await.Call(e.ctx, func() (bool, error) {
		exists, _, err := conn.Exists(root + "/history")
		return exists, err
	})
	switch {
	case err != nil:
		e.failed("pool", err)
		return
	case !exists: // reading the pool would create it
		e.info("pool", "there is no pool of recycled worker IDs yet below %s", root)
	default:
		e.pool()
	}
	found, err := await.Call(e.ctx, func() (map[string][2]int64, error) {
		found := map[string][2]int64{}
		names, _, err := conn.Children(root + "/tags")
		for _, name := range names {
			text, _, err := conn.Get(path.Join(root, "tags", name))
			if err != nil {
				return nil, err
			}
			var t tagJSON
			if err := json.Unmarshal(text, &t); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			found[t.Tag] = [2]int64{t.Next, t.Step}
		}
		if errors.Is(err, zk.ErrNoNode) {
			err = nil
		}
		return found, err
	})
	if err != nil {
		e.failed("tags", err)
		return
	}
	e.tagList(found)
}

// file examines a file of worker IDs, and the file of tags.
func (e *examination) file() {
	name := e.store.Clients().Path
	if e.store.Options().Assign == connect.Recycled {
		if e.store.Missing() {
			e.info("pool", "there is no file %s yet: the first generator creates it", name)
			e.writable(name)
			e.end(e.options.Format)
			return
		}
		e.writable(name)
		e.pool()
	} else {
		last, err := workerassign.NewFile(name).Last()
		if err != nil {
			e.failed("worker IDs", err)
			return
		}
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
			e.info("worker IDs", "there is no file %s yet: the first generator creates it", name)
		}
		e.writable(name)
		e.end(e.options.Format)
		e.left(last, e.maxWorkerID(), 0)
	}
	if _, err := os.Stat(name + filestore.TagsSuffix); err == nil {
		e.info("tags", "there is a file of tags, %s: ringuid tag raise TAG 1 shows one, and changes nothing", name+filestore.TagsSuffix)
	}
	e.info("hosts", "a file is for the processes of one host: other hosts must not use it")
}

// writable checks whether this user may do what generators do: they lock the lock file, and replace the file by a new one in its
// directory.
func (e *examination) writable(name string) {
	const advice = "run all processes as the owner of the file and of its directory"
	for _, existing := range []string{name, name + ".lock"} {
		f, err := os.OpenFile(existing, os.O_RDWR, 0)
		if err == nil {
			err = f.Close()
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			e.fault("privileges", advice, "%v", err)
			return
		}
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".ringuid-doctor-*")
	if err == nil {
		_, err = f.Write(make([]byte, 4096)) // an empty file can be created on a full disk, too
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if err != nil && !errors.Is(err, os.ErrPermission) {
		e.fault("privileges", "see the text of the error: the file system must accept writes", "%v", err)
		return
	}
	if err != nil {
		e.fault("privileges", advice, "%v", err)
		return
	}
	e.ok("privileges", "this user may write %s", name)
}

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The advice in errors: what to do, or what to check if the error persists.
const (
	adviceEviction  = "set maxmemory-policy to noeviction, or to a volatile policy, with CONFIG SET and in redis.conf"
	adviceNoHistory = "use a server that has them: Redis 5 or later, or Valkey; a proxy must not hide them"
	adviceReplica   = "the server is a replica: if this persists, point the client at the primary, or use a client of Sentinel"
	adviceLoading   = "the server is loading its data: if this persists, check its log"
	adviceBusy      = "a script or a transaction occupies the server: if this persists, check what it runs"
	adviceMaster    = "the server is a replica without its primary: if this persists, check the replication"
	adviceCluster   = "if this persists, check the state of the cluster (CLUSTER INFO)"
	adviceMoved     = "if this persists, use a client of Redis Cluster (NewClusterClient), and check the state of the cluster (CLUSTER INFO)"
	adviceReplicas  = "the primary has too few replicas (min-replicas-to-write, or half of the servers that the pool's hash names in its field servers): if this persists, check them"
	adviceServers   = "set the field to the number of servers, with HSET"
	adviceLag       = "if this persists, check the replicas and their connections to the primary"
	adviceMemory    = "the server has reached maxmemory: if this persists, raise it or delete data"
	adviceDisk      = "the server cannot save its data: if this persists, check its log and its disk"
	adviceLimit     = "the server has reached maxclients: if this persists, raise it"
	adviceAuth      = "set user and password in the client's options"
	adviceACL       = "grant the user the permissions that the documentation of package stores/redisstore lists (ACL SETUSER)"
	adviceType      = "another program uses a key of the pool: delete the one whose TYPE is wrong (those that end with :slots and :tags are hashes, with :free a zset), and no other one; if it was that of the tags, create each tag beyond all its numbers before services run"
	adviceRestored  = "change nothing by hand"
	adviceClosed    = "the client was closed: close it only after the generators that use it, and the sequences"
	adviceLost      = "check the address in the client's options, and that the server runs"
	adviceUnknown   = "correct the cause: a running program then continues by itself; start one again that failed to start"
)

// serverError says what to do about an error of the server with a prefix.
type serverError struct {
	prefix    string
	permanent bool
	advice    string
}

// serverErrors returns the errors that a server may return for the scripts. Any other error of a server is
// permanent: trying again would hide an unknown error.
func serverErrors() []serverError {
	return []serverError{
		{"READONLY", false, adviceReplica},
		{"LOADING", false, adviceLoading},
		{"BUSY", false, adviceBusy},
		{"MASTERDOWN", false, adviceMaster},
		{"CLUSTERDOWN", false, adviceCluster},
		{"TRYAGAIN", false, adviceCluster},
		{"MOVED", false, adviceMoved},
		{"ASK", false, adviceMoved},
		{"CROSSSLOT", true, adviceUnknown},
		{"UNKILLABLE", false, adviceBusy},
		{"NOSCRIPT", false, adviceLoading}, // SCRIPT FLUSH between EVALSHA and EVAL
		{"NOREPLICAS", false, adviceReplicas},
		{"REPLICAS", false, adviceReplicas}, // the number of servers has changed before each try
		{"UNBLOCKED", false, adviceReplica}, // of WAIT
		{"ERR WAIT cannot be used with replica", false, adviceReplica},
		{"SERVERS", true, adviceServers},
		{"OOM", false, adviceMemory},
		{"MISCONF", false, adviceDisk},
		{"ERR max number of clients reached", false, adviceLimit},
		{"NOAUTH", true, adviceAuth},
		{"WRONGPASS", true, adviceAuth},
		{"ERR Protocol error: unauthenticated", true, adviceAuth}, // a command of more than ten arguments
		{"NOPERM", true, adviceACL},
		{"ERR The user executing the script", true, adviceACL}, // Redis 7, for a command of the script
		{"The user executing the script", true, adviceACL},     // Redis 6
		{"WRONGTYPE", true, adviceType},
	}
}

// scriptPrefix is what Redis 5 and 6 write before the error of a command of a script.
var scriptPrefix = regexp.MustCompile(`^ERR Error running script \(call to [^)]*\): (@user_script: ?\d+: )*-?`)

// error returns an error of the client with what it prevented, and what to do. It wraps
// workerassign.ErrPermanent if another try would fail in the same way.
func (s *Store) error(action string, err error) error {
	if errors.Is(err, workerassign.ErrOption) {
		return err
	}
	advice, permanent := adviceFor(err)
	switch {
	case permanent:
		return s.permanent(err, advice)
	case advice == "":
		return fmt.Errorf("redisstore: cannot %s the pool of %s: %w", action, s, err)
	}
	return fmt.Errorf("redisstore: cannot %s the pool of %s: %w; %s", action, s, err, advice)
}

// adviceFor returns what to do about an error of the client, or "", and whether another try would fail in the same way.
func adviceFor(err error) (advice string, permanent bool) {
	text := serverText(err)
	if text == "" {
		switch network := net.Error(nil); {
		case errors.Is(err, redis.ErrClosed):
			return adviceClosed, true
		case errors.Is(err, errUnacknowledged):
			return adviceLag, false
		case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
			return "", false
		case errors.As(err, &network):
			return adviceLost, false
		}
		return "", false
	}
	for _, known := range serverErrors() {
		if strings.HasPrefix(text, known.prefix) {
			return known.advice, known.permanent
		}
	}
	return adviceUnknown, true
}

// serverText returns the text of an error that a server has returned, without what Redis 5 and 6 write before it, or "".
func serverText(err error) string {
	var fromServer redis.Error
	if !errors.As(err, &fromServer) || errors.Is(err, redis.Nil) {
		return ""
	}
	return scriptPrefix.ReplaceAllString(fromServer.Error(), "")
}

// permanent returns an error that another try does not fix.
func (s *Store) permanent(err error, advice string) error {
	return fmt.Errorf("%w: %s: %w; %s", workerassign.ErrPermanent, s, err, advice)
}

// damaged returns the error for data that the store has not written.
func (s *Store) damaged(format string, args ...any) error {
	return s.permanent(fmt.Errorf("%w: %w", recycled.ErrPool, fmt.Errorf(format, args...)), adviceRestored)
}

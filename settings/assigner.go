package settings

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/uid"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// The values of the key assigner.
const (
	kindDisposable = "disposable"
	kindRecycled   = "recycled"
	kindStatic     = "static"
)

// A Backend is what NewAssigner cannot create from a text: what the program has opened, and options of the assigners that are
// not settings. Each field may be left out if the settings require none.
type Backend struct {
	DB    workerassign.DB // the database that the key store means, of the assigners disposable and recycled
	Slots recycled.Store  // the store that the key store means, of recycled: Redis, etcd, ZooKeeper, or tables with other names

	Disposable []workerassign.DisposableOption // of workerassign.NewDisposable
	Recycled   []recycled.Option               // of recycled.New: WithTimeout, for example
	StaticFile []workerassign.StaticFileOption // of workerassign.StaticFile: WithNewFile at the first start, for example
	Hostname   string                          // for the worker_id "ordinal"; "": that of os.Hostname
}

// NewAssigner returns the assigner that the settings describe. It contacts no server.
//
//	assigner     store      returns
//	disposable   file:PATH  workerassign.NewFile(PATH): one host only
//	disposable   another    workerassign.NewDisposable(b.DB)
//	recycled     file:PATH  recycled.New(filestore.New(PATH)): one host only
//	recycled     another    recycled.New(b.Slots), or of sqlstore.New(b.DB)
//	static       none       workerassign.Static(worker_id)
//	static       file:PATH  workerassign.StaticFile(worker_id, PATH)
//
// PATH must not contain %, ? or #. Another store is a text that only the program reads, to open b.DB or b.Slots; it may be left
// out. A path without file: is refused.
//
// With recycled, worker_name is for recycled.WithName, and worker_id for recycled.WithWorkerID: a number, or "ordinal"
// for the number in the host name of a pod of a StatefulSet (workerassign.StatefulSetOrdinal). worker_divide wraps the
// assigner in workerassign.Divide, and then worker_prefix in workerassign.Prefix.
//
// A process with several generators must call NewAssigner only once, and pass the result to all of them, if the assigner is
// static without a file, or if worker IDs are divided. With two static assigners, two generators would have the same worker ID
// and generate the same UIDs. If they share one, the second generator gets an error that wraps workerassign.ErrInUse.
//
// If the settings are not valid, or b has not what they require, the error is an *Error.
func (s Settings) NewAssigner(b Backend) (workerassign.Assigner, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	s, _, _ = s.read()
	a, err := s.innerAssigner(b)
	if err != nil {
		return nil, err
	}
	if text, ok := s["worker_divide"]; ok {
		bits, err := parseInt(text)
		if err != nil {
			return nil, err
		}
		a = workerassign.Divide(a, bits)
	}
	if text, ok := s["worker_prefix"]; ok {
		number, bits, err := parsePrefix(text)
		if err != nil {
			return nil, err
		}
		a = workerassign.Prefix(a, number, bits)
	}
	return a, nil
}

// innerAssigner returns the assigner without its wrappers. The settings are valid.
func (s Settings) innerAssigner(b Backend) (workerassign.Assigner, error) {
	isFile := isFileStore(s["store"])
	var path string
	if isFile {
		var err error
		if path, err = storeFile(s["store"]); err != nil {
			return nil, err
		}
	}
	switch s["assigner"] {
	case kindDisposable:
		if isFile {
			return workerassign.NewFile(path), nil
		}
		if b.DB == nil {
			return nil, fault("store", "must be file: and a path, or the program must open a database for the assigner disposable (Backend.DB)")
		}
		return workerassign.NewDisposable(b.DB, b.Disposable...), nil
	case kindStatic:
		n, err := strconv.ParseInt(s["worker_id"], 10, 64)
		if err != nil {
			return nil, err
		}
		if isFile {
			return workerassign.StaticFile(n, path, b.StaticFile...), nil
		}
		return workerassign.Static(n), nil
	case kindRecycled:
		if isFile {
			b.Slots = filestore.New(path)
		}
		return s.recycledAssigner(b)
	}
	return nil, fault("assigner", "is not set; must be disposable, recycled or static")
}

// recycledAssigner returns an assigner of worker IDs that are used again, on b.Slots or in tables of b.DB.
func (s Settings) recycledAssigner(b Backend) (workerassign.Assigner, error) {
	store := b.Slots
	switch {
	case store == nil && b.DB == nil:
		return nil, fault("store", "must be file: and a path, or the program must open a store for the assigner recycled (Backend.Slots or Backend.DB)")
	case store == nil:
		store = sqlstore.New(b.DB)
	}
	var opts []recycled.Option
	if name, ok := s["worker_name"]; ok {
		opts = append(opts, recycled.WithName(name))
	}
	if text, ok := s["worker_id"]; ok {
		n, err := workerID(text, b.Hostname)
		if err != nil {
			return nil, fault("worker_id", "%w", err)
		}
		opts = append(opts, recycled.WithWorkerID(n))
	}
	return recycled.New(store, append(opts, b.Recycled...)...), nil
}

// workerID returns the number that the text of a worker_id means. hostname is "" for that of os.Hostname.
func workerID(text, hostname string) (int64, error) {
	if text != ordinal {
		return strconv.ParseInt(text, 10, 64)
	}
	if hostname == "" {
		var err error
		if hostname, err = os.Hostname(); err != nil {
			return 0, fmt.Errorf("the host name: %w", err)
		}
	}
	return workerassign.StatefulSetOrdinal(hostname)
}

// checkAssigner checks the keys of the assigner against each other.
func (s Settings) checkAssigner(found *faults) {
	unused := func(reason string, keys ...string) {
		for _, key := range keys {
			if text, ok := s[key]; ok {
				found.add(key, fmt.Errorf("is %s, and %s; leave it out", quoteShort(Redact(text)), reason))
			}
		}
	}
	switch store, hasStore := s["store"]; s["assigner"] {
	case "":
		unused("no assigner is set", "store", "worker_id", "worker_name", "worker_prefix", "worker_divide")
	case kindDisposable:
		unused("a disposable worker ID is chosen by the store", "worker_id", "worker_name")
	case kindStatic:
		unused("a static worker ID has no name", "worker_name")
		switch s["worker_id"] {
		case "":
			found.add("worker_id", fmt.Errorf("is not set; must be the worker ID of the assigner static"))
		case ordinal: // a force-deleted pod may still run
			found.add("worker_id", fmt.Errorf("is ordinal; must be a number, or the assigner recycled"))
		}
		if hasStore && !isFileStore(store) {
			found.add("store", fmt.Errorf("is %s; must be file: and a path, or left out, with the assigner static", quoteShort(Redact(store))))
		}
	}
}

// NewGenerator returns the generator that the settings describe: one of uid.NewCached or of uid.NewDefault, with the assigner
// of NewAssigner, or with another one. More options are applied after those of the settings: uid.WithLogger, uid.WithClock. (For a
// policy of the program, see CachedOptions.) ctx limits how long it takes, as for uid.NewCached. If a value is not valid by itself, the
// error is an *Error. Other errors are those of the constructors.
func (s Settings) NewGenerator(ctx context.Context, workers workerassign.Assigner, more ...uid.CommonOption) (uid.Generator, error) {
	_, opts, found := s.read()
	if err := found.err(); err != nil {
		return nil, err
	}
	for _, o := range more {
		opts = append(opts, o) // a nil Option becomes nil
	}
	if s["generator"] == generatorDefault {
		g, err := uid.NewDefault(ctx, workers, of[uid.DefaultOption](opts)...)
		if err != nil {
			return nil, err // not g, which would be an interface that is not nil
		}
		return g, nil
	}
	g, err := uid.NewCached(ctx, workers, of[uid.Option](opts)...)
	if err != nil {
		return nil, err
	}
	return g, nil
}

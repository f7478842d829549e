package uid

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/ringuid/ringuid/stores/filestore"
	"github.com/ringuid/ringuid/stores/sqlstore"
	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A Backend is what NewAssigner cannot create from a text: what the program has opened, and options of the assigners that are
// not settings. Each field may be left out if the settings require none.
type Backend struct {
	DB    workerassign.DB // the database that Store means, of AssignerDisposable and AssignerRecycled
	Slots recycled.Store  // the store that Store means, of AssignerRecycled: Redis, etcd, ZooKeeper, or tables with other names

	Disposable []workerassign.DisposableOption // of workerassign.NewDisposable
	Recycled   []recycled.Option               // of recycled.New: WithNewPool at the first start of a fleet, for example
	StaticFile []workerassign.StaticFileOption // of workerassign.StaticFile: WithNewFile at the first start, for example
	Hostname   string                          // for WorkerID "ordinal"; "": that of os.Hostname
}

// NewAssigner returns the assigner that the settings describe. It contacts no server.
//
//	Assigner     Store      returns
//	disposable   file:PATH  workerassign.NewFile(PATH): one host only
//	disposable   another    workerassign.NewDisposable(b.DB)
//	recycled     file:PATH  recycled.New(filestore.New(PATH)): one host only
//	recycled     another    recycled.New(b.Slots), or of sqlstore.New(b.DB)
//	static       none       workerassign.Static(WorkerID)
//	static       file:PATH  workerassign.StaticFile(WorkerID, PATH)
//
// PATH must not contain %, ? or #. Another store is a text that only the program reads, to open b.DB or b.Slots; it may be left
// out. A path without file: is refused.
//
// With recycled, WorkerName is for recycled.WithName, and WorkerID for recycled.WithWorkerID: a number, or "ordinal"
// for the number in the host name of a pod of a StatefulSet (workerassign.StatefulSetOrdinal). WorkerDivide wraps the
// assigner in workerassign.Divide, and then WorkerPrefix in workerassign.Prefix.
//
// A process with several generators must call NewAssigner only once, and pass the result to all of them, if the assigner is
// static without a file, or if worker IDs are divided. With two static assigners, two generators would have the same worker ID
// and generate the same UIDs. If they share one, the second generator gets an error that wraps workerassign.ErrInUse.
//
// If the settings are not valid, or b has not what they require, the error is a *SettingsError.
func (s Settings) NewAssigner(b Backend) (workerassign.Assigner, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	a, err := s.innerAssigner(b)
	if err != nil {
		return nil, err
	}
	if s.WorkerDivide != 0 {
		a = workerassign.Divide(a, s.WorkerDivide)
	}
	if s.WorkerPrefix != "" {
		number, bits, err := parsePrefix(s.WorkerPrefix)
		if err != nil {
			return nil, err
		}
		a = workerassign.Prefix(a, number, bits)
	}
	return a, nil
}

// innerAssigner returns the assigner without its wrappers. The settings are valid.
func (s Settings) innerAssigner(b Backend) (workerassign.Assigner, error) {
	isFile := isFileStore(s.Store)
	var path string
	if isFile {
		var err error
		if path, err = storeFile(s.Store); err != nil {
			return nil, err
		}
	}
	switch s.Assigner {
	case AssignerDisposable:
		if isFile {
			return workerassign.NewFile(path), nil
		}
		if b.DB == nil {
			return nil, missingBackend("store", "must be file: and a path, or the program must open a database for the assigner disposable (Backend.DB)")
		}
		return workerassign.NewDisposable(b.DB, b.Disposable...), nil
	case AssignerStatic:
		n, err := strconv.ParseInt(s.WorkerID, 10, 64)
		if err != nil {
			return nil, err
		}
		if isFile {
			return workerassign.StaticFile(n, path, b.StaticFile...), nil
		}
		return workerassign.Static(n), nil
	case AssignerRecycled:
		if isFile {
			b.Slots = filestore.New(path)
		}
		return s.recycledAssigner(b)
	}
	return nil, missingBackend("assigner", "is not set; must be disposable, recycled or static")
}

// recycledAssigner returns an assigner of AssignerRecycled, on b.Slots or in tables of b.DB.
func (s Settings) recycledAssigner(b Backend) (workerassign.Assigner, error) {
	store := b.Slots
	switch {
	case store == nil && b.DB == nil:
		return nil, missingBackend("store", "must be file: and a path, or the program must open a store for the assigner recycled (Backend.Slots or Backend.DB)")
	case store == nil:
		store = sqlstore.New(b.DB)
	}
	var opts []recycled.Option
	if s.WorkerName != "" {
		opts = append(opts, recycled.WithName(s.WorkerName))
	}
	if s.WorkerID != "" {
		n, err := s.workerID(b)
		if err != nil {
			return nil, (faults{{"worker_id", err}}).err()
		}
		opts = append(opts, recycled.WithWorkerID(n))
	}
	return recycled.New(store, append(opts, b.Recycled...)...), nil
}

// workerID returns the number that WorkerID means.
func (s Settings) workerID(b Backend) (int64, error) {
	if s.WorkerID != ordinal {
		return strconv.ParseInt(s.WorkerID, 10, 64)
	}
	hostname := b.Hostname
	if hostname == "" {
		var err error
		if hostname, err = os.Hostname(); err != nil {
			return 0, fmt.Errorf("%w: the host name: %w", ErrOption, err)
		}
	}
	return workerassign.StatefulSetOrdinal(hostname)
}

// missingBackend returns the error for something that only the program can supply.
func missingBackend(key, text string) error {
	return (faults{{key, settingError("%s", text)}}).err()
}

// NewGenerator returns the generator that the settings describe, with the assigner of NewAssigner. More options are applied
// after those of the settings: WithLogger, WithClock, a policy of the program. ctx limits how long it takes, as for
// NewCached. The errors are those of NewAssigner, NewCached and NewDefault.
//
// Each call calls NewAssigner. So a process with a static worker ID must not call it a second time before the first generator
// is closed: see NewAssigner.
func (s Settings) NewGenerator(ctx context.Context, b Backend, more ...Option) (Generator, error) {
	a, err := s.NewAssigner(b)
	if err != nil {
		return nil, err
	}
	opts := append(s.Options(), more...)
	if s.Generator == GeneratorDefault {
		g, err := NewDefault(ctx, a, opts...)
		if err != nil {
			return nil, err // not g, which would be an interface that is not nil
		}
		return g, nil
	}
	g, err := NewCached(ctx, a, opts...)
	if err != nil {
		return nil, err
	}
	return g, nil
}

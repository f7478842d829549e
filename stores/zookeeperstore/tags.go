package zookeeperstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/ringuid/ringuid/internal/tagrecord"
	"github.com/ringuid/ringuid/segment"
)

// Take implements segment.Source. It makes one write, and more for each race that is lost against another process. In
// this process the calls for one tag wait for each other.
func (s *Store) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	if s.tagErr != nil {
		return segment.Range{}, s.tagErr
	}
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	return doTag(ctx, s, r.Tag, func() (taken segment.Range, err error) {
		err = s.replaceTag(ctx, r.Tag, func(t *tagrecord.State) (err error) {
			taken, err = t.Take(r)
			return err
		})
		return taken, err
	})
}

// CreateTag implements segment.Creator. A tag with UnusedBefore is refused with an error that wraps segment.ErrNoTag if
// there is no pool of tags. A tag without it declares then that the pool is new: that no tag was ever created in it.
func (s *Store) CreateTag(ctx context.Context, tag string, c segment.TagConfig) error {
	if s.tagErr != nil {
		return s.tagErr
	}
	if err := segment.CheckTag(tag); err != nil {
		return err
	}
	c, err := c.Validate()
	if err != nil {
		return err
	}
	_, err = doTag(ctx, s, tag, func() (struct{}, error) {
		return struct{}{}, s.replaceTag(ctx, tag, func(t *tagrecord.State) error { return t.Create(tag, c) })
	})
	return err
}

// doTag calls f in a goroutine when it is the tag's turn, and waits until it returns, or ctx ends. The turn ends with f, so
// that calls whose contexts have ended do not pile up if a server does not answer.
func doTag[T any](ctx context.Context, s *Store, tag string, f func() (T, error)) (T, error) {
	leave, err := s.tags.Enter(ctx, tag)
	if err != nil {
		return *new(T), s.wrap(err)
	}
	value, err := await(ctx, func() (T, error) {
		defer leave()
		return f()
	})
	for _, known := range []error{segment.ErrNoTag, segment.ErrTagExists, segment.ErrSetBack, segment.ErrExhausted, segment.ErrSource} {
		if errors.Is(err, known) {
			return value, err
		}
	}
	return value, s.wrap(err)
}

// replaceTag reads the state of a tag, and replaces it by what change makes of it. If another process has changed it in
// between, it begins again. If the reply to a write is lost, it returns an error: what was written is a gap then.
func (s *Store) replaceTag(ctx context.Context, tag string, change func(*tagrecord.State) error) error {
	recent := false // the state must be a recent one
	for lost := 0; ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		old, err := s.readTag(ctx, tag, recent)
		if err != nil {
			return err
		}
		next := old.State
		err = change(&next)
		if !recent && (err != nil || !old.HasTag || next.Pool != old.Pool) {
			// The server of this session may be behind. A write that replaces an old state fails, but whatever else
			// follows from it could be wrong.
			recent = true
			continue
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		ok, err := s.writeTag(old, next)
		if ok || err != nil {
			return err
		}
		recent = recent || old.History != s.lastHistory()
		lost++
		if err := tagrecord.Pause(ctx, lost); err != nil {
			return err
		}
	}
}

// readTag reads a tag. Unless recent is true, the state may be old, and has no time.
func (s *Store) readTag(ctx context.Context, tag string, recent bool) (tagState, error) {
	state := tagState{State: tagrecord.State{Store: s, PoolKey: s.tagPoolPath(), Gap: s.gap, History: s.lastHistory()}}
	if recent || state.History == "" {
		var err error
		if state.History, state.Now, err = s.readClock(ctx); err != nil {
			return state, err
		}
	}
	// The requests are sent without waiting for the answers, which may be of different states. Then the write fails.
	var wg sync.WaitGroup
	var pool, record []byte
	var poolStat, recordStat *zk.Stat
	var errs [4]error
	wg.Go(func() { pool, poolStat, errs[0] = s.conn.Get(s.tagPoolPath()) })
	wg.Go(func() { record, recordStat, errs[1] = s.conn.Get(s.tagPath(tag)) })
	wg.Go(func() { state.marks, _, errs[2] = s.conn.Children(s.tagPath(tag)) })
	if recent {
		wg.Go(func() {
			_, tags, err := s.conn.Exists(s.tagsPath())
			state.HasTags, errs[3] = err == nil && tags.NumChildren > 0, err
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err := ignore(err, zk.ErrNoNode); err != nil {
			return state, err
		}
	}
	var err error
	if errs[0] == nil {
		state.HasPool, state.poolVersion = true, poolStat.Version
		if state.Pool, err = s.decodeTagPool(pool); err != nil {
			return state, err
		}
	}
	if errs[1] == nil {
		state.HasTag, state.tagVersion = true, recordStat.Version
		if state.Tag, err = tagrecord.DecodeRecord(record, tag); err != nil {
			return state, fmt.Errorf("%w (zookeeper: znode %q)", err, s.tagPath(tag))
		}
	}
	return state, nil
}

// tagState is a state of a tag, with the versions of the znodes. HasTags is only known of a recent state.
type tagState struct {
	tagrecord.State
	poolVersion, tagVersion int32
	marks                   []string // see writeTag
}

package sqlstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/segment"
	"github.com/ringuid/ringuid/workerassign"
)

// A tagTable is the table leaf_alloc of a database, with one row for each tag: the tags of a Store.
type tagTable struct {
	db  workerassign.DB
	cfg *config

	mu        sync.Mutex
	dialect   tagDialect // nil before the first connection
	inspected time.Time  // when the storage engine was checked; the zero time: never
	noIDs     bool       // see hidesInsertIDs
}

const (
	// engineLifetime is how long the result of a check of the storage engine is used.
	engineLifetime = time.Minute
	// maxTableChanges is how often an attempt is repeated because the row was changed by others while it was read.
	maxTableChanges = 10
)

// String describes the table in errors.
func (t *tagTable) String() string { return sqlattempt.AtServer("table "+t.cfg.tagTable, t.cfg.server) }

// Take implements segment.Source. It takes numbers of a row of leaf_alloc: see New.
func (t *Store) Take(ctx context.Context, r segment.Request) (segment.Range, error) {
	if err := t.checkTags(); err != nil {
		return segment.Range{}, err
	}
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	var taken segment.Range
	err := t.tags.try(ctx, func(ctx context.Context, a *tagAttempt) (err error) {
		taken, err = a.take(ctx, r)
		return err
	})
	if err != nil {
		return segment.Range{}, err
	}
	return taken, nil
}

// CreateTag implements segment.Creator. It has no use for UnusedBefore, see New. The account must have the privilege to
// insert rows.
func (t *Store) CreateTag(ctx context.Context, tag string, c segment.TagConfig) error {
	if err := t.checkTags(); err != nil {
		return err
	}
	if err := segment.CheckTag(tag); err != nil {
		return err
	}
	c, err := c.Validate()
	if err != nil {
		return err
	}
	return t.tags.try(ctx, func(ctx context.Context, a *tagAttempt) error { return a.create(ctx, tag, c) })
}

// hidesInsertIDs reports whether a reply to an UPDATE of this table did not have the ID that it has set.
func (t *tagTable) hidesInsertIDs() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.noIDs
}

func (t *tagTable) setHidesInsertIDs() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noIDs = true
}

// checkTags returns the error of an invalid option, or of a value that New has not made.
func (t *Store) checkTags() error {
	if t == nil || t.db == nil && t.cfg.err == nil {
		return fmt.Errorf("%w: sqlstore: the Store must be created by New", segment.ErrOption)
	}
	return t.cfg.tagErr
}

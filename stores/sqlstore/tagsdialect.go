package sqlstore

import (
	"context"

	"github.com/ringuid/ringuid/internal/sqlattempt"
	"github.com/ringuid/ringuid/segment"
)

// A tagDialect is what a tagTable must know of a kind of database server. Its methods return errors of the driver,
// unless their comments say otherwise.
type tagDialect interface {
	Base() sqlattempt.Dialect

	// inspect returns a result of ownTagError if the table has no transactions.
	inspect(ctx context.Context, a *tagAttempt) error

	// raise begins a transaction, if one is required, and increases the counter of r.Tag by r.Size, or by the row's
	// step if that is 0, in one atomic step, and only if the row is right, the counter is r.AtLeast or more and does
	// not exceed maxCounter afterwards. It returns the rows of the tag as they are now, and how many it has changed.
	raise(ctx context.Context, a *tagAttempt, r segment.Request) (raised, error)

	// raiseLast sets the counter of a tag to maxCounter, only if it is exactly seen.
	raiseLast(ctx context.Context, a *tagAttempt, tag string, seen int64) (changed int64, err error)

	// insert inserts a row.
	insert(ctx context.Context, a *tagAttempt, tag string, c segment.TagConfig) error

	// read returns the rows that the server regards as equal to a tag.
	read(ctx context.Context, a *tagAttempt, tag string) ([]tagRow, error)

	// synchronize waits, on a node of a cluster, until the node has applied what other nodes have acknowledged. It
	// returns false if there is nothing to wait for. No transaction must be open.
	synchronize(ctx context.Context, a *tagAttempt, tag string) (bool, error)
}

// raised is the result of raise.
type raised struct {
	rows     []tagRow
	changed  int64
	before   int64 // what the statement found as the counter, if that is known apart from the rows
	reported bool  // whether before is known
	added    int64 // what the statement has added; 0: the size of the request, or the step in the row
}

// maxCounter is the greatest value of max_id: MaxNumber is the last number that is handed out.
const maxCounter = segment.MaxNumber + 1

// Package ledger records what processes ask of a recycled.Store, which leases they get, and which time units they stamp; and it
// checks the whole run against the rules R1 to R8 of doc/internals/design.md, section 8. The checker knows the rules and the contract
// of stores, and nothing of package recycled: it looks at what happened, as an auditor looks at a ledger.
package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringuid/ringuid/workerassign"
	"github.com/ringuid/ringuid/workerassign/recycled"
)

// A Log is what happened in one run. It is safe for concurrent use.
type Log struct {
	now func() time.Duration
	out io.Writer // in a child process

	mu      sync.Mutex
	clients int
	reads   []*read
	writes  []*write
	leases  []*lease
	foreign []Violation // stamps without a lease
	before  recycled.State
	late    []*write // of logs before: those of unknown outcome may still arrive, and a read may be older than before
}

// New returns an empty log. now is a clock that never goes back, which all processes share: calls are ordered by it.
func New(now func() time.Duration) *Log { return &Log{now: now} }

// NewChild returns the log of a child process, of which there is one. It writes lines to out, which the parent gives to Feed. The
// parent's clock must be Monotonic.
func NewChild(out io.Writer) *Log { return &Log{now: Monotonic, out: out} }

// Begin says what the store had before the run, if it was not empty: all slots. If Follow is called too, s was read when the run of that
// log had ended.
func (l *Log) Begin(s recycled.State) { l.before = plainState(s) }

// Follow says that the store was used by another log before, which was checked. Its last writes may still arrive, and those of logs
// before it; but what it has acknowledged must be in what Begin has.
func (l *Log) Follow(previous *Log) {
	previous.mu.Lock()
	defer previous.mu.Unlock()
	for _, w := range previous.late {
		if w.Unknown {
			l.late = append(l.late, w)
		}
	}
	for _, w := range previous.writes {
		if w.Made || w.Unknown {
			l.late = append(l.late, &write{client: &Client{}, Write: w.Write, Made: w.Made, Unknown: w.Unknown, term: w.term})
		}
	}
}

// A span is from the call of a method to its return.
type span struct{ Call, End time.Duration }

// A read is one call of Store.Read that returned a state.
type read struct {
	span
	client         *Client
	State          recycled.State
	Sent, Received time.Time // the clock of the process at the call and at the return
}

// A write is one call of Store.Write.
type write struct {
	span
	client        *Client
	Write         recycled.Write
	Made, Unknown bool          // neither: it was refused
	ReserveAhead  time.Duration // of the generator
	Received      time.Time     // the clock of the process at the return, or at the call if there was none
	term          term          // of the pool that the write leaves
}

// A lease is one that an assigner has returned, with its grants.
type lease struct {
	span      // of Assign
	client    *Client
	WorkerID  int64
	NotBefore time.Time
	granted   []grant
	released  bool
	used      time.Time               // of Release
	stamps    map[int64]time.Duration // when the first UID of each time unit was taken
}

// A grant is one call of Reserve that succeeded.
type grant struct {
	span
	Until time.Time
}

// A stamp is a time unit with a worker ID.
type stamp struct {
	WorkerID int64
	At       time.Time
}

// An entry is one thing that happened.
type entry struct {
	Client     int
	Bound      time.Duration // of the client
	IsOperator bool
	Number     int            // of a write or a lease of the client
	Read       *read          `json:",omitempty"`
	Write      *write         `json:",omitempty"` // twice: at the call, and at the return
	Lease      *lease         `json:",omitempty"`
	Grant      *grant         `json:",omitempty"`
	Used       *time.Time     `json:",omitempty"` // of Release
	Stamp      *stamp         `json:",omitempty"`
	When       *time.Duration `json:",omitempty"` // of Stamp
}

// A Client is the store of one process, which records each call. It implements recycled.Store.
type Client struct {
	log        *Log
	number     int
	store      recycled.Store
	bound      time.Duration // B
	isOperator bool

	mu      sync.Mutex
	request workerassign.Request
	entries int // that have a number
	stamped map[stamp]bool

	// In the log, which guards them.
	writes   map[int]*write
	leases   map[int]*lease
	byWorker map[int64][]*lease
}

// Client returns the store of a process whose clock may differ by bound from the store's (B).
func (l *Log) Client(s recycled.Store, bound time.Duration) *Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients++
	return &Client{log: l, number: l.clients, store: s, bound: bound, stamped: map[stamp]bool{},
		writes: map[int]*write{}, leases: map[int]*lease{}, byWorker: map[int64][]*lease{}}
}

// Operator is like Client, for one that may create the pool without a floor, by recycled.CreatePool.
func (l *Log) Operator(s recycled.Store) *Client {
	c := l.Client(s, 0)
	c.isOperator = true
	return c
}

// linePrefix begins the lines of a child.
const linePrefix = "ledger "

// Feed returns a function that adds the lines of one child process. It reports whether a line is one of NewChild.
func (l *Log) Feed() func(line string) bool {
	clients := map[int]*Client{}
	return func(line string) bool {
		text, isEntry := strings.CutPrefix(line, linePrefix)
		var e entry
		if !isEntry || json.Unmarshal([]byte(text), &e) != nil { // the child may be killed while it writes a line
			return isEntry
		}
		if clients[e.Client] == nil {
			clients[e.Client] = l.Client(nil, e.Bound)
			clients[e.Client].isOperator = e.IsOperator
		}
		l.add(clients[e.Client], e)
		return true
	}
}

// add adds an entry of a client.
func (l *Log) add(c *Client, e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out != nil {
		e.Client, e.Bound, e.IsOperator = c.number, c.bound, c.isOperator
		line, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(l.out, "%s%s\n", linePrefix, line)
		return
	}
	switch {
	case e.Read != nil:
		e.Read.client = c
		l.reads = append(l.reads, e.Read)
	case e.Write != nil:
		e.Write.client = c
		if w := c.writes[e.Number]; w != nil {
			*w = *e.Write
			return
		}
		c.writes[e.Number] = e.Write
		l.writes = append(l.writes, e.Write)
	case e.Lease != nil:
		e.Lease.client, e.Lease.stamps = c, map[int64]time.Duration{}
		c.leases[e.Number] = e.Lease
		c.byWorker[e.Lease.WorkerID] = append(c.byWorker[e.Lease.WorkerID], e.Lease)
		l.leases = append(l.leases, e.Lease)
	case e.Grant != nil:
		c.leases[e.Number].granted = append(c.leases[e.Number].granted, *e.Grant)
	case e.Used != nil:
		c.leases[e.Number].released, c.leases[e.Number].used = true, *e.Used
	case e.Stamp != nil:
		for _, lease := range slices.Backward(c.byWorker[e.Stamp.WorkerID]) { // the last one that may be meant
			if !e.Stamp.At.Before(lease.NotBefore) {
				lease.stamps[e.Stamp.At.UnixMicro()] = *e.When
				return
			}
		}
		l.foreign = append(l.foreign, Violation{"grants", fmt.Sprintf("process %d stamped %v with worker ID %d, of which it had no lease then", c.number, e.Stamp.At, e.Stamp.WorkerID)})
	}
}

// next returns the number of another write or lease.
func (c *Client) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries++
	return c.entries
}

// clock returns the time that the process's generator sees.
func (c *Client) clock() time.Time {
	c.mu.Lock()
	req := c.request
	c.mu.Unlock()
	return req.Time()
}

// String implements recycled.Store.
func (c *Client) String() string { return c.store.String() }

// Read implements recycled.Store.
func (c *Client) Read(ctx context.Context, q recycled.Query) (recycled.State, error) {
	r := &read{span: span{Call: c.log.now()}, Sent: c.clock()}
	state, err := c.store.Read(ctx, q)
	if err == nil {
		r.End, r.Received, r.State = c.log.now(), c.clock(), plainState(state)
		c.log.add(c, entry{Read: r})
	}
	return state, err
}

// Write implements recycled.Store.
func (c *Client) Write(ctx context.Context, w recycled.Write) (bool, error) {
	r, number := write{span: span{Call: c.log.now()}, Write: w, Unknown: true, Received: c.clock()}, c.next()
	c.mu.Lock()
	r.ReserveAhead = c.request.ReserveAhead
	c.mu.Unlock()
	r.Write.Slots, r.Write.Replaced = plainSlots(w.Slots), plainSlots(w.Replaced)
	if w.Pool != nil {
		r.Write.Pool, r.Write.ReplacedPool = plainPool(w.Pool), plainPool(w.ReplacedPool)
	}
	called := r
	c.log.add(c, entry{Number: number, Write: &called})
	made, err := c.store.Write(ctx, w)
	r.Made, r.Unknown = made && err == nil, err != nil
	r.End, r.Received = c.log.now(), c.clock()
	c.log.add(c, entry{Number: number, Write: &r})
	return made, err
}

// plain makes times comparable by ==: in UTC, and in microseconds.
func plain(times ...*time.Time) {
	for _, t := range times {
		*t = time.UnixMicro(t.UnixMicro()).UTC()
	}
}

// plainSlots returns slots that can be compared by ==.
func plainSlots(slots []recycled.Slot) []recycled.Slot {
	slots = slices.Clone(slots)
	for i := range slots {
		s := &slots[i]
		plain(&s.From, &s.Until, &s.Written, &s.FreeAt, &s.Holder.Since)
	}
	return slots
}

// plainPool returns a pool that can be compared by ==, which is the zero Pool if there is none.
func plainPool(p *recycled.Pool) *recycled.Pool {
	if p == nil || p.Revision == 0 {
		return new(recycled.Pool)
	}
	pool := *p
	plain(&pool.Since, &pool.Floor)
	return &pool
}

// plainState returns a state with records that can be compared by ==.
func plainState(s recycled.State) recycled.State {
	s.Pool, s.Slots = *plainPool(&s.Pool), plainSlots(s.Slots)
	return s
}

// Assigner returns a, which uses c, and records its leases.
func (c *Client) Assigner(a workerassign.Assigner) workerassign.Assigner { return recorder{a, c} }

// A recorder is an assigner that records its leases.
type recorder struct {
	workerassign.Assigner
	client *Client
}

// Assign implements workerassign.Assigner.
func (r recorder) Assign(ctx context.Context, req workerassign.Request) (workerassign.Lease, error) {
	c, call := r.client, r.client.log.now()
	c.mu.Lock()
	c.request = req
	c.mu.Unlock()
	l, err := r.Assigner.Assign(ctx, req)
	if err != nil {
		return nil, err
	}
	number := c.next()
	c.log.add(c, entry{Number: number, Lease: &lease{span: span{call, c.log.now()}, WorkerID: l.WorkerID(), NotBefore: l.NotBefore()}})
	return &recordedLease{Lease: l, client: c, number: number}, nil
}

// A recordedLease is a lease that records its calls.
type recordedLease struct {
	workerassign.Lease
	client   *Client
	number   int
	released sync.Once
}

// Reserve implements workerassign.Lease.
func (l *recordedLease) Reserve(ctx context.Context, until time.Time) (workerassign.Grant, error) {
	g := grant{span: span{Call: l.client.log.now()}}
	granted, err := l.Lease.Reserve(ctx, until)
	if err == nil {
		g.End, g.Until = l.client.log.now(), granted.Until
		l.client.log.add(l.client, entry{Number: l.number, Grant: &g})
	}
	return granted, err
}

// Release implements workerassign.Lease.
func (l *recordedLease) Release(ctx context.Context, used time.Time) error {
	l.released.Do(func() { l.client.log.add(l.client, entry{Number: l.number, Used: &used}) })
	return l.Lease.Release(ctx, used)
}

// Stamp records that the process has stamped the time unit that begins at a time, with a worker ID. Of each time unit, only the
// first call counts.
func (c *Client) Stamp(workerID int64, at time.Time) {
	s := stamp{workerID, at}
	c.mu.Lock()
	known := c.stamped[s]
	c.stamped[s] = true
	c.mu.Unlock()
	if when := c.log.now(); !known {
		c.log.add(c, entry{Stamp: &s, When: &when})
	}
}

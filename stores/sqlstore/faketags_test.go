package sqlstore

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"

	"github.com/ringuid/ringuid/segment"
)

// A FakeServer is a database server with the table leaf_alloc in memory, as far as a Table uses it: it executes the
// statements of both dialects, with transactions and row locks. It is a driver.Connector.
type FakeServer struct {
	Version  string // the reply to SELECT VERSION()
	Engine   string // the table's storage engine; "": InnoDB
	Cluster  bool   // the server is a node of a Galera cluster
	Folds    bool   // the collation ignores case
	HidesID  bool   // replies have no insert ID
	LeftOpen bool   // each connection has an open transaction
	Type     string // the type of max_id and step

	// Before is called before a statement is executed, and After when it was. Their errors are the replies.
	Before, After func(ctx context.Context, statement string) error

	// Ignore makes the server change nothing in an UPDATE, and Trigger changes the rows that an UPDATE or an INSERT has
	// set.
	Ignore  func(statement string) bool
	Trigger func(r *FakeRow)

	lock chan struct{} // has capacity 1: the connection that has filled it has changed rows and not committed that

	mu         sync.Mutex
	rows       []FakeRow
	committed  []FakeRow // what others see while the lock is held
	statements []string
	opened     int // connections
	closed     int
}

// A FakeRow is a row of leaf_alloc.
type FakeRow struct {
	Tag         string
	MaxID, Step any
	Description any
}

// The versions of servers.
const (
	FakeMariaDB  = "10.11.6-MariaDB"
	FakeMySQL    = "8.0.36"
	FakeTiDB     = "8.0.11-TiDB-v8.5.0"
	FakePostgres = "PostgreSQL 15.4 on x86_64-pc-linux-gnu"
)

// NewFakeServer returns a server without rows.
func NewFakeServer(version string) *FakeServer {
	return &FakeServer{Version: version, Type: "BIGINT", lock: make(chan struct{}, 1)}
}

// Set inserts or replaces a row.
func (s *FakeServer) Set(tag string, maxID, step any) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = slices.DeleteFunc(s.rows, func(r FakeRow) bool { return r.Tag == tag })
	s.rows = append(s.rows, FakeRow{Tag: tag, MaxID: fakeValue(maxID), Step: fakeValue(step)})
}

// fakeValue returns a value as a driver returns it.
func fakeValue(v any) any {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	return v
}

// SetCounter sets the counter of a tag.
func (s *FakeServer) SetCounter(tag string, maxID int64) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.rows {
		if s.rows[i].Tag == tag {
			s.rows[i].MaxID = maxID
		}
	}
}

// Rows returns what was committed.
func (s *FakeServer) Rows() []FakeRow {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows)
}

// Restore sets all rows.
func (s *FakeServer) Restore(rows []FakeRow) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = slices.Clone(rows)
}

// Statements returns the statements since the last call.
func (s *FakeServer) Statements() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.statements
	s.statements = nil
	return all
}

// Connections returns how many connections were opened and closed.
func (s *FakeServer) Connections() (opened, closed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened, s.closed
}

// Connect implements driver.Connector.
func (s *FakeServer) Connect(ctx context.Context) (driver.Conn, error) {
	if s.Before != nil {
		if err := s.Before(ctx, "CONNECT"); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	return &fakeConn{server: s}, nil
}

// Driver implements driver.Connector.
func (s *FakeServer) Driver() driver.Driver { return nil }

func (s *FakeServer) isPostgres() bool { return strings.HasPrefix(s.Version, "PostgreSQL") }

// A FakeState is an error of PostgreSQL.
type FakeState string

func (e FakeState) Error() string    { return "state " + string(e) }
func (e FakeState) SQLState() string { return string(e) }

// fakeConn is a connection.
type fakeConn struct {
	driver.Conn
	server *FakeServer
	open   bool // a transaction was begun
	locked bool // this connection has the lock
	failed bool // a statement of the transaction has failed; for PostgreSQL
}

func (c *fakeConn) Close() error {
	c.end(false)
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.closed++
	return nil
}

// acquire acquires the lock.
func (c *fakeConn) acquire(ctx context.Context) error {
	if c.locked {
		return nil
	}
	select {
	case c.server.lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	c.locked = true
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.committed = slices.Clone(c.server.rows)
	return nil
}

// end ends a transaction.
func (c *fakeConn) end(commit bool) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.locked {
		if !commit || c.failed {
			c.server.rows = c.server.committed
		}
		c.server.committed = nil
		<-c.server.lock
	}
	c.open, c.locked, c.failed = false, false, false
}

// view returns the rows that this connection sees.
func (c *fakeConn) view() []FakeRow {
	if !c.locked && c.server.committed != nil {
		return c.server.committed
	}
	return c.server.rows
}

func (c *fakeConn) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	r, err := c.run(ctx, statement, args)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (c *fakeConn) QueryContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	r, err := c.run(ctx, statement, args)
	if err != nil {
		return nil, err
	}
	return &fakeRows{fakeReply: r}, nil
}

// fakeReply is the reply to a statement.
type fakeReply struct {
	columns  int
	rows     [][]driver.Value
	changed  int64
	insertID int64
	noID     bool
	typeName string
}

func (r *fakeReply) RowsAffected() (int64, error) { return r.changed, nil }
func (r *fakeReply) LastInsertId() (int64, error) {
	if r.noID {
		return 0, fmt.Errorf("no insert ID")
	}
	return r.insertID, nil
}

// run executes a statement.
func (c *fakeConn) run(ctx context.Context, statement string, args []driver.NamedValue) (*fakeReply, error) {
	s := c.server
	s.mu.Lock()
	s.statements = append(s.statements, statement)
	s.mu.Unlock()
	if s.Before != nil {
		if err := s.Before(ctx, statement); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.failed && !strings.HasPrefix(statement, "ROLLBACK") {
		return nil, FakeState("25P02")
	}
	reply, err := c.execute(ctx, statement, args)
	if err != nil && s.isPostgres() && c.open {
		c.failed = true
	}
	if s.isPostgres() && !c.open {
		c.end(err == nil) // each statement commits
	}
	if !s.isPostgres() && !c.open && c.locked {
		c.end(true)
	}
	if err == nil && s.After != nil {
		err = s.After(ctx, statement)
	}
	if err != nil {
		return nil, err
	}
	reply.typeName, reply.noID = s.Type, s.HidesID
	return reply, nil
}

const fakeTag = ` WHERE biz_tag = (\S+) AND CAST\(CONVERT\(biz_tag USING utf8mb4\) AS BINARY\) = CAST\((\S+) AS BINARY\)`

var (
	fakeSelect  = regexp.MustCompile(`^(?:SET STATEMENT wsrep_sync_wait = 1 FOR )?SELECT (?:/\*\+ SET_VAR\(wsrep_sync_wait = 1\) \*/ )?CAST\(CONVERT\(biz_tag USING utf8mb4\) AS BINARY\), max_id, step FROM \S+ WHERE biz_tag = (\S+)( FOR UPDATE)?$`)
	fakeRaise   = regexp.MustCompile(`^UPDATE \S+ SET max_id = LAST_INSERT_ID\(max_id \+ 1\) \+ (-?\d+)` + fakeTag + ` AND step (?:= (-?\d+)|BETWEEN 1 AND (-?\d+)) AND max_id BETWEEN (-?\d+) AND (-?\d+)$`)
	fakeCompare = regexp.MustCompile(`^UPDATE \S+ SET max_id = (-?\d+)` + fakeTag + ` AND max_id = (-?\d+) AND step (?:= (-?\d+)|BETWEEN 1 AND (-?\d+))$`)
	fakeInsert  = regexp.MustCompile(`^INSERT INTO \S+ \(biz_tag, max_id, step, description\) VALUES \((\S+), (-?\d+), (-?\d+), (\S+)\)$`)

	fakePostgresWhere  = ` WHERE biz_tag = \$1 AND CAST\(biz_tag AS text\) COLLATE "C" = CAST\(\$1 AS text\) COLLATE "C"`
	fakePostgresRaise  = regexp.MustCompile(`^UPDATE \S+ SET max_id = max_id \+ (step|CAST\(\$3 AS bigint\)), update_time = CURRENT_TIMESTAMP FROM \(SELECT .*` + fakePostgresWhere + ` AND max_id >= CAST\(\$2 AS bigint\) AND (?:CASE WHEN )?step BETWEEN 1 AND (-?\d+) (?:AND|THEN) max_id <= (-?\d+) - .* RETURNING CAST\(biz_tag AS text\), max_id, step, found, set_config`)
	fakePostgresLast   = regexp.MustCompile(`^UPDATE \S+ SET max_id = (-?\d+), update_time = CURRENT_TIMESTAMP` + fakePostgresWhere + ` AND max_id = CAST\(\$2 AS bigint\) AND step BETWEEN 1 AND (-?\d+) RETURNING CAST\(biz_tag AS text\), max_id, step, set_config`)
	fakePostgresInsert = regexp.MustCompile(`^INSERT INTO \S+ \(biz_tag, max_id, step, description\) VALUES \(\$1, \$2, \$3, \$4\) RETURNING CAST\(biz_tag AS text\), max_id, step, set_config`)
	fakePostgresSelect = regexp.MustCompile(`^SELECT CAST\(biz_tag AS text\), max_id, step FROM \S+ WHERE biz_tag = \$1$`)
)

// execute executes a statement.
func (c *fakeConn) execute(ctx context.Context, statement string, args []driver.NamedValue) (*fakeReply, error) {
	s := c.server
	number := func(text string) int64 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	text := func(literal string) string {
		digits := strings.TrimSuffix(strings.TrimPrefix(literal, "X'"), "'")
		b, err := hex.DecodeString(digits)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	// One word for a literal.
	words := strings.ReplaceAll(statement, "_utf8mb4 X'", "X'")
	switch {
	case statement == "SELECT VERSION()":
		return &fakeReply{columns: 1, rows: [][]driver.Value{{s.Version}}}, nil
	case strings.HasPrefix(statement, "SELECT ENGINE"):
		if s.Engine == "" {
			return &fakeReply{columns: 1}, nil
		}
		return &fakeReply{columns: 1, rows: [][]driver.Value{{s.Engine}}}, nil
	case strings.HasPrefix(statement, "SHOW GLOBAL VARIABLES"):
		if !s.Cluster {
			return &fakeReply{columns: 2}, nil
		}
		return &fakeReply{columns: 2, rows: [][]driver.Value{{"wsrep_on", "ON"}}}, nil
	case statement == "START TRANSACTION", statement == "BEGIN PESSIMISTIC", statement == "START TRANSACTION ISOLATION LEVEL READ COMMITTED":
		c.end(true) // as the servers of the MySQL family do
		c.open = true
		return &fakeReply{}, nil
	case statement == "COMMIT AND NO CHAIN NO RELEASE", statement == "COMMIT":
		c.end(true)
		return &fakeReply{}, nil
	case statement == "ROLLBACK AND NO CHAIN NO RELEASE", statement == "ROLLBACK":
		c.end(false)
		return &fakeReply{}, nil
	case statement == "SELECT txid_current_if_assigned() IS NOT NULL":
		return &fakeReply{columns: 1, rows: [][]driver.Value{{c.open || s.LeftOpen}}}, nil
	}
	if m := fakeSelect.FindStringSubmatch(words); m != nil {
		if m[2] != "" {
			if err := c.acquire(ctx); err != nil {
				return nil, err
			}
		}
		return c.find(text(m[1])), nil
	}
	if fakePostgresSelect.MatchString(statement) {
		return c.find(args[0].Value.(string)), nil
	}
	if err := c.acquire(ctx); err != nil { // all others change rows
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reply := &fakeReply{columns: 5}
	// update sets the counter of the rows for which new returns true, and reports what it has found.
	update := func(tag string, greatestStep int64, next func(maxID, step int64) (int64, bool)) *fakeReply {
		s.rows = slices.Clone(s.rows)
		for i := range s.rows {
			r := &s.rows[i]
			maxID, ok1 := r.MaxID.(int64)
			step, ok2 := r.Step.(int64)
			if r.Tag != tag || !ok1 || !ok2 || step < 1 || step > greatestStep {
				continue
			}
			if n, ok := next(maxID, step); ok && (s.Ignore == nil || !s.Ignore(statement)) {
				r.MaxID = n
				if s.Trigger != nil {
					s.Trigger(r)
				}
				reply.changed++
				reply.insertID = maxID + 1
				reply.rows = append(reply.rows, []driver.Value{[]byte(r.Tag), r.MaxID, r.Step, maxID, "on"})
			}
		}
		return reply
	}
	insert := func(row FakeRow) (*fakeReply, error) {
		if slices.ContainsFunc(s.rows, func(r FakeRow) bool { return s.equal(r.Tag, row.Tag) }) {
			if s.isPostgres() {
				return nil, FakeState("23505")
			}
			return nil, &mysql.MySQLError{Number: 1062, Message: "duplicate"}
		}
		if s.Trigger != nil {
			s.Trigger(&row)
		}
		s.rows = append(slices.Clone(s.rows), row)
		reply.rows = [][]driver.Value{{[]byte(row.Tag), row.MaxID, row.Step, "on"}}
		reply.columns, reply.changed = 4, 1
		return reply, nil
	}
	if m := fakeRaise.FindStringSubmatch(words); m != nil {
		add, low, high := number(m[1])+1, number(m[6]), number(m[7])
		return update(text(m[2]), int64(segment.MaxStep), func(maxID, step int64) (int64, bool) {
			right := m[4] != "" && step == number(m[4]) || m[5] != "" && step <= number(m[5])
			return maxID + add, right && low <= maxID && maxID <= high
		}), nil
	}
	if m := fakeCompare.FindStringSubmatch(words); m != nil {
		return update(text(m[2]), int64(segment.MaxStep), func(maxID, step int64) (int64, bool) {
			right := m[5] != "" && step == number(m[5]) || m[6] != "" && step <= number(m[6])
			return number(m[1]), right && maxID == number(m[4])
		}), nil
	}
	if m := fakeInsert.FindStringSubmatch(words); m != nil {
		row := FakeRow{Tag: text(m[1]), MaxID: number(m[2]), Step: number(m[3])}
		if m[4] != "NULL" {
			row.Description = text(m[4])
		}
		return insert(row)
	}
	if m := fakePostgresRaise.FindStringSubmatch(statement); m != nil {
		tag, atLeast := args[0].Value.(string), args[1].Value.(int64)
		return update(tag, number(m[2]), func(maxID, step int64) (int64, bool) {
			if m[1] != "step" {
				step = args[2].Value.(int64)
			}
			return maxID + step, maxID >= atLeast && maxID <= number(m[3])-step
		}), nil
	}
	if m := fakePostgresLast.FindStringSubmatch(statement); m != nil {
		r := update(args[0].Value.(string), number(m[2]), func(maxID, _ int64) (int64, bool) { return number(m[1]), maxID == args[1].Value.(int64) })
		for i := range r.rows {
			r.rows[i] = slices.Delete(r.rows[i], 3, 4)
		}
		r.columns = 4
		return r, nil
	}
	if fakePostgresInsert.MatchString(statement) {
		return insert(FakeRow{Tag: args[0].Value.(string), MaxID: args[1].Value, Step: args[2].Value, Description: args[3].Value})
	}
	return nil, fmt.Errorf("the fake server does not know the statement %q", statement)
}

// equal reports whether the collation regards two tags as equal.
func (s *FakeServer) equal(a, b string) bool { return a == b || s.Folds && strings.EqualFold(a, b) }

// find returns the rows of a tag.
func (c *fakeConn) find(tag string) *fakeReply {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	reply := &fakeReply{columns: 3}
	for _, r := range c.view() {
		if c.server.equal(r.Tag, tag) {
			reply.rows = append(reply.rows, []driver.Value{[]byte(r.Tag), r.MaxID, r.Step})
		}
	}
	return reply
}

// fakeRows are the rows of a reply.
type fakeRows struct {
	*fakeReply
	at int
}

func (r *fakeRows) Columns() []string                       { return make([]string, r.columns) }
func (r *fakeRows) Close() error                            { return nil }
func (r *fakeRows) ColumnTypeDatabaseTypeName(n int) string { return r.typeName }
func (r *fakeRows) Next(into []driver.Value) error {
	if r.at == len(r.rows) {
		return io.EOF
	}
	copy(into, r.rows[r.at])
	r.at++
	return nil
}

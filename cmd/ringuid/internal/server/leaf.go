package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/ringuid/ringuid/segment"
)

// The paths of Leaf's HTTP server: a plain decimal number with status 200, or an error with status 500. Leaf answers 0
// with status 200 when a mode is switched off, which clients then store; this server never does: the path of a mode
// that is not served does not exist.

// leafSnowflake answers with one UID. The key has no meaning, as in Leaf.
func (c *call) leafSnowflake() {
	if !c.mayTake(1) {
		return
	}
	id, err := c.takeUID()
	if err != nil {
		c.giveBack(1)
		c.failLeaf(leafEmpty, uidProblem(err), err)
		return
	}
	c.sendPlain(int64(id))
}

// leafSegment answers with one number of the tag.
func (c *call) leafSegment() {
	tag := c.r.PathValue("key")
	if !c.mayTake(1) {
		return
	}
	v, err := c.takeNumber(tag)
	if err != nil {
		c.giveBack(1)
		_, detail := numberProblem(tag, err)
		code := leafEmpty
		if errors.Is(err, segment.ErrNoTag) || errors.Is(err, segment.ErrTag) {
			code = leafNoKey
		}
		c.failLeaf(code, detail, err)
		return
	}
	c.sendPlain(v)
}

// sendPlain answers with a decimal number.
func (c *call) sendPlain(v int64) {
	b := c.s.batches.get()
	defer c.s.batches.put(b)
	b.out = strconv.AppendInt(b.out, v, 10)
	c.send(http.StatusOK, c.s.values.text, b.out)
}

// Leaf's codes of failures.
const (
	leafNoKey = -2 // there is no such tag
	leafEmpty = -3 // no range in memory has a number
)

// leafError is the body of Leaf's error answers, as its clients may read it.
type leafError struct {
	Timestamp int64  `json:"timestamp"` // milliseconds since 1970
	Status    int    `json:"status"`
	Error     string `json:"error"`
	Exception string `json:"exception"`
	Message   string `json:"message"`
	Path      string `json:"path"`
	Detail    string `json:"detail"` // not in Leaf's
	RequestID string `json:"request_id"`
}

// failLeaf answers as Leaf does when it has no number.
func (c *call) failLeaf(code int, detail string, err error) {
	c.err, c.detail, c.expected = err, detail, code == leafNoKey
	exception := "LeafServerException"
	body, marshalErr := json.Marshal(leafError{
		Timestamp: time.Now().UnixMilli(),
		Status:    http.StatusInternalServerError,
		Error:     http.StatusText(http.StatusInternalServerError),
		Exception: exception,
		Message:   "Result{id=" + strconv.Itoa(code) + ", status=EXCEPTION}",
		Path:      c.r.URL.Path,
		Detail:    detail,
		RequestID: c.id,
	})
	if marshalErr != nil {
		panic("bug: " + marshalErr.Error()) // strings and numbers
	}
	c.send(http.StatusInternalServerError, c.s.values.json, append(body, '\n'))
}

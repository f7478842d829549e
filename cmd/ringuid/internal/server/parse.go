package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/ringuid/ringuid/uid"
)

// appendParts appends the JSON of the parts of a UID. The time is as in RFC 3339, in UTC; its year may have more than four digits, which
// the JSON of a time.Time has not.
func (s *Server) appendParts(b []byte, id uid.ID) []byte {
	p := s.opts.UIDs.Parse(id)
	b = appendNumber(append(b, `{"id":`...), int64(p.ID), false)
	b = p.Time.UTC().AppendFormat(append(b, `,"time":"`...), time.RFC3339Nano)
	b = strconv.AppendInt(append(b, `","worker_id":`...), p.WorkerID, 10)
	b = strconv.AppendInt(append(b, `,"sequence":`...), p.Sequence, 10)
	b = strconv.AppendInt(append(b, `,"delta":`...), p.Delta, 10)
	return append(b, '}')
}

// The memory of a request to parse UIDs, in bytes.
const (
	partsMemory = 160 // of a UID and the text of its parts
	bodyMemory  = 8   // of each byte of a body: as much as the parts of its UIDs need if these have the usual length
)

// A parsedID is a uid.ID for which null is an error, and not 0.
type parsedID uid.ID

// UnmarshalJSON implements json.Unmarshaler.
func (id *parsedID) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return errors.New("null is not a UID")
	}
	return (*uid.ID)(id).UnmarshalJSON(text)
}

// parseUID answers with the parts of the UID in the path.
func (c *call) parseUID() {
	id, err := uid.ParseID(c.r.PathValue("id"))
	if err != nil {
		c.fail(http.StatusBadRequest, fmt.Sprintf("%.100q is not a UID; must be a decimal number from 0 to 2^63-1, without leading zeros", c.r.PathValue("id")), nil)
		return
	}
	b := c.s.batches.get()
	defer c.s.batches.put(b)
	b.out = append(c.s.appendParts(b.out, id), '\n')
	c.send(http.StatusOK, c.s.values.json, b.out)
}

// parseUIDs answers with the parts of the UIDs in the body.
func (c *call) parseUIDs() {
	length := c.s.cfg.MaxBody
	if c.r.ContentLength >= 0 {
		length = int(c.r.ContentLength)
	}
	taken, ok := c.reserve(c.s.parses, length*bodyMemory, length*bodyMemory)
	if !ok {
		return
	}
	defer func() { c.release(c.s.parses, taken) }()
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, int64(c.s.cfg.MaxBody))
	d := json.NewDecoder(c.r.Body)
	d.DisallowUnknownFields()
	var in struct {
		IDs []parsedID `json:"ids"`
	}
	err := d.Decode(&in)
	if err == nil {
		if _, err = d.Token(); err == nil {
			err = errors.New("there is more after the object")
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		c.fail(http.StatusRequestEntityTooLarge, c.bodyLimit(), nil)
		return
	case c.isLateBody(err):
		return
	case err != nil:
		c.fail(http.StatusBadRequest, fmt.Sprintf(`the body must be a JSON object such as {"ids":["962392666547429376"]}: %.200s`, err), nil)
		return
	case len(in.IDs) < 1 || len(in.IDs) > c.s.cfg.MaxBatch:
		c.fail(http.StatusBadRequest, fmt.Sprintf("the body has %d IDs; must have 1 to %d", len(in.IDs), c.s.cfg.MaxBatch), nil)
		return
	}
	if taken, ok = c.reserveMore(c.s.parses, taken, len(in.IDs)*partsMemory); !ok { // more only if the UIDs are very short
		return
	}
	b := c.s.batches.get()
	defer c.s.batches.put(b)
	b.out = append(slices.Grow(b.out, len(in.IDs)*partsMemory), `{"parts":[`...)
	for i, id := range in.IDs {
		if i > 0 {
			b.out = append(b.out, ',')
		}
		b.out = c.s.appendParts(b.out, uid.ID(id))
	}
	b.out = append(b.out, "]}\n"...)
	c.send(http.StatusOK, c.s.values.json, b.out)
}

// sendJSON answers with a value as JSON.
func (c *call) sendJSON(status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		c.fail(http.StatusInternalServerError, "an internal error; the log has the details", err)
		return
	}
	c.send(status, c.s.values.json, append(body, '\n'))
}

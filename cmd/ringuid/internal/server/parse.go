package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/ringuid/ringuid/uid"
)

// parsedUID is the form of the parts of a UID as JSON.
type parsedUID struct {
	ID       uid.ID `json:"id"`
	Time     string `json:"time"` // as in RFC 3339, in UTC; not a time.Time, which has no JSON for a year beyond 9999
	WorkerID int64  `json:"worker_id"`
	Sequence int64  `json:"sequence"`
	Delta    int64  `json:"delta"`
}

// parse returns the parts of a UID.
func (s *Server) parse(id uid.ID) parsedUID {
	p := s.opts.UIDs.Parse(id)
	return parsedUID{ID: p.ID, Time: p.Time.UTC().Format(time.RFC3339Nano), WorkerID: p.WorkerID, Sequence: p.Sequence, Delta: p.Delta}
}

// parseUID answers with the parts of the UID in the path.
func (c *call) parseUID() {
	id, err := uid.ParseID(c.r.PathValue("id"))
	if err != nil {
		c.fail(http.StatusBadRequest, fmt.Sprintf("%.100q is not a UID; must be a decimal number from 0 to 2^63-1, without leading zeros", c.r.PathValue("id")), nil)
		return
	}
	c.sendJSON(http.StatusOK, c.s.parse(id))
}

// parseUIDs answers with the parts of the UIDs in the body.
func (c *call) parseUIDs() {
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, int64(c.s.cfg.MaxBody))
	d := json.NewDecoder(c.r.Body)
	d.DisallowUnknownFields()
	var in struct {
		IDs []*uid.ID `json:"ids"` // a null would be the ID 0
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
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.w.Header()["Connection"] = c.s.values.closing
		c.fail(http.StatusRequestTimeout, fmt.Sprintf("the body did not arrive within %v", c.s.cfg.ReadTimeout), nil)
		return
	case err != nil:
		c.fail(http.StatusBadRequest, fmt.Sprintf(`the body must be a JSON object such as {"ids":["962392666547429376"]}: %.200s`, err), nil)
		return
	case len(in.IDs) < 1 || len(in.IDs) > c.s.cfg.MaxBatch:
		c.fail(http.StatusBadRequest, fmt.Sprintf("the body has %d IDs; must have 1 to %d", len(in.IDs), c.s.cfg.MaxBatch), nil)
		return
	case slices.Contains(in.IDs, nil):
		c.fail(http.StatusBadRequest, "the body has null among its IDs; must have IDs only", nil)
		return
	}
	out := struct {
		Parts []parsedUID `json:"parts"`
	}{make([]parsedUID, len(in.IDs))}
	for i, id := range in.IDs {
		out.Parts[i] = c.s.parse(*id)
	}
	c.sendJSON(http.StatusOK, out)
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

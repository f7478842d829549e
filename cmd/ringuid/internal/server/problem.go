package server

import (
	"encoding/json"
	"net/http"
)

// A problem is the body of an answer to a request that failed, as in RFC 9457.
type problem struct {
	Title     string `json:"title"` // the status in words
	Status    int    `json:"status"`
	Detail    string `json:"detail"` // what is wrong, and what to do
	RequestID string `json:"request_id"`
}

// appendProblem appends the JSON of a problem.
func appendProblem(b []byte, status int, detail, requestID string) []byte {
	text, err := json.Marshal(problem{Title: http.StatusText(status), Status: status, Detail: detail, RequestID: requestID})
	if err != nil {
		panic("bug: " + err.Error()) // strings and a number
	}
	return append(append(b, text...), '\n')
}

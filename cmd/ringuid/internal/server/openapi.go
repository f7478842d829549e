package server

import (
	_ "embed"
	"net/http"
)

// openAPIDescription describes all routes that the server may have.
//
//go:embed openapi.json
var openAPIDescription []byte

// openAPI answers with the description of the API.
func (c *call) openAPI() { c.send(http.StatusOK, c.s.values.json, openAPIDescription) }

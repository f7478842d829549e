// Package server is the HTTP server of the command "ringuid serve": UIDs and numbers of tags for services in any
// language, health and metrics, and a page for operators.
//
// ReadConfig reads the settings from flags, environment variables and a file. New returns a Server for a generator
// and for sequences of tags, and Server.Serve serves a listener until its context ends. Each request is checked in
// the same order: its path, the number of concurrent requests, its token, its parameters. Failures are answered as
// a JSON object (application/problem+json), and recorded for the page.
package server

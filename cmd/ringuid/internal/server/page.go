package server

import (
	"embed"
	"net/http"
	"strings"
)

//go:embed page
var pageFiles embed.FS

// contentSecurityPolicy lets the page load only its own files, and connect only to this server.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// page answers with the page for operators. It has no data: its script reads /v1/events.
func (c *call) page() { c.sendFile("index.html") }

// asset answers with a file of the page.
func (c *call) asset() {
	name := c.r.PathValue("name")
	if name == "index.html" {
		name = "" // it is at /
	}
	c.sendFile(name)
}

// readPage returns the files of the page by their names. Read for each answer, each would need a copy of its file.
func readPage() (map[string][]byte, error) {
	entries, err := pageFiles.ReadDir("page")
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte, len(entries))
	for _, e := range entries {
		if files[e.Name()], err = pageFiles.ReadFile("page/" + e.Name()); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// sendFile answers with a file of the page.
func (c *call) sendFile(name string) {
	body, ok := c.s.page[name]
	kind := assetType(name)
	if !ok || kind == "" {
		c.fail(http.StatusNotFound, "the page has no such file", nil)
		return
	}
	h := c.w.Header()
	h["X-Content-Type-Options"] = c.s.values.noSniff
	h["Content-Security-Policy"] = []string{contentSecurityPolicy}
	h["Referrer-Policy"] = []string{"no-referrer"}
	h["Cross-Origin-Opener-Policy"] = []string{"same-origin"}
	c.send(http.StatusOK, []string{kind}, body)
}

// assetType returns the content type of a file of the page, or "" if it has no such files.
func assetType(name string) string {
	switch {
	case strings.HasSuffix(name, ".html"):
		return "text/html; charset=utf-8"
	case strings.HasSuffix(name, ".js"):
		return "text/javascript; charset=utf-8"
	case strings.HasSuffix(name, ".css"):
		return "text/css; charset=utf-8"
	case strings.HasSuffix(name, ".svg"):
		return "image/svg+xml"
	}
	return ""
}

package server

import (
	"net/http"
	"slices"
	"strings"
)

// A permission is what a request requires of its token.
type permission int

const (
	open       permission = iota // no token
	takeUIDs                     // a token for UIDs
	takeTag                      // a token for the tag of the request
	observe                      // a token for statistics, metrics and events
	anyTokenOK                   // any token
)

// A route is a method and a path that the server answers.
type route struct {
	method  string
	path    string // a pattern of http.ServeMux
	needs   permission
	tag     string // the name of the path's wildcard that is a tag, if needs is takeTag
	body    bool   // whether requests have a body
	handler func(*call)
	metrics *routeMetrics

	// free requests do not count as concurrent requests: those of probes and metrics, which work under overload, and those that
	// require no token. Otherwise anybody could use up the limit, by not reading the answers.
	free bool
}

// newRoutes returns the routes of what the server serves.
func (s *Server) newRoutes() []route {
	routes := []route{
		{method: "GET", path: "/healthz", free: true, handler: (*call).healthz},
		{method: "GET", path: "/readyz", free: true, handler: (*call).readyz},
		{method: "GET", path: "/metrics", free: true, needs: observe, handler: (*call).serveMetrics},
		{method: "GET", path: "/v1/stats", free: true, needs: observe, handler: (*call).stats},
		{method: "GET", path: "/v1/leases", needs: observe, handler: (*call).leases},
		{method: "GET", path: "/v1/events", free: true, needs: observe, handler: (*call).events},
		{method: "GET", path: "/openapi.json", free: true, handler: (*call).openAPI},
		{method: "GET", path: "/{$}", free: true, handler: (*call).page},
		{method: "GET", path: "/assets/{name}", free: true, handler: (*call).asset},
	}
	if s.opts.UIDs != nil {
		routes = append(routes,
			route{method: "GET", path: "/v1/uid", needs: takeUIDs, handler: (*call).takeUIDs},
			route{method: "POST", path: "/v1/block", needs: takeUIDs, handler: (*call).blockUIDs},
			route{method: "GET", path: "/v1/uid/{id}", needs: anyTokenOK, handler: (*call).parseUID},
			route{method: "POST", path: "/v1/parse", needs: anyTokenOK, body: true, handler: (*call).parseUIDs},
			route{method: "GET", path: "/api/snowflake/get/{key}", needs: takeUIDs, handler: (*call).leafSnowflake},
		)
	}
	if s.opts.Sequences != nil {
		routes = append(routes,
			route{method: "GET", path: "/v1/segment/{tag}", needs: takeTag, tag: "tag", handler: (*call).takeNumbers},
			route{method: "POST", path: "/v1/segment/{tag}/block", needs: takeTag, tag: "tag", handler: (*call).blockNumbers},
			route{method: "GET", path: "/api/segment/get/{key}", needs: takeTag, tag: "key", handler: (*call).leafSegment},
		)
	}
	for i := range routes {
		routes[i].metrics = s.metrics.route(routes[i].path)
	}
	return routes
}

// newMux returns the handler that finds the route of a request, and the handlers of paths without wildcards for GET.
func (s *Server) newMux() (http.Handler, map[string]http.Handler) {
	mux := http.NewServeMux()
	exact := map[string]http.Handler{}
	allowed := map[string][]string{}
	for i := range s.routes {
		r := &s.routes[i]
		h := s.answer(r)
		mux.Handle(r.method+" "+r.path, h)
		if r.method == http.MethodGet && !strings.Contains(r.path, "{") {
			exact[r.path] = h
		}
		allowed[r.path] = append(allowed[r.path], r.method)
		if r.method == http.MethodGet {
			allowed[r.path] = append(allowed[r.path], http.MethodHead)
		}
	}
	other := s.metrics.route("other")
	for path, methods := range allowed {
		slices.Sort(methods)
		list := strings.Join(methods, ", ")
		mux.Handle(path, s.answer(&route{path: path, metrics: other, handler: func(c *call) {
			c.w.Header().Set("Allow", list)
			c.fail(http.StatusMethodNotAllowed, "the method must be "+strings.ReplaceAll(list, ", ", " or "), nil)
		}}))
	}
	missing := func(detail string, paths ...string) {
		for _, path := range paths {
			mux.Handle(path, s.answer(&route{path: path, metrics: other, handler: func(c *call) { c.fail(http.StatusNotFound, detail, nil) }}))
		}
	}
	if s.opts.UIDs == nil {
		missing("this server has no store of worker IDs, so it serves no UIDs; set store", "/v1/uid", "/v1/uid/", "/v1/block", "/v1/parse", "/api/snowflake/")
	}
	if s.opts.Sequences == nil {
		missing("this server has no store of tags, so it serves no numbers of tags; set tag-store", "/v1/segment/", "/api/segment/")
	}
	mux.Handle("/", s.answer(&route{path: "/", metrics: other, handler: func(c *call) {
		c.fail(http.StatusNotFound, "there is no such path; /openapi.json lists all", nil)
	}}))
	return mux, exact
}

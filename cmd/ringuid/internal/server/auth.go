package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A Token is a secret that clients send in the header Authorization, and what it allows.
type Token struct {
	Name    string   // for the log
	Secret  string   // at least MinTokenLength characters
	UIDs    bool     // UIDs may be taken
	Tags    []string // the tags whose numbers may be taken; "*" allows all
	Observe bool     // statistics, metrics and events may be read
	Rate    int      // how many UIDs and numbers may be taken per second, on average; 0: no limit
}

// MinTokenLength is the least length of a Token's secret.
const MinTokenLength = 16

// An authorizer decides what a request may do.
type authorizer struct {
	tokens []hashedToken // empty: everything is allowed
}

// hashedToken has the hash of a secret: hashes have one length, so that comparing them takes the same time whatever
// the client sends.
type hashedToken struct {
	Token
	hash  [sha256.Size]byte
	limit *rate.Limiter // nil: none
	lock  *sync.Mutex   // held while limit is used: a reservation that is canceled is one step
}

func newAuthorizer(cfg Config) authorizer {
	var a authorizer
	for _, t := range cfg.Tokens {
		h := hashedToken{Token: t, hash: sha256.Sum256([]byte(t.Secret))}
		h.Secret = ""
		if t.Rate > 0 {
			h.lock = new(sync.Mutex)
			h.limit = rate.NewLimiter(rate.Limit(t.Rate), max(t.Rate, cfg.MaxBatch)) // so that each request is possible
		}
		a.tokens = append(a.tokens, h)
	}
	return a
}

// find returns the token of a request, or nil. It compares all tokens, each in constant time.
func (a authorizer) find(h http.Header) *hashedToken {
	values := h["Authorization"]
	if len(values) != 1 {
		return nil
	}
	scheme, secret, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	hash := sha256.Sum256([]byte(secret))
	var found *hashedToken
	for i := range a.tokens {
		if subtle.ConstantTimeCompare(hash[:], a.tokens[i].hash[:]) == 1 {
			found = &a.tokens[i]
		}
	}
	return found
}

// allows reports whether the token allows what a route needs.
func (t *hashedToken) allows(needs permission, tag string) bool {
	switch needs {
	case takeUIDs:
		return t.UIDs
	case takeTag:
		return slices.Contains(t.Tags, "*") || slices.Contains(t.Tags, tag)
	case observe:
		return t.Observe
	}
	return true
}

// authorize reports whether the request's token allows it. If not, it answers the request.
func (c *call) authorize() bool {
	if c.route.needs == open || len(c.s.auth.tokens) == 0 {
		return true
	}
	t := c.s.auth.find(c.r.Header)
	if t == nil {
		c.fail(http.StatusUnauthorized, "the header Authorization must be Bearer and a token of this server", nil)
		return false
	}
	tag := ""
	if c.route.tag != "" {
		tag = c.r.PathValue(c.route.tag)
	}
	if !t.allows(c.route.needs, tag) {
		c.fail(http.StatusForbidden, "the token does not allow this", nil)
		return false
	}
	c.token = t
	return true
}

// mayTake reports whether the token's rate allows n numbers now. If not, it answers the request.
func (c *call) mayTake(n int) bool {
	if c.token == nil || c.token.limit == nil {
		return true
	}
	c.token.lock.Lock()
	now := time.Now()
	taken := c.token.limit.ReserveN(now, n)
	wait := taken.DelayFrom(now)
	if wait > 0 {
		taken.CancelAt(now)
	}
	c.token.lock.Unlock()
	if wait == 0 {
		return true
	}
	seconds := int(math.Ceil(wait.Seconds()))
	c.w.Header()["Retry-After"] = []string{strconv.Itoa(seconds)}
	c.fail(http.StatusTooManyRequests, fmt.Sprintf("the token allows %d UIDs and numbers per second; try again in %d s, or request fewer", c.token.Rate, seconds), nil)
	return false
}

// giveBack gives back n numbers of the token's rate, which were not used up.
func (c *call) giveBack(n int) {
	if c.token != nil && c.token.limit != nil {
		c.token.lock.Lock()
		defer c.token.lock.Unlock()
		c.token.limit.AllowN(time.Now(), -n)
	}
}

// mayObserve reports whether the request may see details.
func (c *call) mayObserve() bool {
	if len(c.s.auth.tokens) == 0 {
		return true
	}
	t := c.s.auth.find(c.r.Header)
	return t != nil && t.Observe
}
